// SPDX-License-Identifier: Apache-2.0
// captures[].
#include <set>

#include <fmt/format.h>

#include "otg/read_filters.h"
#include "otg/reading.h"

namespace xr::otg {

namespace {

constexpr uint64_t kLeastSnap = 14; // an Ethernet header, as of `xdp-roce capture --snap`

} // namespace

void read_captures(Object &root, Reading &reading) {
  std::set<size_t> seen;
  root.each("captures", "a capture", [&](Object &object) {
    Capture made;
    made.name = object.needed_text("name");
    reading.captures.add(object, "name", made.name, reading.config.captures.size());
    made.ports = reading.ports.refer_all(object, "port_names");
    for (const size_t port : made.ports)
      if (!seen.insert(port).second)
        object.warning("port_names",
                       fmt::format("port {} is of a capture before it: it records the frames of "
                                   "both, as that one says",
                                   shown(Json(reading.config.ports[port].name))));
    object.each("filters", "a filter", [&](Object &filter) { read_filter(filter, made.filter); });
    made.overwrite = object.flag("overwrite", true);
    made.pcapng = object.word("format", {"pcap", "pcapng"}, 0) == 1;
    if (const auto bytes = object.maybe_integer("packet_size", kLeastSnap, 65535))
      made.snaplen = static_cast<uint32_t>(*bytes);
    reading.config.captures.push_back(std::move(made));
  });
}

} // namespace xr::otg
