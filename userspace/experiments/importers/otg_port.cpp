// SPDX-License-Identifier: Apache-2.0
// Port settings of OTG: CNPs, acknowledgements, DCQCN (OTG's port/rocev2.yaml).
#include <functional>

#include <fmt/format.h>

#include "importers/otg_file.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

using experiment::YamlReader;
using Key = YamlReader::Key;

// A parameter of DCQCN: OTG's name, ours, and how the value is written.
struct Parameter {
  const char *otg, *ours;
  enum class As : uint8_t { Number, Percent, OfRate, OfLine, Of1024, Rest1024, Switch } as;
};
using enum Parameter::As;
constexpr Parameter kParameters[] = {
    {"alpha_g", "g", Rest1024}, // the weight of the old alpha
    {"initial_alpha", "alpha-initial", Of1024},
    {"alpha_update_period", "alpha-timer", Number},
    {"rate_reduction_time_period", "monitor-period", Number},
    {"initial_rate_after_first_cnp", "first-cnp", OfRate},
    {"minimum_rate_limmit", "min-rate", OfLine}, // OTG's spelling
    {"maximum_rate_decrement_at_time", "max-cut", Percent},
    {"clamp_target_rate", "clamp", Switch},
    {"rate_increment_time", "rate-timer", Number},
    {"rate_increment_byte_counter", "byte-counter", Number},
    {"rate_increment_threshold", "threshold", Number},
    {"additive_increment_rate", "rai", OfLine},
    {"hyper_increment_rate", "rhai", OfLine},
};

Result<std::string> value_of(const Parameter &parameter, const std::string &word) {
  if (parameter.as == Switch) {
    const auto on = XR_TRY(parse::choice(word, {"false", "true"}, "true or false"));
    return std::string(on ? "1" : "0");
  }
  const auto number = XR_TRY(parse::real(word, 0, 1e12));
  switch (parameter.as) {
  case Of1024:
    return fmt::format("{:.10g}", number / 1024);
  case Rest1024:
    return fmt::format("{:.10g}", (1024 - number) / 1024);
  case OfRate:
    return fmt::format("{:.10g}%", number);
  default:
    return fmt::format("{:.10g}", number);
  }
}

YamlReader::Read parameter(const YamlReader &reader, const Parameter &row, OtgPort &port) {
  return [&reader, &row, &port](const YAML::Node &node) -> Status {
    const std::string word = parse::lower(parse::scalar(node));
    if (row.as == OfLine) {
      const auto percent = parse::real(word, 0, 100);
      if (!percent)
        return reader.in(node, row.otg, percent.error());
      port.parameters.push_back({row.ours, "", percent.get()});
      return {};
    }
    const auto value = value_of(row, word);
    if (!value)
      return reader.in(node, row.otg, value.error());
    port.parameters.push_back({row.ours, value.get()});
    return {};
  };
}

YamlReader::Read flag(const YamlReader &reader, std::string key, bool &value) {
  return [&reader, key = std::move(key), &value](const YAML::Node &node) -> Status {
    const auto on =
        parse::choice(parse::lower(parse::scalar(node)), {"false", "true"}, "true or false");
    if (!on)
      return reader.in(node, key, on.error());
    value = on.get() != 0;
    return {};
  };
}

YamlReader::Read maybe(const YamlReader &reader, std::string key, uint64_t most,
                       std::optional<uint64_t> &value) {
  return [&reader, key = std::move(key), most, &value](const YAML::Node &node) -> Status {
    uint64_t number = 0;
    const Status done = reader.integer(key, 0, most, number)(node);
    value = number;
    return done;
  };
}

YamlReader::Read unused_key(std::vector<std::string> &unused, std::string key) {
  return [&unused, key = std::move(key)](const YAML::Node &) {
    unused.push_back(key);
    return Status();
  };
}

// A word of OTG's enumeration.
YamlReader::Read word_of(const YamlReader &reader, std::string key,
                         std::vector<std::string_view> words) {
  return [&reader, key = std::move(key), words = std::move(words)](const YAML::Node &node) {
    const auto at = parse::choice(parse::scalar(node), words, "a value of " + key);
    return at ? Status() : Status(reader.in(node, key, at.error()));
  };
}

YamlReader::Read map(const YamlReader &reader, std::string what, std::vector<Key> keys) {
  return [&reader, what = std::move(what), keys = std::move(keys)](const YAML::Node &node) {
    return reader.map(node, what, keys);
  };
}

} // namespace

std::vector<Key> otg_port_keys(const YamlReader &reader, OtgPort &port,
                               std::vector<std::string> &unused) {
  std::vector<Key> dcqcn = {{"enable_dcqcn", flag(reader, "enable_dcqcn", port.dcqcn)}};
  for (const Parameter &row : kParameters)
    dcqcn.push_back({row.otg, parameter(reader, row, port)});
  // DSCP and ECN of answers are those of our responder.
  const auto answer = [&](std::string what) -> std::vector<Key> {
    const auto ecn = word_of(reader, "ecn_value", {"non_ect", "ect_1", "ect_0", "ce"});
    return {{"choice", word_of(reader, "choice", {"ip_dscp"})},
            {"ip_dscp", unused_key(unused, what + ".ip_dscp")},
            {"ecn_value", [&unused, ecn, what](const YAML::Node &node) {
               unused.push_back(what + ".ecn_value");
               return ecn(node);
             }}};
  };
  std::vector<Key> cnp = answer("cnp");
  cnp.push_back({"cnp_delay_timer", maybe(reader, "cnp_delay_timer", 255, port.cnp_interval_us)});
  std::vector<Key> reliable = {
      {"ack", map(reader, "a key of ack", answer("ack"))},
      {"nak", map(reader, "a key of nak", answer("nak"))},
      {"enable_retransmission_timeout", flag(reader, "enable_retransmission_timeout", port.timer)},
      {"retransmission_timeout_value",
       maybe(reader, "retransmission_timeout_value", 5369, port.timeout_ms)},
      {"retransmission_retry_count",
       maybe(reader, "retransmission_retry_count", 254, port.retries)}};
  return {{"cnp", map(reader, "a key of cnp", std::move(cnp))},
          {"connection_type",
           map(reader, "a key of connection_type",
               {{"choice", word_of(reader, "choice", {"reliable_connection"})},
                {"reliable_connection",
                 map(reader, "a key of reliable_connection", std::move(reliable))}})},
          {"dcqcn_settings", [&reader, &port, dcqcn = std::move(dcqcn)](const YAML::Node &node) {
             port.dcqcn = true; // OTG's default
             return reader.map(node, "a key of dcqcn_settings", dcqcn);
           }}};
}

} // namespace xr::importers
