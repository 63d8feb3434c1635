// SPDX-License-Identifier: Apache-2.0
#include "host/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <net/if.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "host/ethtool.h"
#include "host/netlink.h"
#include "host/netns.h"

namespace xr::host {

namespace {

constexpr unsigned kLowerUp = 1 << 16; // IFF_LOWER_UP, which <net/if.h> lacks

// For an interface that existed before.
Error gone(const std::string &name) { return Error{name + ": no such interface"}; }

Error link_error(const Answer &answer, const std::string &ifname, std::string message) {
  if (answer.error == ENODEV)
    return gone(ifname);
  return errno_error(answer.error, std::move(message), answer.words);
}

void read_link_info(std::string_view run, LinkFacts &facts) {
  each_attribute(run, [&](const Attribute &a) {
    if (a.type == IFLA_INFO_KIND)
      facts.kind = a.text();
    else if (a.type == IFLA_INFO_SLAVE_KIND)
      facts.master_kind = a.text();
  });
}

void read_xdp(std::string_view run, LinkFacts &facts) {
  each_attribute(run, [&](const Attribute &a) {
    if (a.type == IFLA_XDP_ATTACHED)
      facts.has_xdp = a.as<uint8_t>() != XDP_ATTACHED_NONE;
    else if (a.type == IFLA_XDP_DRV_PROG_ID)
      facts.has_native_xdp = a.as<uint32_t>() != 0;
  });
}

struct RawLink {
  LinkFacts facts;
  unsigned link = 0, master = 0;
};

void read_attribute(const Attribute &a, RawLink &raw) {
  LinkFacts &facts = raw.facts;
  switch (a.type) {
  case IFLA_IFNAME:
    facts.ifname = a.text();
    break;
  case IFLA_ADDRESS:
    facts.mac = a.as<std::array<uint8_t, 6>>();
    break;
  case IFLA_MTU:
    facts.mtu = a.as<uint32_t>();
    break;
  case IFLA_LINK:
    raw.link = a.as<uint32_t>();
    break;
  case IFLA_CARRIER:
    facts.carrier = a.as<uint8_t>() != 0;
    break;
  case IFLA_MASTER:
    raw.master = a.as<uint32_t>();
    break;
  case IFLA_LINK_NETNSID:
    facts.peer_nsid = a.as<int32_t>();
    break;
  case IFLA_LINKINFO:
    read_link_info(a.data, facts);
    break;
  case IFLA_XDP:
    read_xdp(a.data, facts);
    break;
  case IFLA_STATS64: {
    const auto stats = a.as<rtnl_link_stats64>();
    facts.rx_dropped = stats.rx_dropped;
    facts.tx_packets = stats.tx_packets;
    facts.tx_dropped = stats.tx_dropped;
    facts.tx_errors = stats.tx_errors;
    facts.rx_missed = stats.rx_missed_errors;
    break;
  }
  default:
    break;
  }
}

RawLink parse_link(std::string_view body) {
  RawLink raw;
  ifinfomsg head{};
  if (body.size() < sizeof(head))
    return raw;
  memcpy(&head, body.data(), sizeof(head));
  LinkFacts &facts = raw.facts;
  facts.ifindex = static_cast<unsigned>(head.ifi_index);
  facts.up = head.ifi_flags & IFF_UP;
  facts.running = facts.up && (head.ifi_flags & kLowerUp);
  facts.promiscuous = head.ifi_flags & IFF_PROMISC;
  each_attribute(body.substr(NLMSG_ALIGN(sizeof(head))),
                 [&](const Attribute &a) { read_attribute(a, raw); });
  if (facts.kind == "veth")
    facts.peer_ifindex = raw.link;
  else
    facts.peer_nsid = -1;
  facts.stacked = raw.link && raw.link != facts.ifindex && !facts.kind.empty() &&
                  facts.kind != "veth" && facts.kind != "dsa";
  return raw;
}

void read_driver(LinkFacts &link) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (ethtool(link.ifname, &info) < 0)
    return;
  link.driver = {info.driver, strnlen(info.driver, sizeof(info.driver))};
  link.bus = {info.bus_info, strnlen(info.bus_info, sizeof(info.bus_info))};
}

Result<LinkFacts> ask_link(unsigned ifindex, const std::string &ifname, const Error &absent) {
  ifinfomsg head{};
  RawLink raw;
  head.ifi_index = static_cast<int>(ifindex);
  Request request(RTM_GETLINK, NLM_F_ACK, head);
  if (!ifindex)
    request.add(IFLA_IFNAME, ifname);
  Answer answer = ask(request, [&](uint16_t type, std::string_view body) {
    if (type == RTM_NEWLINK)
      raw = parse_link(body);
  });
  if (answer.error == ENODEV || (!answer.error && !raw.facts.ifindex))
    return absent;
  if (answer.error)
    return errno_error(answer.error, fmt::format("cannot ask the kernel about {}", ifname),
                       answer.words);
  read_driver(raw.facts);
  if (std::array<char, IF_NAMESIZE> name{}; raw.master && if_indextoname(raw.master, name.data()))
    raw.facts.master = name.data();
  return raw.facts;
}

// Feature names in the order of their bits.
Result<std::vector<std::string>> feature_names(const std::string &ifname) {
  EthtoolCommand info(sizeof(ethtool_sset_info) + sizeof(uint32_t));
  auto *wanted = info.as<ethtool_sset_info>();
  wanted->cmd = ETHTOOL_GSSET_INFO;
  wanted->sset_mask = 1ull << ETH_SS_FEATURES;
  if (int result = ethtool(ifname, wanted); result < 0)
    return link_error({-result, ""}, ifname, fmt::format("cannot read the features of {}", ifname));
  const uint32_t count = wanted->sset_mask ? wanted->data[0] : 0;
  EthtoolCommand room(sizeof(ethtool_gstrings) + size_t{count} * ETH_GSTRING_LEN);
  auto *strings = room.as<ethtool_gstrings>();
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_FEATURES;
  strings->len = count;
  if (int result = ethtool(ifname, strings); result < 0)
    return link_error({-result, ""}, ifname, fmt::format("cannot read the features of {}", ifname));
  std::vector<std::string> names;
  for (uint32_t i = 0; i < std::min(count, strings->len); i++) {
    const char *name = reinterpret_cast<char *>(strings->data) + size_t{i} * ETH_GSTRING_LEN;
    names.emplace_back(name, strnlen(name, ETH_GSTRING_LEN));
  }
  return names;
}

// The `count` feature bits: active or not.
Result<std::vector<bool>> active_features(const std::string &ifname, size_t count) {
  const size_t blocks = (count + 31) / 32;
  EthtoolCommand room(sizeof(ethtool_gfeatures) + blocks * sizeof(ethtool_get_features_block));
  auto *get = room.as<ethtool_gfeatures>();
  get->cmd = ETHTOOL_GFEATURES;
  get->size = static_cast<uint32_t>(blocks);
  if (int result = ethtool(ifname, get); result < 0)
    return link_error({-result, ""}, ifname, fmt::format("cannot read the features of {}", ifname));
  std::vector<bool> active(count);
  for (size_t i = 0; i < count; i++)
    active[i] = get->features[i / 32].active >> (i % 32) & 1;
  return active;
}

Status change_link(const std::string &ifname, Request &request, std::string message) {
  request.add(IFLA_IFNAME, ifname);
  Answer answer = ask(request, {});
  if (answer.error)
    return link_error(answer, ifname, std::move(message));
  return {};
}

// In the notation of ip(8); "" for automatic IPv6 addresses.
std::string address_text(std::string_view body, unsigned ifindex) {
  ifaddrmsg head{};
  std::string_view address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (body.size() < sizeof(head))
    return "";
  memcpy(&head, body.data(), sizeof(head));
  if (head.ifa_index != ifindex || (head.ifa_family == AF_INET6 && head.ifa_scope == RT_SCOPE_LINK))
    return "";
  each_attribute(body.substr(NLMSG_ALIGN(sizeof(head))), [&](const Attribute &a) {
    // On a point-to-point interface, IFA_ADDRESS is the address of the peer.
    if (a.type == IFA_LOCAL || (a.type == IFA_ADDRESS && address.empty()))
      address = a.data;
  });
  if (address.size() < (head.ifa_family == AF_INET6 ? 16u : 4u) ||
      !inet_ntop(head.ifa_family, address.data(), text.data(), text.size()))
    return "";
  return fmt::format("{}/{}", text.data(), head.ifa_prefixlen);
}

// A neighbour with a known and valid MAC.
std::optional<Neighbour> parse_neighbour(std::string_view body, unsigned ifindex) {
  constexpr unsigned kKnown = NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
  ndmsg head{};
  Neighbour result;
  std::string_view address, mac;
  if (body.size() < sizeof(head))
    return {};
  memcpy(&head, body.data(), sizeof(head));
  if (static_cast<unsigned>(head.ndm_ifindex) != ifindex || !(head.ndm_state & kKnown))
    return {};
  each_attribute(body.substr(NLMSG_ALIGN(sizeof(head))), [&](const Attribute &a) {
    if (a.type == NDA_DST)
      address = a.data;
    else if (a.type == NDA_LLADDR)
      mac = a.data;
  });
  if (mac.size() != result.mac.size() || (address.size() != 4 && address.size() != 16))
    return {};
  if (address.size() == 4)
    result.address[2] = htonl(0xffff); // v4-mapped
  memcpy(result.address.data() + (address.size() == 4 ? 3 : 0), address.data(), address.size());
  memcpy(result.mac.data(), mac.data(), mac.size());
  return result;
}

} // namespace

