// SPDX-License-Identifier: Apache-2.0
#include "packet/echo.h"

#include <algorithm>

#include "packet/bytes.h"

namespace xr::packet {

namespace {

constexpr uint8_t kIcmp = 1, kIcmpv6 = 58, kHops = 64;
constexpr uint8_t kRequest = 8, kReply = 0, kRequestV6 = 128, kReplyV6 = 129;
constexpr uint32_t kEchoHeader = 8;

// `addresses`: of the pseudo-header; empty: ICMP has none.
std::optional<EchoMessage> parse_icmp(std::span<const uint8_t> addresses,
                                      std::span<const uint8_t> icmp, EchoMessage message) {
  const bool v6 = !addresses.empty();
  if (icmp.size() < kEchoHeader || icmp[1] != 0)
    return {};
  if (v6 ? transport_checksum(addresses, kIcmpv6, icmp) : checksum_fold(checksum_add(0, icmp)))
    return {};
  message.request = icmp[0] == (v6 ? kRequestV6 : kRequest);
  if (!message.request && icmp[0] != (v6 ? kReplyV6 : kReply))
    return {};
  message.identifier = roce_be16(&icmp[4]);
  message.sequence = roce_be16(&icmp[6]);
  message.data = icmp.subspan(kEchoHeader);
  return message;
}

std::optional<EchoMessage> parse_ip(std::span<const uint8_t> ip, EchoMessage message) {
  if (ip.size() < ROCE_IPV4_LEN)
    return {};
  const size_t header = size_t{ip[0] & 15U} * 4, length = roce_be16(&ip[2]);
  constexpr uint16_t kFragment = 0x3fff; // more follow, or its offset
  if (ip[0] >> 4 != 4 || header < ROCE_IPV4_LEN || length < header || length > ip.size() ||
      ip[9] != kIcmp || roce_be16(&ip[6]) & kFragment)
    return {};
  message.src = {0, 0, ROCE_MAPPED_PREFIX, roce_load32(&ip[12])};
  message.dst = {0, 0, ROCE_MAPPED_PREFIX, roce_load32(&ip[16])};
  return parse_icmp({}, ip.subspan(header, length - header), std::move(message));
}

std::optional<EchoMessage> parse_ip6(std::span<const uint8_t> ip, EchoMessage message) {
  if (ip.size() < ROCE_IPV6_LEN || ip[0] >> 4 != 6 || ip[6] != kIcmpv6)
    return {};
  const size_t length = roce_be16(&ip[4]);
  if (ip.size() < ROCE_IPV6_LEN + length)
    return {};
  std::memcpy(message.src.data(), &ip[8], sizeof(message.src));
  std::memcpy(message.dst.data(), &ip[24], sizeof(message.dst));
  if (is_mapped(message.src) || is_mapped(message.dst)) // the form of IPv4's here
    return {};
  return parse_icmp(ip.subspan(8, 32), ip.subspan(ROCE_IPV6_LEN, length), std::move(message));
}

} // namespace

std::optional<EchoMessage> parse_echo(std::span<const uint8_t> frame) {
  if (frame.size() < ROCE_ETH_LEN)
    return {};
  EchoMessage message;
  std::copy_n(frame.begin(), 6, message.dst_mac.begin());
  std::copy_n(frame.begin() + 6, 6, message.src_mac.begin());
  size_t l3 = ROCE_ETH_LEN;
  uint16_t ethertype = roce_be16(&frame[12]);
  while ((ethertype == ROCE_ETHERTYPE_VLAN || ethertype == ROCE_ETHERTYPE_QINQ) &&
         message.tags.size() < ROCE_VLAN_MAX && frame.size() >= l3 + ROCE_VLAN_LEN) {
    message.tags.push_back({ethertype, roce_be16(&frame[l3])});
    ethertype = roce_be16(&frame[l3 + 2]);
    l3 += ROCE_VLAN_LEN;
  }
  if (ethertype == ROCE_ETHERTYPE_IPV4)
    return parse_ip(frame.subspan(l3), std::move(message));
  if (ethertype == ROCE_ETHERTYPE_IPV6)
    return parse_ip6(frame.subspan(l3), std::move(message));
  return {};
}

std::vector<uint8_t> echo_frame(const EchoMessage &message) {
  const bool v4 = is_mapped(message.dst);
  const auto l3 = static_cast<uint32_t>(ROCE_ETH_LEN + ROCE_VLAN_LEN * message.tags.size());
  const auto length = static_cast<uint32_t>(kEchoHeader + message.data.size());
  Writer out(l3 + ROCE_IPV6_LEN + length);
  out.ethernet(message.dst_mac, message.src_mac, message.tags,
               v4 ? ROCE_ETHERTYPE_IPV4 : ROCE_ETHERTYPE_IPV6);
  if (v4) {
    out.put16(0x4500);
    out.put16(ROCE_IPV4_LEN + length);
    out.put32(0x4000); // DF
    out.put8(kHops);
    out.put8(kIcmp);
    out.put16(0);
    out.ipv4_address(message.src);
    out.ipv4_address(message.dst);
  } else {
    out.put32(6U << 28);
    out.put16(length);
    out.put8(kIcmpv6);
    out.put8(kHops);
    out.ipv6_address(message.src);
    out.ipv6_address(message.dst);
  }
  const uint32_t at = out.size();
  out.put8(message.request ? (v4 ? kRequest : kRequestV6) : (v4 ? kReply : kReplyV6));
  out.put8(0);
  out.put16(0);
  out.put16(message.identifier);
  out.put16(message.sequence);
  out.append(message.data);
  uint8_t *ip = out.at(l3), *icmp = out.at(at);
  if (v4) {
    store16(ip + 10, checksum_fold(checksum_add(0, {ip, ROCE_IPV4_LEN})));
    store16(icmp + 2, checksum_fold(checksum_add(0, {icmp, length})));
  } else {
    store16(icmp + 2, transport_checksum({ip + 8, 32}, kIcmpv6, {icmp, length}));
  }
  return out.take();
}

std::vector<uint8_t> echo_reply(const EchoMessage &request, const Mac &mac) {
  EchoMessage reply = request;
  reply.request = false;
  reply.dst_mac = request.src_mac;
  reply.src_mac = mac;
  std::swap(reply.src, reply.dst);
  return echo_frame(reply);
}

} // namespace xr::packet
