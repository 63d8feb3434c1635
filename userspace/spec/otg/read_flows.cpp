// SPDX-License-Identifier: Apache-2.0
#include "otg/read_flows.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "otg/read_headers.h"
#include "otg/read_patterns.h"
#include "otg/read_schedule.h"
#include "packet/frame.h"
#include "packet/header_match.h"
#include "packet/trailer.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::otg {

namespace {

// A port or a LAG.
struct Site {
  size_t port = 0; // of a LAG: its first
  std::optional<size_t> lag;
  bool operator==(const Site &) const = default;
};

// "": there are no ports, which is an error already.
std::string name_of(const Site &site, const Config &config) {
  if (site.lag)
    return config.lags[*site.lag].name;
  return site.port < config.ports.size() ? config.ports[site.port].name : "";
}

std::vector<size_t> ports_at(const Site &site, const Config &config) {
  return site.lag ? ports_of(config.lags[*site.lag]) : std::vector<size_t>{site.port};
}

// From one port or LAG, in one direction.
struct Way {
  Site tx = {};
  std::vector<Site> rx = {};
  std::vector<std::pair<std::string, std::string>> pairs = {};
  bool back = false;
};

Site site_named(Object &object, const char *key, const std::string &name, const Config &config) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < config.ports.size(); i++) {
    if (config.ports[i].name == name)
      return {i, {}};
    names.push_back(config.ports[i].name);
  }
  for (size_t i = 0; i < config.lags.size(); i++) {
    if (config.lags[i].name == name)
      return {config.lags[i].ports.front().port, i};
    names.push_back(config.lags[i].name);
  }
  object.error(key, {fmt::format("there is no port {}{}", config.lags.empty() ? "" : "or LAG ",
                                 shown(Json(name))),
                     parse::hint_from(name, names)});
  return {};
}

// A device's name is that of its first IP interface, or else of its first Ethernet.
std::string end_named(const std::string &name, const Config &config) {
  for (const Interface &interface : config.interfaces)
    if (config.ethernets[interface.ethernet].device == name)
      return interface.name;
  for (const Ethernet &ethernet : config.ethernets)
    if (ethernet.device == name)
      return ethernet.name;
  return name;
}

std::vector<std::string> ends(Object &device, const char *key, const Config &config) {
  auto names = device.texts(key);
  for (std::string &name : names)
    name = end_named(name, config);
  if (names.empty())
    device.error(key, {"a flow needs at least one", "names of devices, Ethernets or interfaces"});
  return names;
}

// Where an Ethernet or an interface is.
Site site_of_device(Object &object, const char *key, const std::string &name,
                    const Config &config) {
  std::vector<std::string_view> names;
  for (const Ethernet &ethernet : config.ethernets) {
    if (ethernet.name == name)
      return {ethernet.port, ethernet.lag};
    names.push_back(ethernet.name);
  }
  for (const Interface &interface : config.interfaces) {
    if (interface.name == name)
      return {config.ethernets[interface.ethernet].port, config.ethernets[interface.ethernet].lag};
    names.push_back(interface.name);
  }
  object.error(key, {fmt::format("there is no Ethernet or IP interface {}", shown(Json(name))),
                     parse::hint_from(name, names)});
  return {};
}

Way read_ports(Object &port, const Config &config) {
  Way way;
  if (const std::string name = port.needed_text("tx_name"); !name.empty())
    way.tx = site_named(port, "tx_name", name, config);
  if (const Lag *lag = lag_of_port(config, way.tx.port);
      lag && !way.tx.lag && port.text("tx_name") == name_of(way.tx, config))
    port.error("tx_name",
               {fmt::format("port {} is in LAG {}, which sends",
                            shown(Json(name_of(way.tx, config))), shown(Json(lag->name))),
                "the LAG's name"});
  if (const std::string one = port.text("rx_name"); !one.empty())
    way.rx.push_back(site_named(port, "rx_name", one, config));
  for (const std::string &name : port.texts("rx_names"))
    if (const Site rx = site_named(port, "rx_names", name, config);
        std::ranges::find(way.rx, rx) == way.rx.end())
      way.rx.push_back(rx);
  return way;
}

