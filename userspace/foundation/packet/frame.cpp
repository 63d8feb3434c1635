// SPDX-License-Identifier: Apache-2.0
#include "packet/frame.h"

#include <arpa/inet.h>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "packet/bytes.h"
#include "packet/icrc.h"
#include "roce/cnp.h"

namespace xr::packet {

namespace {

constexpr uint32_t kLargest = 0xffff; // maximum of the length fields of IPv4, UDP, IPv6 and GRH

uint32_t network_length(Network network) {
  switch (network) {
  case Network::Ipv4:
    return ROCE_IPV4_LEN + ROCE_UDP_LEN;
  case Network::Ipv6:
    return ROCE_IPV6_LEN + ROCE_UDP_LEN;
  case Network::V1:
    break;
  }
  return ROCE_GRH_LEN;
}

uint16_t ethertype(Network network) {
  switch (network) {
  case Network::Ipv4:
    return ROCE_ETHERTYPE_IPV4;
  case Network::Ipv6:
    return ROCE_ETHERTYPE_IPV6;
  case Network::V1:
    break;
  }
  return ROCE_ETHERTYPE_ROCEV1;
}

bool is_atomic_write(uint8_t opcode) {
  return roce_opcode_properties[opcode] & ROCE_OP_ATOMIC_WRITE;
}

// READ REQUEST, ACKNOWLEDGE, atomics and their ACK, RESYNC and FLUSH have headers only. A reserved
// opcode may have any payload.
bool has_no_payload(uint8_t opcode) {
  const uint64_t properties = roce_opcode_properties[opcode];
  return (properties & ROCE_OP_KNOWN) && !(properties & ROCE_DATA_OPS);
}

// A field with its value and width.
struct Width {
  std::string_view name;
  uint32_t value;
  uint32_t bits;
  bool present = true;
};

std::optional<Error> too_wide(std::initializer_list<Width> fields) {
  for (const Width &field : fields)
    if (field.present && field.value >> field.bits)
      return Error{
          fmt::format("{} {:#x} does not fit its {} bits", field.name, field.value, field.bits),
          fmt::format("at most {:#x}", (1u << field.bits) - 1)};
  return {};
}

std::optional<Error> check_headers(const Headers &h) {
  const uint32_t info = roce_opcode_info[h.opcode];
  return too_wide({
      {"DestQP", h.dest_qp, 24},
      {"PSN", h.psn, 24},
      {"TVer", h.tver, 4},
      {"resv6", h.resv6, 6},
      {"resv7", h.resv7, 7},
      {"EE-context", h.ee_context, 24, (info & ROCE_HAS_RDETH) != 0},
      {"SrcQP", h.src_qp, 24, (info & ROCE_HAS_DETH) != 0},
      {"XRC SRQ", h.srq, 24, (info & ROCE_HAS_XRCETH) != 0},
      {"placement type", h.flush_placement, 4, (info & ROCE_HAS_FETH) != 0},
      {"selectivity", h.flush_selectivity, 2, (info & ROCE_HAS_FETH) != 0},
      {"MSN", h.msn, 24, (info & ROCE_HAS_AETH) != 0},
  });
}

std::optional<Error> check_path(const Path &path) {
  if (path.tags.size() > ROCE_VLAN_MAX)
    return Error{fmt::format("{} VLAN tags", path.tags.size()),
                 fmt::format("at most {}", ROCE_VLAN_MAX)};
  for (const Tag &tag : path.tags)
    if (tag.tpid != ROCE_ETHERTYPE_VLAN && tag.tpid != ROCE_ETHERTYPE_QINQ)
      return Error{fmt::format("TPID {:#06x} is not that of a VLAN tag", tag.tpid),
                   "0x8100 or 0x88a8"};
  if (path.network == Network::Ipv4 && !(is_mapped(path.src) && is_mapped(path.dst)))
    return Error{fmt::format("the {} address is no IPv4 address",
                             is_mapped(path.src) ? "destination" : "source"),
                 "both addresses have to be of one family"};
  return too_wide({{"flow label", path.flow_label, 20, path.network != Network::Ipv4}});
}

std::optional<Error> check_payload(uint8_t opcode, size_t payload, int pad) {
  const unsigned op = opcode;
  if (opcode == ROCE_OPCODE_CNP && payload)
    return Error{fmt::format("a CNP has no payload of {} bytes", payload),
                 "its 16 bytes of 0 are made here"};
  if (is_atomic_write(opcode) && payload != 8)
    return Error{fmt::format("ATOMIC WRITE has a payload of 8 bytes, not of {}", payload)};
  if (has_no_payload(opcode) && payload)
    return Error{fmt::format("opcode {:#04x} has no payload, but {} bytes are given", op, payload)};
  if (pad < -1 || pad > 3)
    return Error{fmt::format("a pad of {} bytes does not fit PadCnt", pad), "0 to 3"};
  return {};
}

std::optional<Error> check(const Path &path, const Headers &headers, size_t payload, int pad) {
  if (headers.opcode == ROCE_OPCODE_CNP && path.network == Network::V1)
    return Error{"RoCEv1 has no CNP", "choose IPv4 or IPv6"};
  if (auto error = check_path(path))
    return error;
  if (auto error = check_headers(headers))
    return error;
  return check_payload(headers.opcode, payload, pad);
}

// The layout, once all is checked, also against the limit of the length field of the IP header or
// GRH.
Result<Layout> lay_out(const Path &path, const Headers &headers, size_t payload, int pad) {
  if (auto error = check(path, headers, payload, pad))
    return *error;
  Layout layout;
  const uint64_t length = headers.opcode == ROCE_OPCODE_CNP ? ROCE_CNP_PAYLOAD : payload;
  layout.pad = pad < 0 ? static_cast<uint32_t>(-length & 3) : static_cast<uint32_t>(pad);
  layout.l3 = ROCE_ETH_LEN + ROCE_VLAN_LEN * static_cast<uint32_t>(path.tags.size());
  layout.bth = layout.l3 + network_length(path.network);
  layout.ext = layout.bth + ROCE_BTH_LEN;
  layout.payload = layout.ext + ROCE_EXT_LEN(roce_opcode_info[headers.opcode]);
  const uint64_t end = layout.payload + length + layout.pad + ROCE_ICRC_LEN;
  const uint64_t counted = end - layout.l3 - (path.network == Network::Ipv4 ? 0 : ROCE_IPV6_LEN);
  if (counted > kLargest)
    return Error{fmt::format("a payload of {} bytes makes a packet of {}", length, counted),
                 fmt::format("its length field holds at most {}", kLargest)};
  layout.payload_length = static_cast<uint32_t>(length);
  layout.end = static_cast<uint32_t>(end);
  return layout;
}

void write_ipv4(Writer &out, const Path &path, const Layout &layout) {
  out.put8(0x45);
  out.put8(path.tos);
  out.put16(layout.end - layout.l3);
  out.put16(path.ip_id);
  out.put16(0x4000); // DF
  out.put8(path.ttl);
  out.put8(ROCE_IPPROTO_UDP);
  out.put16(0);
  out.ipv4_address(path.src);
  out.ipv4_address(path.dst);
  uint8_t *ip = out.at(layout.l3);
  store16(ip + 10, roce_ipv4_checksum(ip));
}

// The GRH and the IPv6 header differ in the next header only.
void write_ipv6(Writer &out, const Path &path, const Layout &layout) {
  out.put32(6u << 28 | static_cast<uint32_t>(path.tos) << 20 | path.flow_label);
  out.put16(layout.end - layout.l3 - ROCE_IPV6_LEN);
  out.put8(path.network == Network::V1 ? ROCE_GRH_NEXT_BTH : ROCE_IPPROTO_UDP);
  out.put8(path.ttl);
  out.ipv6_address(path.src);
  out.ipv6_address(path.dst);
}

void write_udp(Writer &out, const Path &path, const Layout &layout) {
  out.put16(path.src_port);
  out.put16(path.dst_port);
  out.put16(layout.end - layout.bth + ROCE_UDP_LEN);
  out.put16(0);
}

void write_network(Writer &out, const Path &path, const Layout &layout) {
  if (path.network == Network::Ipv4)
    write_ipv4(out, path, layout);
  else
    write_ipv6(out, path, layout);
  if (path.network != Network::V1)
    write_udp(out, path, layout);
}

void write_bth(Writer &out, const Headers &h, uint32_t pad) {
  out.put8(h.opcode);
  out.put8((h.solicited ? 0x80u : 0) | (h.mig_req ? 0x40u : 0) | pad << 4 | h.tver);
  out.put16(h.pkey);
  out.put8((h.fecn ? ROCE_FECN : 0u) | (h.becn ? ROCE_BECN : 0u) | h.resv6);
  out.put24(h.dest_qp);
  out.put32((h.ack_req ? 0x80000000u : 0) | uint32_t{h.resv7} << 24 | h.psn);
}

// RETH and AtomicETH have these fields in common.
void write_memory(Writer &out, const Headers &h) {
  out.put64(h.va);
  out.put32(h.rkey);
}

// In the order of their bits in the opcode table, which is the order on the wire.
void write_extensions(Writer &out, const Headers &h) {
  const uint32_t info = roce_opcode_info[h.opcode];
  if (info & ROCE_HAS_RDETH)
    out.put32(h.ee_context);
  if (info & ROCE_HAS_DETH) {
    out.put32(h.qkey);
    out.put32(h.src_qp);
  }
  if (info & ROCE_HAS_XRCETH)
    out.put32(h.srq);
  if (info & ROCE_HAS_FETH)
    out.put32(static_cast<uint32_t>(h.flush_selectivity << 4 | h.flush_placement));
  if (info & ROCE_HAS_RETH) {
    write_memory(out, h);
    out.put32(h.dma_len);
  }
  if (info & ROCE_HAS_ATOMICETH) {
    write_memory(out, h);
    out.put64(h.swap_add);
    out.put64(h.compare);
  }
  if (info & ROCE_HAS_AETH)
    out.put32(static_cast<uint32_t>(h.syndrome) << 24 | h.msn);
  if (info & ROCE_HAS_ATOMICACKETH)
    out.put64(h.original);
  if (info & ROCE_HAS_IMMDT)
    out.put32(h.immediate);
  if (info & ROCE_HAS_IETH)
    out.put32(h.invalidate);
}

void write_icrc(uint8_t *frame, const Layout &layout) {
  roce_packet packet{};
  packet.l3 = layout.l3;
  packet.bth = layout.bth;
  packet.end = layout.end;
  icrc_write(frame, packet);
}

// The checksum covers the iCRC, which does not depend on it. A result of 0 is sent as 0xffff: 0
// means no checksum (RFC 768).
void write_udp_checksum(uint8_t *frame, const Path &path, const Layout &layout) {
  uint8_t *udp = frame + layout.bth - ROCE_UDP_LEN;
  const size_t addresses = path.network == Network::Ipv4 ? 8 : 32;
  const uint16_t sum =
      transport_checksum({udp - addresses, addresses}, ROCE_IPPROTO_UDP, {udp, frame + layout.end});
  store16(udp + 6, sum ? sum : 0xffff);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void write_headers(Writer &out, const Path &path, const Headers &headers, const Layout &layout) {
  out.ethernet(path.dst_mac, path.src_mac, path.tags, ethertype(path.network));
  write_network(out, path, layout);
  write_bth(out, headers, layout.pad);
  write_extensions(out, headers);
}

} // namespace

uint32_t overhead(const Path &path, uint8_t opcode) {
  return ROCE_ETH_LEN + ROCE_VLAN_LEN * static_cast<uint32_t>(path.tags.size()) +
         network_length(path.network) + ROCE_BTH_LEN + ROCE_EXT_LEN(roce_opcode_info[opcode]) +
         (opcode == ROCE_OPCODE_CNP ? ROCE_CNP_PAYLOAD : 0) + ROCE_ICRC_LEN;
}

Result<Frame> build(const Path &path, const Headers &headers, std::span<const uint8_t> payload,
                    int pad) {
  const Result<Layout> laid_out = lay_out(path, headers, payload.size(), pad);
  if (!laid_out)
    return laid_out.error();
  const Layout &layout = laid_out.get();

  Writer out(layout.end);
  write_headers(out, path, headers, layout);
  out.append(payload);
  out.zeros(layout.end - out.size()); // reserved bytes of a CNP, pad, room for the iCRC
  write_icrc(out.at(0), layout);
  if (path.udp_checksum && path.network != Network::V1)
    write_udp_checksum(out.at(0), path, layout);
  return Frame{out.take(), layout};
}

Result<Frame> build_headers(const Path &path, const Headers &headers, uint32_t payload, int pad) {
  const Result<Layout> laid_out = lay_out(path, headers, payload, pad);
  if (!laid_out)
    return laid_out.error();
  Writer out(laid_out.get().payload);
  write_headers(out, path, headers, laid_out.get());
  return Frame{out.take(), laid_out.get()};
}

bool is_multicast(const Address &address) {
  if (is_mapped(address))
    return (ntohl(address[3]) >> 28) == 0xe;
  return (ntohl(address[0]) >> 24) == 0xff;
}

Mac multicast_mac(Network network, const Address &group) {
  const uint32_t last = ntohl(group[3]);
  const auto byte = [last](unsigned shift) { return static_cast<uint8_t>(last >> shift); };
  if (network == Network::Ipv4)
    return {0x01, 0x00, 0x5e, static_cast<uint8_t>(byte(16) & 0x7f), byte(8), byte(0)};
  return {0x33, 0x33, byte(24), byte(16), byte(8), byte(0)};
}

Result<Mac> parse_mac(const std::string &text) {
  const Error error{fmt::format("\"{}\" is no MAC address", text), "like 02:00:00:00:00:01"};
  Mac mac{};
  if (text.size() != 3 * mac.size() - 1)
    return error;
  for (size_t i = 0; i < mac.size(); i++) {
    const int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);
    if (high < 0 || low < 0 || (i + 1 < mac.size() && text[3 * i + 2] != ':'))
      return error;
    mac[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

std::string mac_text(const Mac &mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

std::vector<uint8_t> counting_payload(uint32_t length) {
  std::vector<uint8_t> payload(length);
  for (uint32_t i = 0; i < length; i++)
    payload[i] = static_cast<uint8_t>(i);
  return payload;
}

} // namespace xr::packet
