// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_control.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/read.h"
#include "parse/value.h"

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

namespace {

constexpr double kKilobyte = 1000, kMebibyte = 1 << 20;
constexpr double kMostQueueBytes = UINT32_MAX;
constexpr uint64_t kOfPort = 4096;   // bytes that the simulator keeps for each port
constexpr uint64_t kXonBelow = 3072; // XOFF - XON there
constexpr unsigned kShift = 3;       // threshold = free >> shift, for a port of the NIC's rate

class Queues {
public:
  Queues(HpccConfig &config, const HpccNetwork &network) : config_(config), network_(network) {}

  Result<HpccQueues> make(const std::string &priorities) {
    XR_TRY(buffer(priorities));
    std::map<uint64_t, std::string> by_rate;
    for (const HpccNetwork::Link &link : network_.links)
      for (const uint32_t from : {link.a, link.b}) {
        if (!network_.is_switch[from])
          continue;
        const bool marks = !network_.is_nvswitch[from];
        if (marks && !by_rate.contains(link.rate))
          by_rate[link.rate] = words_ + XR_TRY(marking(link.rate));
        const std::string &words = marks ? by_rate[link.rate] : words_;
        if (out_.words.empty())
          out_.words = words;
        else if (words != out_.words)
          out_.others.emplace_back(network_.queue_name(link, from), words);
      }
    if (by_rate.size() > 1 && config_.flag("ENABLE_PFC", true))
      config_.notes.emplace_back("PFC's alpha is 1/8 for ports of any rate: there it doubles with "
                                 "the rate of a port above that of the NICs");
    return std::move(out_);
  }

private:
  // The switch with the least memory that is free decides: all have the same here.
  Status buffer(const std::string &priorities) {
    const double size = std::floor(XR_TRY(config_.needed("BUFFER_SIZE")) * kMebibyte);
    const bool pfc = config_.flag("ENABLE_PFC", true);
    const double factor = config_.number("HEADROOM_FACTOR", 3);
    std::map<uint32_t, double> kept;
    double headroom = 0;
    for (const HpccNetwork::Link &link : network_.links) {
      const double own = std::floor(static_cast<double>(link.rate) * 1e-9 *
                                    static_cast<double>(link.delay_ns) * factor / 8);
      headroom = std::max(headroom, own);
      for (const uint32_t node : {link.a, link.b})
        if (network_.is_switch[node])
          kept[node] += own + kOfPort;
    }
    double most = 0;
    for (const auto &[node, bytes] : kept)
      most = std::max(most, bytes);
    if (size <= most + 8 * kXonBelow)
      return config_.wrong("BUFFER_SIZE",
                           fmt::format("headroom and ports of a switch need {:.0f} bytes", most),
                           fmt::format("at least {:.0f} (MiB)", std::ceil(most / kMebibyte) + 1));
    if (size > kMostQueueBytes)
      return config_.wrong("BUFFER_SIZE", "it is 4 GiB or more", "at most 4095 (MiB)");
    const auto free = static_cast<uint64_t>(size - most);
    words_ = fmt::format("buffer {}", free);
    if (pfc)
      words_ +=
          fmt::format(" pfc xoff {} xon {} headroom {:.0f} alpha {} priorities {}", free >> kShift,
                      (free >> kShift) - kXonBelow, headroom, 1.0 / (1U << kShift), priorities);
    return {};
  }

  Result<double> of_rate(std::string_view key, uint64_t rate) {
    const std::vector<double> pairs = config_.numbers(key);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (pairs[i] == static_cast<double>(rate))
        return pairs[i + 1];
    return config_.wrong(key, fmt::format("there is no value for ports of {} bit/s", rate),
                         "every rate of a switch's port must be there");
  }

  Result<std::string> marking(uint64_t rate) {
    if (!config_.flag("ENABLE_QCN", true))
      return std::string();
    const double least = XR_TRY(of_rate("KMIN_MAP", rate)) * kKilobyte,
                 most = XR_TRY(of_rate("KMAX_MAP", rate)) * kKilobyte,
                 probability = XR_TRY(of_rate("PMAX_MAP", rate));
    if (most > kMostQueueBytes)
      return config_.wrong("KMAX_MAP", fmt::format("Kmax {} is above 4 GB", most), "in KB");
    if (least > most)
      return config_.wrong("KMIN_MAP", fmt::format("Kmin {} is above Kmax {}", least, most),
                           "Kmin at most Kmax");
    if (probability > 1)
      return config_.wrong("PMAX_MAP", fmt::format("{} is not a probability", probability),
                           "from 0 to 1");
    if (least == most || probability == 0)
      return fmt::format(" step {:.0f}", most);
    return fmt::format(" red {:.0f} {:.0f} {}", least, most, probability);
  }

  HpccConfig &config_;
  const HpccNetwork &network_;
  HpccQueues out_;
  std::string words_; // buffer and PFC
};

} // namespace

Result<HpccQueues> hpcc_queues(HpccConfig &config, const HpccNetwork &network,
                               const std::string &priorities) {
  return Queues(config, network).make(priorities);
}

} // namespace xr::importers
