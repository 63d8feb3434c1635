// SPDX-License-Identifier: Apache-2.0
// The headers of a frame so far, and how each is read by its table and appended.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "otg/header_fields.h"
#include "otg/object.h"
#include "otg/read_headers.h"
#include "otg/read_patterns.h"
#include "packet/frame_shape.h"

namespace xr::otg {

inline constexpr uint16_t kVlanType = 0x8100;

// Reads one header after the other and appends it to the shape.
class HeaderStack {
public:
  HeaderStack(Object &flow, ReadHeaders &made) : flow_(flow), made_(made), shape_(made.shape) {}

  void read(Object &header);
  void finish();

  // For header_kinds.cpp: fields that are more than a row of a table.
  void custom(Object &object, const HeaderField &field);
  void ethernet_dst(Object &object, const HeaderField &field);
  void tpid(Object &object, const HeaderField &field);
  void vxlan_port(Object &object, const HeaderField &field);
  void priority(Object &object, const HeaderField &field);
  void options(Object &object, const HeaderField &field);
  void ipv6_dst(Object &object, const HeaderField &field);
  void pad_tlv(Object &object, const HeaderField &field);
  void segment(Object &object, const HeaderField &field);
  void usids(Object &object, const HeaderField &field);
  void hexadecimal(Object &object, const HeaderField &field);

private:
  using Role = HeaderField::Role;

  // What the next header decides, at `bit`.
  struct Pending {
    uint32_t bit = 0;
    const HeaderField *field = nullptr;
  };

  uint32_t size() const { return static_cast<uint32_t>(shape_.headers.size()); }
  uint32_t put(const Pattern &pattern, uint32_t bits);
  uint32_t put(packet::Wide value, uint32_t bits) { return put(Pattern{.value = value}, bits); }
  Pattern take(Object &object, const HeaderField &field);
  void resolve(const HeaderKind *next);
  void swap(uint32_t a, uint32_t b, uint32_t bits) { made_.swaps.push_back({a, b, bits}); }
  void checksum(Object &object, const HeaderField &field);

  void fields(Object &object, std::span<const HeaderField> fields);
  void field(Object &object, const HeaderField &field);
  void automatic(Object &object, const HeaderField &field);
  void end_of_header(const Object &header, const HeaderKind &kind);

  Object &flow_;
  ReadHeaders &made_;
  packet::FrameShape &shape_;
  uint32_t bits_ = 0; // so far
  std::optional<Pending> pending_;
  std::optional<uint32_t> l3_; // of the innermost IP header
  bool l3_is_ipv4_ = false;
  std::optional<uint32_t> route_end_; // where the last address of its routing header is
  bool route_of_usids_ = false;       // its last address is in no frame
  const HeaderKind *last_ = nullptr;  // the header before
  bool icrc_wanted_ = false;
  std::vector<packet::ChecksumField> checksums_;

  // While a header is read.
  uint32_t start_ = 0;
  bool any_flag_ = false;
  std::optional<Pending> words_;
  std::optional<size_t> own_sum_; // in checksums_
};

// The fields of an IPv4 header's priority, by how it is written.
std::span<const HeaderField> tos_fields();
std::span<const HeaderField> dscp_fields();

} // namespace xr::otg