void add_pair(std::vector<Way> &ways, const Way &one) {
  const auto same = std::ranges::find_if(
      ways, [&](const Way &way) { return way.tx == one.tx && way.back == one.back; });
  if (same == ways.end()) {
    ways.push_back(one);
    return;
  }
  same->pairs.push_back(one.pairs.front());
  if (std::ranges::find(same->rx, one.rx.front()) == same->rx.end())
    same->rx.push_back(one.rx.front());
}

std::vector<Way> read_devices(Object &device, const Config &config) {
  std::vector<Way> ways;
  const bool mesh = device.word("mode", {"mesh", "one_to_one"}, 0) == 0;
  const auto from = ends(device, "tx_names", config), to = ends(device, "rx_names", config);
  const bool both = device.flag("bidirectional", false);
  if (!mesh && from.size() != to.size()) {
    device.error("rx_names", {fmt::format("one_to_one needs as many as tx_names, {}", from.size()),
                              "or mode mesh"});
    return ways;
  }
  for (size_t i = 0; i < from.size(); i++)
    for (size_t k = mesh ? 0 : i; k < (mesh ? to.size() : i + 1); k++) {
      if (from[i] == to[k]) {
        device.error("rx_names", {fmt::format("{} would send to itself", shown(Json(from[i]))),
                                  "other names than in tx_names"});
        continue;
      }
      const Site tx = site_of_device(device, "tx_names", from[i], config);
      const Site rx = site_of_device(device, "rx_names", to[k], config);
      add_pair(ways, {tx, {rx}, {{from[i], to[k]}}, false});
      if (both)
        add_pair(ways, {rx, {tx}, {{to[k], from[i]}}, true});
    }
  return ways;
}

std::vector<Way> read_ways(Object &flow, const Config &config) {
  std::vector<Way> ways;
  flow.object(
      "tx_rx", "the ends of a flow",
      [&](Object &ends) {
        if (ends.choice({"port", "device"}, 0) == 0)
          ends.object(
              "port", "the ports of a flow",
              [&](Object &port) { ways.push_back(read_ports(port, config)); }, true);
        else
          ends.object(
              "device", "the devices of a flow",
              [&](Object &device) { ways = read_devices(device, config); }, true);
      },
      true);
  return ways;
}

// The Ethernet and the IP address of one end of a pair.
struct End {
  const Ethernet *ethernet = nullptr;
  const Interface *interface = nullptr;
};

End end_of(const std::string &name, const Config &config) {
  for (const Interface &interface : config.interfaces)
    if (interface.name == name)
      return {&config.ethernets[interface.ethernet], &interface};
  for (const Ethernet &ethernet : config.ethernets)
    if (ethernet.name == name)
      return {&ethernet, nullptr};
  return {};
}

// One value, or as many as there are pairs. Null: an end has none.
Json pattern_of(const std::vector<std::string> &values) {
  if (values.empty() || std::ranges::find(values, "") != values.end())
    return {};
  if (std::ranges::all_of(values, [&](const std::string &each) { return each == values.front(); }))
    return {{"choice", "value"}, {"value", values.front()}};
  return {{"choice", "values"}, {"values", values}};
}