Result<LinkFacts> read_link(const PortName &port) {
  if (port.ifname.empty() || port.ifname.size() >= IFNAMSIZ)
    return no_such_interface(port.netns);
  return ask_link(0, port.ifname, no_such_interface(port.netns));
}

Result<LinkFacts> read_link_at(unsigned ifindex) {
  const std::string name = fmt::format("interface {}", ifindex);
  return ask_link(ifindex, name, gone(name));
}

Result<std::vector<std::string>> read_addresses(unsigned ifindex) {
  std::vector<std::string> all;
  ifaddrmsg head{};
  Answer answer = ask(Request(RTM_GETADDR, NLM_F_DUMP, head), [&](uint16_t, std::string_view body) {
    if (auto text = address_text(body, ifindex); !text.empty())
      all.push_back(text);
  });
  if (answer.error)
    return errno_error(answer.error, "cannot ask the kernel for addresses", answer.words);
  return all;
}

Result<std::vector<Neighbour>> read_neighbours(unsigned ifindex) {
  std::vector<Neighbour> all;
  Answer answer =
      ask(Request(RTM_GETNEIGH, NLM_F_DUMP, ndmsg{}), [&](uint16_t, std::string_view body) {
        if (auto item = parse_neighbour(body, ifindex))
          all.push_back(*item);
      });
  if (answer.error)
    return errno_error(answer.error, "cannot ask the kernel for neighbours", answer.words);
  return all;
}

