// SPDX-License-Identifier: Apache-2.0
// Finds out with a frame whether XDP on a port sees MAC control frames (EtherType 0x8808: PFC and
// PAUSE), which most NICs consume.
#pragma once

#include <string>

#include "base/port_name.h"
#include "base/result.h"
#include "model/check.h"

namespace xr::doctor {

// What reached XDP on the port of the frames that were sent to it.
struct PfcSeen {
  std::string from;      // the interface that sent them
  bool pfc = false;      // the PFC frame
  bool ordinary = false; // a frame of an experimental EtherType
  bool skb_mode = false; // XDP in skb mode
  std::string not_tried; // a sentence: why nothing could be tried; else ""
  std::string hint = {}; // of not_tried
};
Check judge_pfc(const PfcSeen &seen);

// Sends a PFC frame that enables no class, so that it pauses nothing, and an ordinary frame out of
// `from`, the other end of the link of `ifname`, both in the namespace `netns`; counts what arrives
// at the XDP program of `ifname`, which it attaches if it is not, and then detaches. Takes up to 3
// s where nothing arrives. Error: `from` is no interface.
Result<Check> try_pfc(const PortName &port, const std::string &from);

} // namespace xr::doctor
