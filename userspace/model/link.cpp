// SPDX-License-Identifier: Apache-2.0
#include "model/link.h"

#include <numeric>

namespace xr {

const char *link_drop_name(LinkDrop cause) {
  constexpr const char *kNames[kLinkDrops] = {"none", "buffer", "share", "headroom",
                                              "aqm",  "mtu",    "down"};
  return kNames[static_cast<unsigned>(cause)];
}

const char *flap_by_name(FlapBy by) {
  if (by == FlapBy::None)
    return "";
  return by == FlapBy::Carrier ? "carrier" : "drop";
}

const char *flap_by_reason(FlapBy by) {
  switch (by) {
  case FlapBy::None:
  case FlapBy::Carrier:
    return "";
  case FlapBy::Asked:
    return "as asked";
  case FlapBy::Short:
    return "less than 20 ms down or up are too short for a port";
  case FlapBy::Addresses:
    return "the port has IP addresses, and setting it down would disturb their routes: with "
           "`carrier` it is done";
  case FlapBy::Stacked:
    return "the port is on top of another interface, whose carrier stays";
  case FlapBy::Keeps:
    return "the port was set down, and its carrier stayed";
  case FlapBy::Refused:
    return "the kernel refused to set the port down";
  }
  return "";
}

uint64_t LinkClassCounts::dropped() const {
  return std::accumulate(drops, drops + kLinkDrops, uint64_t{0});
}

LinkClassCounts LinkCounts::total() const {
  LinkClassCounts sum;
  for (const LinkClassCounts &one : classes) {
    sum.frames_in += one.frames_in;
    sum.bytes_in += one.bytes_in;
    sum.frames_out += one.frames_out;
    sum.bytes_out += one.bytes_out;
    for (unsigned cause = 0; cause < kLinkDrops; cause++)
      sum.drops[cause] += one.drops[cause];
    sum.dropped_bytes += one.dropped_bytes;
    sum.marks += one.marks;
    sum.backlog_frames += one.backlog_frames;
    sum.backlog_bytes += one.backlog_bytes;
    sum.xoff_received += one.xoff_received;
    sum.xon_received += one.xon_received;
    sum.quanta_received += one.quanta_received;
    sum.paused_ns += one.paused_ns;
    sum.xoff_sent += one.xoff_sent;
    sum.xon_sent += one.xon_sent;
  }
  sum.backlog_most = backlog_most;
  return sum;
}

} // namespace xr