// What a script leaves out of frames between devices is of their pairs: the headers up to IP, the
// source's MAC, and the addresses of the first IP header. Where one port sends.
void write_ends(Object &flow, const std::vector<Way> &ways, const Config &config) {
  const auto back = std::ranges::count_if(ways, [](const Way &way) { return way.back; });
  if (ways.size() - static_cast<size_t>(back) != 1 || ways.front().pairs.empty())
    return;
  std::vector<std::string> macs, sources, destinations;
  bool ipv4 = true, ipv6 = true;
  for (const auto &[from, to] : ways.front().pairs) {
    const End tx = end_of(from, config), rx = end_of(to, config);
    const bool ip = tx.interface && rx.interface && tx.interface->ipv4 == rx.interface->ipv4;
    macs.push_back(tx.ethernet && tx.ethernet->mac ? packet::mac_text(*tx.ethernet->mac) : "");
    sources.push_back(ip ? parse::address_text(tx.interface->address) : "");
    destinations.push_back(ip ? parse::address_text(rx.interface->address) : "");
    ipv4 = ipv4 && ip && tx.interface->ipv4;
    ipv6 = ipv6 && ip && !tx.interface->ipv4;
  }
  const char *network = ipv4 ? "ipv4" : ipv6 ? "ipv6" : "";
  Json headers = Json::array({{{"ethernet", Json::object()}}});
  if (*network)
    headers.push_back({{network, Json::object()}});
  Json *given = flow.value("packet");
  if (given && given->is_array() && given->empty())
    *given = headers;
  flow.set_default("packet", headers);
  given = flow.value("packet");
  const auto write = [](Json &header, const char *kind, const char *key,
                        const std::vector<std::string> &values) {
    const Json pattern = pattern_of(values);
    if (pattern.is_null() || (header.contains(kind) && !header[kind].is_object()))
      return;
    if (Json &fields = header[kind]; !fields.contains(key))
      fields[key] = pattern;
  };
  for (size_t i = 0; given->is_array() && i < given->size() && i < 8; i++) {
    Json &header = (*given)[i];
    if (!header.is_object())
      return;
    const bool bare = header.empty() || header.value("choice", Json()) == "ethernet";
    if (i == 0 && (bare || header.contains("ethernet")))
      write(header, "ethernet", "src", macs);
    if (*network && (header.contains(network) || header.value("choice", Json()) == network)) {
      write(header, network, "src", sources);
      write(header, network, "dst", destinations);
      return;
    }
    if (header.contains("ipv4") || header.contains("ipv6"))
      return;
  }
}

packet::Fill read_fill(Object &flow) {
  using Kind = packet::Fill::Kind;
  packet::Fill made;
  flow.object(
      "payload", "a payload",
      [&](Object &payload) {
        switch (payload.choice(
            {"fixed", "increment_byte", "decrement_byte", "increment_word", "decrement_word"}, 0)) {
        case 0:
          payload.object(
              "fixed", "a pattern",
              [&](Object &fixed) {
                const std::string text = fixed.text("pattern", "00");
                if (const auto bytes = hexadecimal_bytes(text))
                  made.pattern = *bytes;
                else
                  fixed.error("pattern", {shown(Json(text)) + " is not bytes in hexadecimal",
                                          "two digits each, like \"a5\""});
                made.kind = fixed.flag("repeat", true) ? Kind::Repeat : Kind::Once;
              },
              true);
          break;
        case 1:
          made.kind = Kind::ByteUp;
          break;
        case 2:
          made.kind = Kind::ByteDown;
          break;
        case 3:
          made.kind = Kind::WordUp;
          break;
        default:
          made.kind = Kind::WordDown;
        }
      },
      true);
  return made;
}

void read_metrics(Object &flow, PlainFlow &made) {
  flow.object(
      "metrics", "what is counted",
      [&](Object &metrics) {
        made.enabled = metrics.flag("enable", false);
        made.loss = metrics.flag("loss", false);
        made.timestamps = metrics.flag("timestamps", false);
        metrics.object(
            "latency", "what is timed",
            [&](Object &latency) {
              made.latency = latency.flag("enable", false);
              made.cut_through = latency.word("mode", {"store_forward", "cut_through"}, 0) == 1;
            },
            true);
        metrics.object("rx_tx_ratio", "a ratio", [&](Object &ratio) {
          made.each_port = ratio.choice({"rx_count", "value"}, 1) == 0;
          ratio.object("rx_count", "rx_count", [](Object &) {});
          made.rx_ratio = made.each_port ? 1 : ratio.real("value", 1e-6, 1e6, 1);
        });
        metrics.object("predefined_metric_tags", "metric tags",
                       [&](Object &tags) { made.tag_port = tags.flag("rx_name", false); });
        if (!made.enabled && (made.loss || made.timestamps || made.latency)) {
          metrics.warning("enable", "without it, nothing is counted");
          made.loss = made.timestamps = made.latency = false;
        }
      },
      true);
}

