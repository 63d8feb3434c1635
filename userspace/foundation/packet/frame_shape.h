// SPDX-License-Identifier: Apache-2.0
// Frames of any headers as plain data: the bytes of the headers, fields that vary from frame to
// frame, and what follows from a frame's size and bytes. Offsets and sizes are in bytes from the
// start of the frame, without FCS; positions of fields are in bits, the most significant first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace xr::packet {

using Wide = unsigned __int128; // as wide as the widest field, an IPv6 address

// A field that varies. Frame n has the value of n mod `count`.
struct Variation {
  enum class Kind : uint8_t { Values, Increment, Random };
  uint32_t bit = 0, bits = 0; // position and width, at most 128
  Kind kind = Kind::Increment;
  std::vector<Wide> values = {}; // Values, which are as many as `count`
  Wide start = 0;                // Increment; Random: the smallest
  Wide step = 0;                 // Increment, modulo the width: to decrement, minus the step
  Wide span = 0;                 // Random: largest - smallest, less than 2^64
  uint64_t seed = 0;             // Random
  uint64_t count = 1;
  bool operator==(const Variation &) const = default;
  Wide value(uint64_t number) const;
  // Whether any frame has this value. With increments that pass the field's end twice, any may be.
  bool takes(Wide value) const;
};

// 16 bits at `at`: the bytes from `from` to the end of the frame.
struct LengthField {
  uint32_t at = 0, from = 0;
  bool operator==(const LengthField &) const = default;
};

// An Internet checksum (RFC 1071) at `at` over [from, to).
struct ChecksumField {
  uint32_t at = 0, from = 0;
  uint32_t to = 0;                          // 0: the end of the frame
  uint32_t addresses = 0, addresses_of = 0; // pseudo-header: offset, and bytes; 0: it has none
  uint32_t destination = 0;                 // not 0: its IPv6 destination is the address here
  uint8_t protocol = 0;                     // of the pseudo-header
  bool never_zero = false;                  // UDP, where 0 means that there is none
  bool bad = false;                         // wrong on purpose
  bool operator==(const ChecksumField &) const = default;
};

// An iCRC in the last four bytes, from the IP header at `l3`; the BTH is at `bth`.
struct IcrcField {
  uint32_t l3 = 0, bth = 0;
  bool operator==(const IcrcField &) const = default;
};

// What follows the headers. A word has 16 bits.
struct Fill {
  enum class Kind : uint8_t { Repeat, Once, ByteUp, ByteDown, WordUp, WordDown };
  Kind kind = Kind::Repeat;
  std::vector<uint8_t> pattern = {0}; // Repeat; Once, then zeros
  bool operator==(const Fill &) const = default;
};

struct FrameShape {
  std::vector<uint8_t> headers;
  std::vector<Variation> variations;
  std::vector<LengthField> lengths;
  std::vector<ChecksumField> checksums; // written in this order: those inside of others first
  std::optional<IcrcField> icrc;
  Fill fill;
  bool stamped = false; // with a trailer (trailer.h) where there is room
  bool operator==(const FrameShape &) const = default;

  // The smallest frame that has the headers, and the iCRC.
  uint32_t shortest() const { return static_cast<uint32_t>(headers.size()) + (icrc ? 4 : 0); }
};

// What follows the headers, from its first byte.
void fill(const Fill &how, std::span<uint8_t> to);

void set_bits(std::span<uint8_t> bytes, uint32_t bit, uint32_t bits, Wide value);
Wide get_bits(std::span<const uint8_t> bytes, uint32_t bit, uint32_t bits);

} // namespace xr::packet