uint64_t read_speed(const std::string &ifname) {
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  if (ethtool(ifname, &command) < 0)
    return 0;
  const uint32_t megabits = ethtool_cmd_speed(&command);
  return megabits == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : uint64_t{megabits} * 1'000'000;
}

Queues read_queues(const std::string &ifname) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (ethtool(ifname, &channels) < 0)
    return {};
  return {std::max(1U, channels.combined_count + channels.rx_count), channels.max_combined};
}

uint32_t read_rx_ring(const std::string &ifname) {
  ethtool_ringparam ring{};
  ring.cmd = ETHTOOL_GRINGPARAM;
  return ethtool(ifname, &ring) < 0 ? 0 : ring.rx_pending;
}

Result<Features> read_features(const std::string &ifname) {
  auto names = XR_TRY(feature_names(ifname));
  auto active = XR_TRY(active_features(ifname, names.size()));
  Features features;
  for (size_t i = 0; i < names.size(); i++)
    if (!names[i].empty())
      features[names[i]] = active[i];
  return features;
}

Status set_feature(const std::string &ifname, const std::string &feature, bool on) {
  auto names = XR_TRY(feature_names(ifname));
  const auto found = std::find(names.begin(), names.end(), feature);
  if (found == names.end())
    return Error{fmt::format("{}: this kernel knows no feature {}", ifname, feature)};
  const auto bit = static_cast<size_t>(found - names.begin());
  const size_t blocks = (names.size() + 31) / 32;
  EthtoolCommand room(sizeof(ethtool_sfeatures) + blocks * sizeof(ethtool_set_features_block));
  auto *set = room.as<ethtool_sfeatures>();
  set->cmd = ETHTOOL_SFEATURES;
  set->size = static_cast<uint32_t>(blocks);
  set->features[bit / 32].valid = 1u << (bit % 32);
  set->features[bit / 32].requested = on ? 1u << (bit % 32) : 0;
  const std::string what =
      fmt::format("cannot set {} {} at {}", feature, on ? "on" : "off", ifname);
  if (int result = ethtool(ifname, set); result < 0)
    return link_error({-result, ""}, ifname, what);
  auto active = XR_TRY(active_features(ifname, names.size()));
  if (active[bit] != on)
    return Error{fmt::format("{}: the driver leaves it as it is", what),
                 fmt::format("`ethtool -k {}` marks what it does not change [fixed]", ifname)};
  return {};
}

