// SPDX-License-Identifier: Apache-2.0
// ports[], layer1[] and captures[].
#include <array>
#include <set>

#include <fmt/format.h>

#include "otg/read_filters.h"
#include "otg/reading.h"
#include "otg/words.h"

namespace xr::otg {

namespace {

constexpr uint64_t kLeastSnap = 14; // an Ethernet header, as of `xdp-roce capture --snap`
constexpr std::array<const char *, 8> kClasses = {"pfc_class_0", "pfc_class_1", "pfc_class_2",
                                                  "pfc_class_3", "pfc_class_4", "pfc_class_5",
                                                  "pfc_class_6", "pfc_class_7"};

uint64_t read_speed(Object &layer) {
  if (!layer.value("speed"))
    return 0;
  std::vector<std::string_view> words;
  for (const Speed &speed : kSpeeds)
    words.push_back(speed.word);
  return kSpeeds[layer.word("speed", words, 0)].mbit;
}

// pfc_class_N is the queue that priority N pauses, and null switches it off.
unsigned read_priorities(Object &pfc) {
  unsigned priorities = 0;
  pfc.unused("pfc_delay");
  for (unsigned i = 0; i < kClasses.size(); i++) {
    const char *key = kClasses[i];
    if (pfc.is_null(key)) {
      (void)pfc.value(key);
      continue;
    }
    priorities |= 1U << i;
    if (const uint64_t queue = pfc.integer(key, 0, 7, i); queue != i)
      pfc.warning(key,
                  fmt::format("queue {} has no effect: a priority is a queue of its own", queue));
  }
  return priorities;
}

std::optional<FlowControl> read_flow_control(Object &layer) {
  std::optional<FlowControl> control;
  layer.object("flow_control", "flow_control", [&](Object &object) {
    control.emplace();
    object.unused("directed_address");
    control->whole_port = object.choice({"ieee_802_1qbb", "ieee_802_3x"}, 0) == 1;
    if (control->whole_port)
      object.object("ieee_802_3x", "ieee_802_3x", [](Object &) {});
    else
      object.object(
          "ieee_802_1qbb", "ieee_802_1qbb",
          [&](Object &pfc) { control->priorities = read_priorities(pfc); }, true);
  });
  return control;
}

} // namespace

void read_ports(Object &root, Reading &reading) {
  std::set<std::string> locations;
  root.each("ports", "a port", [&](Object &object) {
    Port port;
    port.name = object.needed_text("name");
    port.location = object.text("location");
    if (!port.location.empty() && !locations.insert(port.location).second)
      object.error("location",
                   {fmt::format("{} is of a port before it", shown(Json(port.location))),
                    "each port has an interface of its own"});
    reading.ports.add(object, "name", port.name, reading.config.ports.size());
    reading.config.ports.push_back(std::move(port));
  });
}

void read_layer1(Object &root, Reading &reading) {
  std::set<size_t> seen;
  root.each("layer1", "layer1", [&](Object &layer) {
    reading.layers.add(layer, "name", layer.needed_text("name"), 0);
    const auto ports = reading.ports.refer_all(layer, "port_names");
    const uint64_t mbit = read_speed(layer);
    const auto mtu = layer.maybe_integer("mtu", 64, 14000);
    const auto control = read_flow_control(layer);
    for (const char *key :
         {"media", "promiscuous", "ieee_media_defaults", "auto_negotiate", "auto_negotiation"})
      layer.unused(key);
    for (const size_t index : ports) {
      Port &port = reading.config.ports[index];
      if (!seen.insert(index).second)
        layer.error("port_names",
                    {fmt::format("port {} is in a layer1 before it", shown(Json(port.name))),
                     "one layer1 a port"});
      port.line_mbit = mbit;
      port.mtu = mtu;
      port.flow_control = control;
    }
  });
}

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
