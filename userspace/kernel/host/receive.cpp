// SPDX-License-Identifier: Apache-2.0
#include "host/receive.h"

#include <linux/ethtool.h>

namespace xr::host {

namespace {

std::optional<std::vector<uint32_t>> read_rss(const Ethtool &ethtool) {
  ethtool_rxfh_indir size{};
  size.cmd = ETHTOOL_GRXFHINDIR;
  if (ethtool(&size) < 0 || !size.size)
    return {};
  EthtoolCommand room(sizeof(size) + size.size * sizeof(uint32_t));
  auto *table = room.as<ethtool_rxfh_indir>();
  table->cmd = ETHTOOL_GRXFHINDIR;
  table->size = size.size;
  if (ethtool(table) < 0)
    return {};
  return std::vector<uint32_t>(table->ring_index, table->ring_index + size.size);
}

} // namespace

ReceiveSettings read_receive_settings(const Ethtool &ethtool) {
  ReceiveSettings all;
  ethtool_coalesce coalesce{};
  coalesce.cmd = ETHTOOL_GCOALESCE;
  if (ethtool(&coalesce) >= 0)
    all.coalescing = {coalesce.rx_coalesce_usecs, coalesce.rx_max_coalesced_frames,
                      coalesce.use_adaptive_rx_coalesce != 0,
                      coalesce.use_adaptive_tx_coalesce != 0};
  ethtool_ringparam ring{};
  ring.cmd = ETHTOOL_GRINGPARAM;
  if (ethtool(&ring) >= 0 && ring.rx_max_pending)
    all.rings = {ring.rx_pending, ring.rx_max_pending, ring.tx_pending, ring.tx_max_pending};
  all.rss = read_rss(ethtool);
  ethtool_rxnfc hash{};
  hash.cmd = ETHTOOL_GRXFH;
  hash.flow_type = UDP_V4_FLOW;
  constexpr uint64_t kPorts = RXH_L4_B_0_1 | RXH_L4_B_2_3;
  if (ethtool(&hash) >= 0)
    all.hashes_ports = (hash.data & kPorts) == kPorts;
  ethtool_rxnfc rules{};
  rules.cmd = ETHTOOL_GRXCLSRLCNT;
  if (ethtool(&rules) >= 0)
    all.flow_rules = rules.rule_cnt;
  return all;
}

} // namespace xr::host
