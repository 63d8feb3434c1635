// SPDX-License-Identifier: Apache-2.0
#include "packet/neighbour.h"

#include <algorithm>

#include "packet/bytes.h"

namespace xr::packet {

namespace {

constexpr uint16_t kEthertypeArp = 0x0806;
constexpr uint32_t kArpLength = 28;
constexpr uint8_t kArpHead[] = {0, 1, 8, 0, 6, 4, 0}; // Ethernet, IPv4; the operation's high byte
constexpr uint8_t kArpRequest = 1, kArpReply = 2;

constexpr uint8_t kIcmp6 = 58, kNdHopLimit = 255;
constexpr uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr uint32_t kMessageLength = 24; // of either, without options
constexpr uint8_t kSourceOption = 1, kTargetOption = 2;
constexpr uint32_t kSolicited = 0x40000000, kOverride = 0x20000000;

constexpr Mac kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Mac kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};

Address from_words(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return {roce_swap32(a), roce_swap32(b), roce_swap32(c), roce_swap32(d)};
}

Address all_nodes() { return from_words(0xff020000, 0, 0, 1); }

// ff02::1:ff and the last three bytes (RFC 4291, 2.7.1)
Address solicited_node(const Address &target) {
  return from_words(0xff020000, 0, 1, 0xff000000 | (roce_swap32(target[3]) & 0xffffff));
}

// RFC 2464, 7
Mac multicast_mac(const Address &address) {
  Mac mac{0x33, 0x33};
  memcpy(mac.data() + 2, &address[3], 4);
  return mac;
}

bool is_multicast(const Address &address) { return (roce_swap32(address[0]) >> 24) == 0xff; }

Mac mac_at(const uint8_t *from) {
  Mac mac;
  memcpy(mac.data(), from, mac.size());
  return mac;
}

Address ipv6_at(const uint8_t *from) {
  Address address;
  memcpy(address.data(), from, sizeof(address));
  return address;
}

// 0.0.0.0 becomes ::, the unspecified address.
Address ipv4_at(const uint8_t *from) {
  const uint32_t word = roce_load32(from);
  return word ? Address{0, 0, ROCE_MAPPED_PREFIX, word} : Address{};
}

std::optional<NeighbourMessage> parse_arp(std::span<const uint8_t> arp, NeighbourMessage message) {
  if (arp.size() < kArpLength || !std::equal(std::begin(kArpHead), std::end(kArpHead), arp.begin()))
    return {};
  if (arp[7] != kArpRequest && arp[7] != kArpReply)
    return {};
  message.question = arp[7] == kArpRequest;
  message.sender_mac = mac_at(&arp[8]);
  message.sender = ipv4_at(&arp[14]);
  message.target = message.question ? ipv4_at(&arp[24]) : message.sender;
  if (message.target == Address{})
    return {};
  return message;
}

// Reads the link-layer address from an option of this type. false: a malformed option, which
// invalidates the message (RFC 4861, 7.1).
bool read_options(std::span<const uint8_t> options, uint8_t type, NeighbourMessage &message,
                  bool &found) {
  while (!options.empty()) {
    if (options.size() < 2)
      return false;
    const size_t length = size_t{options[1]} * 8;
    if (!length || length > options.size())
      return false;
    if (options[0] == type) {
      message.sender_mac = mac_at(&options[2]);
      found = true;
    }
    options = options.subspan(length);
  }
  return true;
}

// RFC 4861, 7.1.1 and 7.1.2
bool sound(const NeighbourMessage &message, const Address &destination, uint32_t flags,
           bool has_mac) {
  if (is_multicast(message.target))
    return false;
  if (!message.question)
    return !(is_multicast(destination) && flags & kSolicited);
  return message.sender != Address{} || (destination == solicited_node(message.target) && !has_mac);
}

std::optional<NeighbourMessage> parse_icmp6(std::span<const uint8_t> addresses,
                                            std::span<const uint8_t> icmp,
                                            NeighbourMessage message) {
  if (icmp.size() < kMessageLength || transport_checksum(addresses, kIcmp6, icmp) != 0)
    return {};
  if ((icmp[0] != kSolicitation && icmp[0] != kAdvertisement) || icmp[1] != 0)
    return {};
  message.question = icmp[0] == kSolicitation;
  message.sender = ipv6_at(&addresses[0]);
  message.target = ipv6_at(&icmp[8]);
  bool has_mac = false;
  if (!read_options(icmp.subspan(kMessageLength), message.question ? kSourceOption : kTargetOption,
                    message, has_mac) ||
      !sound(message, ipv6_at(&addresses[16]), roce_be32(&icmp[4]), has_mac))
    return {};
  return message;
}

std::optional<NeighbourMessage> parse_ipv6(std::span<const uint8_t> ip, NeighbourMessage message) {
  if (ip.size() < ROCE_IPV6_LEN || ip[0] >> 4 != 6 || ip[6] != kIcmp6 || ip[7] != kNdHopLimit)
    return {};
  const size_t length = roce_be16(&ip[4]);
  if (ip.size() < ROCE_IPV6_LEN + length)
    return {};
  return parse_icmp6(ip.subspan(8, 32), ip.subspan(ROCE_IPV6_LEN, length), std::move(message));
}

struct Ends {
  Mac src_mac, dst_mac;
  Address src, dst;
};

std::vector<uint8_t> arp(const Ends &ends, const std::vector<Tag> &tags, uint8_t operation,
                         const Mac &asked) {
  Writer out(ROCE_ETH_LEN + ROCE_VLAN_LEN * tags.size() + kArpLength);
  out.ethernet(ends.dst_mac, ends.src_mac, tags, kEthertypeArp);
  out.append(kArpHead);
  out.put8(operation);
  out.append(ends.src_mac);
  out.ipv4_address(ends.src);
  out.append(asked);
  out.ipv4_address(ends.dst);
  return out.take();
}

struct Discovery {
  uint8_t type;
  uint32_t flags;
  Address target;
  uint8_t option; // type of the option with the sender's MAC; 0: none
};

std::vector<uint8_t> icmp6(const Ends &ends, const std::vector<Tag> &tags, const Discovery &what) {
  const uint32_t length = kMessageLength + (what.option ? 8 : 0);
  const auto l3 = static_cast<uint32_t>(ROCE_ETH_LEN + ROCE_VLAN_LEN * tags.size());
  Writer out(l3 + ROCE_IPV6_LEN + length);
  out.ethernet(ends.dst_mac, ends.src_mac, tags, ROCE_ETHERTYPE_IPV6);
  out.put32(6u << 28);
  out.put16(length);
  out.put8(kIcmp6);
  out.put8(kNdHopLimit);
  out.ipv6_address(ends.src);
  out.ipv6_address(ends.dst);
  out.put8(what.type);
  out.put8(0);
  out.put16(0);
  out.put32(what.flags);
  out.ipv6_address(what.target);
  if (what.option) {
    out.put8(what.option);
    out.put8(1);
    out.append(ends.src_mac);
  }
  uint8_t *ip = out.at(l3), *icmp = ip + ROCE_IPV6_LEN;
  store16(icmp + 2, transport_checksum({ip + 8, 32}, kIcmp6, {icmp, length}));
  return out.take();
}

} // namespace

