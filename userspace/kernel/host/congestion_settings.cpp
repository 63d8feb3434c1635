// SPDX-License-Identifier: Apache-2.0
#include "host/congestion_settings.h"

#include <fmt/format.h>

namespace xr::host {

namespace {

std::optional<uint8_t> priorities(const Files &files, const std::string &directory) {
  std::optional<uint8_t> bits;
  for (unsigned priority = 0; priority < 8; priority++)
    if (auto on = files.number(fmt::format("{}/enable/{}", directory, priority)))
      bits = static_cast<uint8_t>(bits.value_or(0) | (*on ? 1u << priority : 0));
  return bits;
}

} // namespace

std::optional<Congestion> read_congestion(const Files &files, const RdmaPort &port,
                                          const std::string &ifname) {
  Congestion settings;
  const std::string ecn = fmt::format("/sys/class/net/{}/ecn", ifname);
  const std::string debug = fmt::format("/sys/kernel/debug/mlx5/{}/cc_params", port.pci);
  if (files.exist(ecn + "/roce_np")) {
    settings.from = ecn;
    settings.np = priorities(files, ecn + "/roce_np");
    settings.rp = priorities(files, ecn + "/roce_rp");
    settings.cnp_dscp = files.number(ecn + "/roce_np/cnp_dscp");
    settings.cnp_priority = files.number(ecn + "/roce_np/cnp_802p_prio");
    settings.cnp_interval_us = files.number(ecn + "/roce_np/min_time_between_cnps");
    return settings;
  }
  if (port.pci.empty() || !files.exist(debug))
    return {};
  settings.from = debug;
  settings.cnp_dscp = files.number(debug + "/np_cnp_dscp");
  settings.cnp_priority = files.number(debug + "/np_cnp_prio");
  settings.cnp_interval_us = files.number(debug + "/np_min_time_between_cnps");
  return settings;
}

} // namespace xr::host
