// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_queues.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::importers {

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