// Sizes that the frame needs, and where a stamp has room.
void settle(Object &flow, PlainFlow &made, bool pauses) {
  const uint32_t needed = made.frame.shortest() + packet::kFcsBytes;
  if (needed > kLargestFrame)
    flow.error("packet", {fmt::format("its headers make frames of {} bytes", needed),
                          fmt::format("at most {}", kLargestFrame)});
  made.sizes.least = std::max(packet::kSmallestFrame, needed);
  if (made.sizes.smallest() < made.sizes.least)
    flow.warning("size",
                 fmt::format("frames of less than {} bytes are sent with {}: {}", made.sizes.least,
                             made.sizes.least,
                             needed > packet::kSmallestFrame ? "their headers need them"
                                                             : "Ethernet has no smaller ones"));
  if (!made.enabled)
    return;
  const uint32_t room = needed + packet::kTrailerBytes;
  made.frame.stamped = !pauses && made.sizes.largest() >= room;
  made.unstamped = pauses || std::max(made.sizes.smallest(), made.sizes.least) < room;
  if (made.unstamped && !pauses)
    flow.warning("size", fmt::format("frames of less than {} bytes have no room for a stamp: they "
                                     "are counted by their headers, and have no latency",
                                     room));
}

// Frames without a stamp are those of the first flow that has their headers.
void check_headers(const Object &root, const Config &config) {
  struct Seen {
    const PlainFlow *flow = nullptr;
    packet::HeaderMatch headers;
  };
  std::multimap<std::vector<uint8_t>, Seen> seen; // by what the headers have in common
  for (const PlainFlow &flow : config.plain_flows) {
    if (!flow.unstamped)
      continue;
    const packet::HeaderMatch headers(flow.frame);
    const auto [from, to] = seen.equal_range(headers.value());
    const auto same = std::find_if(from, to, [&](const auto &each) {
      const Seen &other = each.second;
      return other.flow->name != flow.name && other.headers == headers &&
             std::ranges::find_first_of(other.flow->rx_ports, flow.rx_ports) !=
                 other.flow->rx_ports.end();
    });
    if (same != to)
      root.warning("flows",
                   fmt::format("{} and {} have the same headers, and frames without room for a "
                               "stamp: these are counted as those of {}",
                               shown(Json(same->second.flow->name)), shown(Json(flow.name)),
                               shown(Json(same->second.flow->name))));
    else
      seen.emplace(headers.value(), Seen{&flow, headers});
  }
}

// The part of the ways of one direction that this one sends: by its pairs of devices.
void share(PlainFlow &made, const Way &way, const std::vector<Way> &ways) {
  uint64_t before = 0, all = 0;
  for (const Way &each : ways) {
    if (each.back != way.back)
      continue;
    before += &each < &way ? each.pairs.size() : 0;
    all += each.pairs.size();
  }
  if (way.pairs.size() == all)
    return;
  const auto part = [&](uint64_t whole) {
    const auto until = [&](uint64_t pairs) {
      return static_cast<uint64_t>(packet::Wide{whole} * pairs / all);
    };
    return std::max<uint64_t>(1, until(before + way.pairs.size()) - until(before));
  };
  made.span.packets = part(made.span.packets);
  if (made.rate.kind != packet::FrameRate::Kind::Percent)
    made.rate.value = part(made.rate.value);
}

void check_lag(Object &flow, const Way &way, const PlainFlow &made, const Config &config) {
  if (way.tx.lag && config.lags[*way.tx.lag].ports.size() > 1 &&
      made.span.kind == packet::FrameSpan::Kind::Bursts)
    flow.error("duration", {"bursts are of one port, and LAG " +
                                shown(Json(config.lags[*way.tx.lag].name)) + " has several",
                            "continuous, fixed_packets, fixed_seconds; or a LAG of one port"});
}