std::optional<NeighbourMessage> parse_neighbour(std::span<const uint8_t> frame) {
  if (frame.size() < ROCE_ETH_LEN)
    return {};
  NeighbourMessage message;
  message.sender_mac = mac_at(&frame[6]);
  size_t l3 = ROCE_ETH_LEN;
  uint16_t ethertype = roce_be16(&frame[12]);
  while ((ethertype == ROCE_ETHERTYPE_VLAN || ethertype == ROCE_ETHERTYPE_QINQ) &&
         message.tags.size() < ROCE_VLAN_MAX && frame.size() >= l3 + ROCE_VLAN_LEN) {
    message.tags.push_back({ethertype, roce_be16(&frame[l3])});
    ethertype = roce_be16(&frame[l3 + 2]);
    l3 += ROCE_VLAN_LEN;
  }
  if (ethertype == kEthertypeArp)
    return parse_arp(frame.subspan(l3), std::move(message));
  if (ethertype == ROCE_ETHERTYPE_IPV6)
    return parse_ipv6(frame.subspan(l3), std::move(message));
  return {};
}

std::vector<uint8_t> neighbour_answer(const NeighbourMessage &question, const Mac &mac) {
  const Ends ends{mac, question.sender_mac, question.target, question.sender};
  if (is_mapped(question.target))
    return arp(ends, question.tags, kArpReply, question.sender_mac);
  if (question.sender != Address{})
    return icmp6(ends, question.tags,
                 {kAdvertisement, kSolicited | kOverride, question.target, kTargetOption});
  // the answer to a probe without a source address goes to all nodes (RFC 4861, 7.2.4)
  return icmp6({mac, kAllNodesMac, question.target, all_nodes()}, question.tags,
               {kAdvertisement, kOverride, question.target, kTargetOption});
}

std::vector<uint8_t> neighbour_question(const Address &source, const Mac &mac,
                                        const Address &target, const std::vector<Tag> &tags) {
  if (is_mapped(target))
    return arp({mac, kBroadcast, source, target}, tags, kArpRequest, {});
  const Address group = solicited_node(target);
  const uint8_t option = source == Address{} ? 0 : kSourceOption;
  return icmp6({mac, multicast_mac(group), source, group}, tags,
               {kSolicitation, 0, target, option});
}

std::optional<NeighbourMessage> question_about(std::span<const Address> mine,
                                               std::span<const uint8_t> frame) {
  auto message = parse_neighbour(frame);
  if (message && message->question && std::binary_search(mine.begin(), mine.end(), message->target))
    return message;
  return {};
}

} // namespace xr::packet
