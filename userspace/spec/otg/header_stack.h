// SPDX-License-Identifier: Apache-2.0
// The headers of a frame so far, and how each kind is read and appended.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "otg/object.h"
#include "otg/read_headers.h"
#include "otg/read_patterns.h"
#include "packet/frame_shape.h"

namespace xr::otg {

inline constexpr uint16_t kVlanType = 0x8100;
inline constexpr uint8_t kTcp = 6, kUdp = 17;

// Reads one header after the other and appends it to the shape.
class HeaderStack {
public:
  HeaderStack(Object &flow, ReadHeaders &made) : flow_(flow), made_(made), shape_(made.shape) {}

  void read(Object &header);
  void finish();

private:
  // A type or protocol that the next header decides, at `bit`.
  struct Pending {
    uint32_t bit = 0;
    bool ether = true; // an EtherType of 16 bits; false: a protocol of 8
    packet::Wide otherwise = 0;
  };

  uint32_t size() const { return static_cast<uint32_t>(shape_.headers.size()); }
  uint32_t put(const Pattern &pattern, uint32_t bits);
  uint32_t put(packet::Wide value, uint32_t bits) { return put(Pattern{.value = value}, bits); }
  Pattern take(Object &object, const Field &field);
  uint32_t type(Object &object, const Field &field);
  void resolve(std::string_view next);
  void swap(uint32_t a, uint32_t b, uint32_t bits) { made_.swaps.push_back({a, b, bits}); }
  void checksum(Object &object, const char *key, uint32_t from, uint32_t to, uint8_t protocol);
  void ports(Object &object, bool both);

  void ethernet(Object &object);
  void vlan(Object &object);
  void ipv4(Object &object);
  void priority(Object &object);
  void options(Object &object);
  void ipv6(Object &object);
  void udp(Object &object);
  void tcp(Object &object);
  void gre(Object &object);
  void vxlan(Object &object);
  void gtpv1(Object &object);
  void arp(Object &object);
  void icmp(Object &object);
  void custom(Object &object);
  void pfcpause(Object &object);
  void ethernetpause(Object &object);

  struct Kind {
    const char *name;
    const char *what;
    void (HeaderStack::*read)(Object &); // nullptr: not supported
    uint16_t ether;                      // 0: none
    int protocol;                        // of IP; -1: none
  };
  static constexpr size_t kKinds = 25;
  static const std::array<Kind, kKinds> kinds;

  Object &flow_;
  ReadHeaders &made_;
  packet::FrameShape &shape_;
  uint32_t bits_ = 0; // so far
  std::optional<Pending> pending_;
  std::optional<uint32_t> l3_; // of the innermost IP header
  bool l3_is_ipv4_ = false;
  std::string_view last_; // name of the header before
  bool icrc_wanted_ = false;
  std::vector<packet::ChecksumField> checksums_;
};

} // namespace xr::otg