// Where each tag is in a frame as it is sent, and as it comes. Each has a name of its own.
// `both_ways`: the source's MAC of those that come back is the port's.
void read_tags_of(Object &flow, const ReadHeaders &headers, bool both_ways, PlainFlow &made) {
  made.tags = headers.tags;
  made.egress_tags = read_egress(flow);
  std::set<std::string> names;
  if (made.tag_port)
    names.insert("rx_name");
  for (const auto *tags : {&made.tags, &made.egress_tags})
    for (const MetricTag &tag : *tags)
      if (!names.insert(tag.name).second)
        flow.error("packet", {fmt::format("there are two metric tags {}", shown(Json(tag.name))),
                              "each has a name of its own"});
  const uint32_t unknown = !headers.resolve_dst_mac ? 0 : both_ways ? 96 : 48; // bits
  for (const MetricTag &tag : made.tags)
    if (tag.at.bit < unknown)
      flow.error("packet", {fmt::format("metric tag {} is of a MAC that is not known yet",
                                        shown(Json(tag.name))),
                            "a value in ethernet.dst, or the tag in egress_packet"});
  for (const MetricTag &tag : made.tags)
    for (const packet::LengthField &length : made.frame.lengths)
      if (tag.at.bit < 8 * length.at + 16 && 8 * length.at < tag.at.bit + tag.at.bits)
        flow.error("packet", {fmt::format("metric tag {} is of a length that each frame has of its "
                                          "own",
                                          shown(Json(tag.name))),
                              "the tag in egress_packet, or a value of the length"});
  if (made.is_tagged() && !made.enabled)
    flow.warning("metrics.enable", "without it, nothing is counted, by metric tags either");
  const auto repeats = [&](const packet::FrameShape &frame) {
    return packet::FrameTags::period(frame, ranges_of(made.tags)) != 0;
  };
  if (!repeats(made.frame) || (both_ways && !repeats(swapped(made.frame, headers.swaps))))
    flow.error("packet", {fmt::format("metric tags whose values repeat after more than {} frames",
                                      packet::FrameTags::kMost),
                          "fewer values, or tags in egress_packet"});
}

void read_flow(Object &flow, Config &config, std::set<std::string> &names) {
  PlainFlow made;
  made.name = flow.needed_text("name");
  if (!made.name.empty() && !names.insert(made.name).second)
    flow.error("name", {fmt::format("{} is a flow already", shown(Json(made.name))),
                        "each flow needs a name of its own"});
  const std::vector<Way> ways = read_ways(flow, config);
  write_ends(flow, ways, config);
  const ReadHeaders headers = read_headers(flow);
  made.frame = headers.shape;
  made.resolve_dst_mac = headers.resolve_dst_mac;
  made.sizes = read_sizes(flow);
  made.rate = read_rate(flow);
  made.span = read_span(flow);
  made.frame.fill = read_fill(flow);
  read_metrics(flow, made);
  read_tags_of(flow, headers, std::ranges::any_of(ways, &Way::back), made);
  settle(flow, made, headers.pauses);
  for (const Way &way : ways) {
    check_lag(flow, way, made, config);
    if (way.rx.empty() && made.enabled)
      flow.warning("tx_rx.port.rx_names", "no port is named that counts what arrives");
    PlainFlow added = made;
    added.tx_lag = way.tx.lag;
    added.tx_name = name_of(way.tx, config);
    added.rx_name = way.rx.size() == 1 ? name_of(way.rx.front(), config) : "";
    for (const Site &site : way.rx)
      for (const size_t port : ports_at(site, config))
        if (std::ranges::find(added.rx_ports, port) == added.rx_ports.end())
          added.rx_ports.push_back(port);
    added.pairs = way.pairs;
    share(added, way, ways);
    if (way.back) {
      added.frame = swapped(made.frame, headers.swaps);
      added.resolve_src_mac = made.resolve_dst_mac;
    }
    for (const size_t port : ports_at(way.tx, config)) {
      added.tx_port = port;
      config.plain_flows.push_back(added);
    }
  }
}

} // namespace

std::vector<packet::BitRange> ranges_of(const std::vector<MetricTag> &tags) {
  std::vector<packet::BitRange> ranges;
  ranges.reserve(tags.size());
  for (const MetricTag &tag : tags)
    ranges.push_back(tag.at);
  return ranges;
}

void read_flows(Object &root, Config &config, std::set<std::string> taken) {
  root.each("flows", "a flow", [&](Object &flow) { read_flow(flow, config, taken); });
  check_headers(root, config);
}

} // namespace xr::otg