Status set_promiscuous(const std::string &ifname, bool on) {
  ifinfomsg head{};
  head.ifi_change = IFF_PROMISC;
  head.ifi_flags = on ? IFF_PROMISC : 0;
  Request request(RTM_NEWLINK, NLM_F_ACK, head);
  return change_link(ifname, request,
                     fmt::format("cannot {} {}",
                                 on ? "make promiscuous" : "take out of promiscuous mode", ifname));
}

Status set_up(const std::string &ifname, bool up) {
  ifinfomsg head{};
  head.ifi_change = IFF_UP;
  head.ifi_flags = up ? IFF_UP : 0;
  Request request(RTM_NEWLINK, NLM_F_ACK, head);
  return change_link(ifname, request, fmt::format("cannot set {} {}", ifname, up ? "up" : "down"));
}

Status set_mtu(const std::string &ifname, uint32_t mtu) {
  Request request(RTM_NEWLINK, NLM_F_ACK, ifinfomsg{});
  request.add(IFLA_MTU, mtu);
  return change_link(ifname, request, fmt::format("cannot set the MTU of {} to {}", ifname, mtu));
}

Result<int> nsid_of(int netns_fd) {
  int nsid = -1;
  Request request(RTM_GETNSID, NLM_F_ACK, rtgenmsg{});
  request.add(NETNSA_FD, static_cast<uint32_t>(netns_fd));
  Answer answer = ask(request, [&](uint16_t type, std::string_view body) {
    if (type == RTM_NEWNSID && body.size() >= NLMSG_ALIGN(sizeof(rtgenmsg)))
      each_attribute(body.substr(NLMSG_ALIGN(sizeof(rtgenmsg))), [&](const Attribute &a) {
        if (a.type == NETNSA_NSID)
          nsid = a.as<int32_t>();
      });
  });
  if (answer.error)
    return errno_error(answer.error, "cannot ask the kernel for a namespace's number",
                       answer.words);
  return nsid;
}

} // namespace xr::host
