// SPDX-License-Identifier: Apache-2.0
#include "otg/dcqcn.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

// The inverse of read_parameter(), before it is rounded.
double written(const Parameter &row, double value) {
  switch (row.as) {
  case Of1024:
    return value * 1024;
  case Rest1024:
    return 1024 - value * 1024;
  default:
    return value;
  }
}

} // namespace

void read_dcqcn(Object &object, PortOptions &options) {
  options.dcqcn = object.flag("enable_dcqcn", true);
  for (const Parameter &row : kParameters)
    if (object.value(row.otg))
      options.parameters.push_back(read_parameter(object, row));
}

Json dcqcn_settings(const DcqcnValue &value, std::vector<std::string> &notes) {
  Json settings = {{"enable_dcqcn", true}};
  for (const Parameter &row : kParameters) {
    const double exact = written(row, value(row.ours));
    if (row.as == Switch) {
      settings[row.otg] = exact != 0;
      continue;
    }
    const bool real = row.as == OfLine || row.as == OfRate;
    const double least = static_cast<double>(row.least), most = static_cast<double>(row.most);
    const double there = std::clamp(real ? exact : std::round(exact), least, most);
    if (std::abs(there - exact) > 1e-9 * std::max(1.0, std::abs(exact)))
      notes.push_back(fmt::format("{}: {} {:.10g} is {:.10g}{}", row.ours, row.otg, exact, there,
                                  there == least || there == most ? ", the limit of OTG" : ""));
    if (real)
      settings[row.otg] = there;
    else
      settings[row.otg] = static_cast<uint64_t>(there);
  }
  return settings;
}

} // namespace xr::otg
