// SPDX-License-Identifier: Apache-2.0
#include "model/link.h"

#include <algorithm>
#include <numeric>

namespace xr {

// To add a cause: LinkDrop in link.h, its name here, Link::enqueue in wire/link.cpp;
// wire_link_test.
const char *link_drop_name(LinkDrop cause) {
  constexpr const char *kNames[kLinkDrops] = {"none", "buffer", "share", "headroom",
                                              "aqm",  "mtu",    "down"};
  return kNames[static_cast<unsigned>(cause)];
}

namespace {

constexpr uint32_t kReserved = 25; // percent of the buffer, for all queues

uint32_t named(const LinkSpec &spec) {
  return static_cast<uint32_t>(
      std::count_if(spec.classes.begin(), spec.classes.end(),
                    [](const LinkClass &link_class) { return link_class.declared; }));
}

uint32_t default_reserve(const LinkSpec &spec) {
  const uint32_t classes = named(spec);
  return kReserved / (classes + (classes < kLinkClasses)); // the rest has a queue too
}

} // namespace

uint32_t reserve_of(const LinkSpec &spec, unsigned number) {
  const LinkClass &link_class = spec.classes[number];
  if (!link_class.declared)
    return 0;
  const bool given = link_class.reserve != LinkClass::kDefaultReserve;
  return std::min(given ? link_class.reserve : default_reserve(spec), link_class.share);
}

uint32_t reserve_of_rest(const LinkSpec &spec) {
  const uint32_t classes = named(spec);
  if (!classes || classes == kLinkClasses)
    return 0;
  uint32_t sum = 0;
  for (unsigned i = 0; i < kLinkClasses; i++)
    sum += reserve_of(spec, i);
  return std::min(default_reserve(spec), 100 - std::min(sum, 100U));
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

LinkClassCounts LinkTotals::total() const {
  LinkClassCounts sum;
  for (const LinkClassCounts &class_counts : classes) {
    sum.frames_in += class_counts.frames_in;
    sum.bytes_in += class_counts.bytes_in;
    sum.frames_out += class_counts.frames_out;
    sum.bytes_out += class_counts.bytes_out;
    for (unsigned cause = 0; cause < kLinkDrops; cause++)
      sum.drops[cause] += class_counts.drops[cause];
    sum.dropped_bytes += class_counts.dropped_bytes;
    sum.marks += class_counts.marks;
    sum.backlog_frames += class_counts.backlog_frames;
    sum.backlog_bytes += class_counts.backlog_bytes;
    sum.xoff_received += class_counts.xoff_received;
    sum.xon_received += class_counts.xon_received;
    sum.quanta_received += class_counts.quanta_received;
    sum.xoff_sent += class_counts.xoff_sent;
    sum.xon_sent += class_counts.xon_sent;
  }
  sum.backlog_most = backlog_most;
  sum.paused_ns = paused_ns;
  return sum;
}

} // namespace xr
