// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_control.h"

#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/read.h"

namespace xr::importers {

namespace {

constexpr double kPint = 10; // CC_MODE

enum class As : uint8_t { Time, Rate, Number, Switch };

struct Word {
  const char *key, *name;
  As as;
  double otherwise = -1; // the simulator's value without the key; below 0: the preset's here
};

constexpr Word kDcqcn[] = {
    {"EWMA_GAIN", "g", As::Number, 0}, // its default is written 1 / 16, which is 0 in C++
    {"ALPHA_RESUME_INTERVAL", "alpha-timer", As::Time, 55},
    {"RATE_DECREASE_INTERVAL", "monitor-period", As::Time, 4},
    {"CLAMP_TARGET_RATE", "clamp", As::Switch},
    {"RP_TIMER", "rate-timer", As::Time},
    {"FAST_RECOVERY_TIMES", "threshold", As::Number, 5},
    {"RATE_AI", "rai", As::Rate},
    {"RATE_HAI", "rhai", As::Rate},
    {"MIN_RATE", "min-rate", As::Rate},
};
constexpr Word kHpcc[] = {
    {"U_TARGET", "eta", As::Number, 0.95},
    {"MI_THRESH", "max-stage", As::Number, 5},
    {"RATE_AI", "ai", As::Rate},
    {"MIN_RATE", "min-rate", As::Rate},
    {"FAST_REACT", "fast-react", As::Switch},
    {"VAR_WIN", "vary-window", As::Switch},
};
constexpr Word kTimely[] = {
    {"RATE_AI", "delta", As::Rate},
    {"RATE_HAI", "hyper", As::Rate},
    {"MIN_RATE", "min-rate", As::Rate},
};
constexpr Word kDctcp[] = {
    {"EWMA_GAIN", "g", As::Number, 0},
    {"DCTCP_RATE_AI", "ai", As::Rate},
    {"MIN_RATE", "min-rate", As::Rate},
};

std::string text_of(As as, double value) {
  switch (as) {
  case As::Time:
    return fmt::format("{}us", value);
  case As::Rate:
    return fmt::format("{}mbit", value / 1e6);
  case As::Switch:
    return value != 0 ? "on" : "off";
  default:
    return fmt::format("{}", value);
  }
}

// Error: the key has a value that its parameter here does not take.
Result<std::string> control_words(const std::string &algorithm, std::span<const Word> rows,
                                  HpccConfig &config) {
  std::string words = algorithm;
  std::vector<std::string> missing;
  for (const Word &row : rows) {
    const double value = config.number(row.key, row.otherwise);
    if (!config.has(row.key))
      missing.push_back(row.otherwise < 0 ? fmt::format("{}: that of `{}` here", row.key, algorithm)
                                          : fmt::format("{}: {}", row.key, row.otherwise));
    if (value < 0)
      continue;
    const std::string word = fmt::format(" {}={}", row.name, text_of(row.as, value));
    if (const auto control = experiment::read_congestion(algorithm + word); !control)
      return config.wrong(row.key, control.error().message, "a value that our parameter can have");
    words += word;
  }
  if (!missing.empty())
    config.notes.push_back(
        fmt::format("not in {}, so a default: {}", config.name, fmt::join(missing, ", ")));
  return words;
}

// Variants of HPCC that are not here.
Status check_hpcc(HpccConfig &config) {
  struct Variant {
    const char *key;
    bool here;
  };
  constexpr Variant kVariants[] = {
      {"RATE_BOUND", true}, {"MULTI_RATE", false}, {"SAMPLE_FEEDBACK", false}, {"HAS_WIN", true}};
  for (const Variant &variant : kVariants)
    if (config.flag(variant.key, variant.here) != variant.here)
      return config.wrong(variant.key, "our HPCC does not have this variant",
                          fmt::format("{} {}", variant.key, variant.here ? 1 : 0));
  return {};
}

} // namespace

Result<HpccControl> hpcc_control(HpccConfig &config) {
  const double mode = XR_TRY(config.needed("CC_MODE"));
  if (mode == 1)
    return HpccControl{1, XR_TRY(control_words("dcqcn preset hpcc", kDcqcn, config))};
  if (mode == 3) {
    XR_TRY(check_hpcc(config));
    return HpccControl{3, XR_TRY(control_words("hpcc", kHpcc, config))};
  }
  if (mode == 7)
    return HpccControl{7, XR_TRY(control_words("timely", kTimely, config))};
  if (mode == 8)
    return HpccControl{8, XR_TRY(control_words("dctcp", kDctcp, config))};
  // Its code tests for the modes by number: with another one no rate changes.
  if (mode != kPint && config.dialect != HpccDialect::InetTub) {
    config.notes.push_back(fmt::format(
        "CC_MODE {}: no mode of {}, so nothing changes a sender's rate there, and none does here",
        mode, hpcc_dialect_name(config.dialect)));
    return HpccControl{static_cast<unsigned>(mode), "none"};
  }
  return config.wrong("CC_MODE",
                      fmt::format("{}{} of {} is not here", mode, mode == kPint ? " (PINT)" : "",
                                  hpcc_dialect_name(config.dialect)),
                      "1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP)");
}

} // namespace xr::importers
