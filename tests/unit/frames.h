// SPDX-License-Identifier: Apache-2.0
// Frames for tests. A default-built frame is a complete and consistent RoCEv2/IPv4 packet; a test
// sets only what differs. Fields that must not affect accounting (checksums, iCRC, P_Key, memory
// addresses) have fixed non-zero bytes, so that reading a wrong offset fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "roce/parse.h"

namespace xr::test {

using Bytes = std::vector<uint8_t>;

Bytes from_hex(const std::string &hex);

struct Frame {
  Bytes bytes;         // what is at hand
  uint32_t length = 0; // on the wire; more than bytes.size() in a frame that was cut
  uint32_t l3 = 0;
  uint32_t bth = 0;
  uint32_t ext = 0; // first extension header
  uint32_t end = 0; // after the iCRC, before the frame's padding
};

class FrameBuilder {
public:
  explicit FrameBuilder(uint8_t opcode) : opcode_(opcode) {}

  // The last byte of 192.0.2.x or 2001:db8::x.
  FrameBuilder &from(uint8_t host) { return src_ = host, *this; }
  FrameBuilder &to(uint8_t host) { return dst_ = host, *this; }

  FrameBuilder &ipv4() { return net_ = Net::V4, *this; }
  FrameBuilder &ipv6() { return net_ = Net::V6, *this; }
  FrameBuilder &v1() { return net_ = Net::V1, *this; }
  // The first kNetworks: IPv4, IPv6, RoCEv1, IPv4 with options.
  static constexpr int kNetworks = 4;
  FrameBuilder &over(int network);
  FrameBuilder &mapped() { return mapped_ = true, *this; } // ::ffff:192.0.2.x for IPv6 or GRH
  FrameBuilder &vlan(uint16_t tpid) { return vlans_.push_back(tpid), *this; }
  // 2: an outer tag of 802.1ad, then one of 802.1Q.
  FrameBuilder &tags(int count);
  FrameBuilder &ethertype(uint16_t type) { return ethertype_ = type, *this; }

  FrameBuilder &ecn(uint8_t codepoint) { return ecn_ = codepoint, *this; }
  FrameBuilder &ip_version(uint8_t v) { return ip_version_ = v, *this; }
  FrameBuilder &ip_proto(uint8_t next) { return proto_ = next, *this; }
  FrameBuilder &ip_options(uint8_t words) { return ip_options_ = words, *this; }
  FrameBuilder &ip_fragment(uint16_t flags_and_offset) { return frag_ = flags_and_offset, *this; }
  // An IPv6 extension header; `words` of 8 bytes beyond the first.
  FrameBuilder &extension(uint8_t type, uint8_t words = 0);
  // IPv6 fragment header with these offset and M bits, as on the wire.
  FrameBuilder &fragment(uint16_t offset_and_more);

  FrameBuilder &port(uint16_t port) { return port_ = port, *this; }
  FrameBuilder &qp(uint32_t qpn) { return qp_ = qpn, *this; }
  FrameBuilder &psn(uint32_t psn) { return psn_ = psn, *this; }
  FrameBuilder &tver(uint8_t tver) { return tver_ = tver, *this; }
  // BTH bytes 1 (SE and MigReq), 4 and 8, and the P_Key.
  FrameBuilder &flags(uint8_t bits) { return flags_ = bits, *this; }
  FrameBuilder &marks(uint8_t byte) { return marks_ = byte, *this; }
  FrameBuilder &ack(uint8_t byte) { return ack_ = byte, *this; }
  FrameBuilder &pkey(uint16_t pkey) { return pkey_ = pkey, *this; }
  FrameBuilder &pad(uint8_t pad) { return pad_ = pad, *this; }
  FrameBuilder &payload(uint32_t bytes) { return payload_ = Bytes(bytes, 0x70), *this; }
  FrameBuilder &payload(Bytes bytes) { return payload_ = std::move(bytes), *this; }
  FrameBuilder &dma_len(uint32_t bytes) { return dma_len_ = bytes, *this; }
  FrameBuilder &syndrome(uint8_t syndrome) { return syndrome_ = syndrome, *this; }
  FrameBuilder &src_qp(uint32_t qpn) { return src_qp_ = qpn, *this; }

  // Bytes that the UDP length or the GRH's PayLen claims more (or fewer) than there are.
  FrameBuilder &claim(int delta) { return claim_ = delta, *this; }
  FrameBuilder &udp_length(int length) { return udp_length_ = length, *this; }
  // Bytes after the iCRC: Ethernet padding.
  FrameBuilder &trailer(uint32_t bytes) { return trailer_ = bytes, *this; }
  // Only so many bytes are at hand, as after a capture with a snap length.
  FrameBuilder &snap(uint32_t bytes) { return snap_ = bytes, *this; }

  Frame build() const;

private:
  enum class Net { V4, V6, V1 };
  struct Extension {
    uint8_t type;
    uint8_t words;
    uint16_t fragment;
  };

  void network(Bytes &out, uint32_t transport_bytes) const;
  void address6(Bytes &out, uint8_t host) const;
  Bytes transport() const;
  Bytes extension_headers() const;

  uint8_t opcode_;
  uint8_t src_ = 1, dst_ = 2;
  Net net_ = Net::V4;
  bool mapped_ = false;
  std::vector<uint16_t> vlans_;
  int ethertype_ = -1;
  uint8_t ecn_ = 2;
  int ip_version_ = -1;
  int proto_ = -1;
  uint8_t ip_options_ = 0;
  uint16_t frag_ = 0x4000; // DF
  std::vector<Extension> extensions_;
  uint16_t port_ = ROCE_UDP_PORT;
  uint32_t qp_ = 0x11, psn_ = 0;
  uint8_t tver_ = 0, pad_ = 0;
  uint8_t flags_ = 0x40; // MigReq
  uint8_t marks_ = 0x10; // resv6a, as a Huawei NIC sends it
  uint8_t ack_ = 0x80;   // AckReq
  uint16_t pkey_ = 0xffff;
  Bytes payload_;
  uint32_t dma_len_ = 0;
  uint8_t syndrome_ = 0x1f;
  uint32_t src_qp_ = 0x22;
  int claim_ = 0, udp_length_ = -1;
  uint32_t trailer_ = 0, snap_ = ~0u;
};

// A frame through include/roce/parse.h as a program or the analyser calls it.
struct Parsed {
  roce_class class_ = ROCE_CLASS_MAX;
  roce_packet packet{};
};

Parsed parse(const Frame &frame, uint16_t port = ROCE_UDP_PORT);

// Every opcode; gaps, rewinds and repeats; ACKs, NAKs and a CNP; frames that are no RoCE, fragments
// and malformed ones.
std::vector<FrameBuilder> frame_kinds();

} // namespace xr::test
