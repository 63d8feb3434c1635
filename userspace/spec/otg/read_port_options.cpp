// SPDX-License-Identifier: Apache-2.0
// options.per_port_options[].protocols[].rocev2: CNPs, acknowledgements, DCQCN (OTG's
// port/rocev2.yaml).
#include <fmt/format.h>

#include "otg/reading.h"

namespace xr::otg {

namespace {

constexpr uint64_t kMostTime = 1'000'000; // us: the most of our parameters

// A parameter of DCQCN: OTG's name, ours, and how the value is written.
struct Parameter {
  enum class As : uint8_t { Number, Percent, OfRate, OfLine, Of1024, Rest1024, Switch };
  const char *otg, *ours;
  As as;
  uint64_t least, most;
};
using enum Parameter::As;
constexpr Parameter kParameters[] = {
    {"alpha_g", "g", Rest1024, 1, 1023}, // the weight of the old alpha
    {"initial_alpha", "alpha-initial", Of1024, 1, 1023},
    {"alpha_update_period", "alpha-timer", Number, 1, kMostTime},
    {"rate_reduction_time_period", "monitor-period", Number, 0, kMostTime},
    {"initial_rate_after_first_cnp", "first-cnp", OfRate, 0, 100},
    {"minimum_rate_limmit", "min-rate", OfLine, 0, 100}, // OTG's spelling
    {"maximum_rate_decrement_at_time", "max-cut", Percent, 0, 100},
    {"clamp_target_rate", "clamp", Switch, 0, 1},
    {"rate_increment_time", "rate-timer", Number, 1, kMostTime},
    {"rate_increment_byte_counter", "byte-counter", Number, 1, 32767},
    {"rate_increment_threshold", "threshold", Number, 1, 31},
    {"additive_increment_rate", "rai", OfLine, 0, 100},
    {"hyper_increment_rate", "rhai", OfLine, 0, 100},
};

// One that is absent is that of our preset `otg`, which is not written as a default, as the model
// has other ones.
DcqcnParameter read_parameter(Object &object, const Parameter &row) {
  const double least = static_cast<double>(row.least), most = static_cast<double>(row.most);
  const auto number = [&] { return object.integer(row.otg, row.least, row.most, row.least); };
  switch (row.as) {
  case OfLine:
    return {row.ours, "", object.real(row.otg, least, most, least)};
  case OfRate:
    return {row.ours, fmt::format("{:.10g}%", object.real(row.otg, least, most, least)), 0};
  case Of1024:
    return {row.ours, fmt::format("{:.10g}", static_cast<double>(number()) / 1024), 0};
  case Rest1024:
    return {row.ours, fmt::format("{:.10g}", static_cast<double>(1024 - number()) / 1024), 0};
  case Switch:
    return {row.ours, object.flag(row.otg, false) ? "1" : "0", 0};
  default:
    return {row.ours, fmt::format("{}", number()), 0};
  }
}

void read_dcqcn(Object &object, PortOptions &options) {
  options.dcqcn = object.flag("enable_dcqcn", true);
  for (const Parameter &row : kParameters)
    if (object.value(row.otg))
      options.parameters.push_back(read_parameter(object, row));
}

// ip_dscp and ecn_value of a CNP, an ACK, a NAK.
void read_marking(Object &object, Marking &marking) {
  const Marking otg;
  (void)object.choice({"ip_dscp"}, 0);
  object.object(
      "ip_dscp", "ip_dscp",
      [&](Object &dscp) {
        marking.dscp = static_cast<uint8_t>(dscp.integer("value", 0, 63, otg.dscp));
      },
      true);
  marking.ecn = read_ecn(object, "ecn_value");
  marking.given = marking.dscp != otg.dscp || marking.ecn != otg.ecn;
}

void read_reliable(Object &object, PortOptions &options) {
  object.object("ack", "ack", [&](Object &ack) { read_marking(ack, options.ack); });
  object.object("nak", "nak", [&](Object &nak) { read_marking(nak, options.nak); });
  options.timer = object.flag("enable_retransmission_timeout", true);
  options.timeout_ms = object.integer("retransmission_timeout_value", 0, 5369, 1);
  options.retries = object.integer("retransmission_retry_count", 0, 254, 3);
}

} // namespace

void read_port_options(Object &rocev2, PortOptions &options) {
  rocev2.object("cnp", "cnp", [&](Object &cnp) {
    read_marking(cnp, options.cnp);
    options.cnp_interval_us = cnp.integer("cnp_delay_timer", 0, 255, 55);
    options.interval_given = true;
  });
  rocev2.object("connection_type", "connection_type", [&](Object &type) {
    (void)type.choice({"reliable_connection"}, 0);
    type.object(
        "reliable_connection", "reliable_connection",
        [&](Object &reliable) { read_reliable(reliable, options); }, true);
  });
  rocev2.object("dcqcn_settings", "dcqcn_settings",
                [&](Object &dcqcn) { read_dcqcn(dcqcn, options); });
}

} // namespace xr::otg
