// SPDX-License-Identifier: Apache-2.0
// flows[] of a configuration: frames of any headers, at a rate, for a while.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packet/frame_schedule.h"
#include "packet/frame_shape.h"
#include "packet/frame_tags.h"

namespace xr::otg {

// Bits of frames by whose values a flow is counted too.
struct MetricTag {
  std::string name;
  packet::BitRange at; // in the frame, or in the field
  bool operator==(const MetricTag &) const = default;
};

std::vector<packet::BitRange> ranges_of(const std::vector<MetricTag> &tags);

// What a configuration may have: stamps have 16 bits for them.
inline constexpr size_t kMostPlainFlows = 1U << 16;

// One direction of a flow between one transmitting port and its receivers. A flow of tx_rx.device
// is one of these for each transmitting port, and one for each on the way back, all with the flow's
// name; one that a LAG sends is one of these for each port of the LAG, each with the whole rate and
// all packets, of which the ports that are up have equal shares; those of one direction share its
// rate (but a percentage, which is of each port) and its packets.
struct PlainFlow {
  std::string name;
  bool removed = false;         // since the configuration was set
  size_t tx_port = 0;           // an index in Config::ports
  std::optional<size_t> tx_lag; // that the port sends for
  std::string tx_name, rx_name; // of the ports or LAGs; rx_name "": several, or none
  std::vector<size_t> rx_ports; // empty: none is named, and nothing is counted on arrival
  // Of tx_rx.device: names of an Ethernet or an interface, that of the sender first. Frame n is of
  // pair n modulo their number.
  std::vector<std::pair<std::string, std::string>> pairs;

  // `stamped` in it: metrics are on, and there is room in its largest frames. The stamp is in the
  // last bytes of the payload. Frames that pause a neighbour have none: their bytes are given.
  packet::FrameShape frame;
  bool unstamped =
      false; // metrics are on, and some frames have no stamp: they are known by their headers
  packet::FrameSizes sizes;
  packet::FrameRate rate; // bps and its multiples are of frames with FCS, without preamble and gap
  packet::FrameSpan span;

  // The first six bytes of the frame, and the next six, are 0 for now: the MAC address that the
  // next hop of each pair answered with, and that of its transmitting device (on the way back of a
  // flow whose destination is to be resolved).
  bool resolve_dst_mac = false, resolve_src_mac = false;

  // metrics: without `enabled` none of the others is set.
  bool enabled = false, loss = false, latency = false, cut_through = false, timestamps = false;
  // Frames that should arrive at all receivers together, for each that is sent; each_port: at each
  // receiver.
  double rx_ratio = 1;
  bool each_port = false;
  // Tags in the headers as sent and as received (egress_packet); tag_port: the receiver, as
  // "rx_name".
  std::vector<MetricTag> tags, egress_tags;
  bool tag_port = false;
  bool is_tagged() const { return !tags.empty() || !egress_tags.empty() || tag_port; }
};

} // namespace xr::otg
