// SPDX-License-Identifier: Apache-2.0
// Writes big-endian fields in sequence; the Internet checksum (RFC 1071).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "packet/frame.h"
#include "roce/parse.h"

namespace xr::packet {

class Writer {
public:
  explicit Writer(size_t capacity) { bytes_.reserve(capacity); }

  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  uint8_t *at(uint32_t offset) { return bytes_.data() + offset; }
  std::vector<uint8_t> take() { return std::move(bytes_); }

  void put8(uint32_t value) { bytes_.push_back(static_cast<uint8_t>(value)); }
  void put16(uint32_t value) { put(value, 2); }
  void put24(uint32_t value) { put(value, 3); }
  void put32(uint32_t value) { put(value, 4); }
  void put64(uint64_t value) { put(value, 8); }
  void zeros(size_t count) { bytes_.resize(bytes_.size() + count); }
  void append(std::span<const uint8_t> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }

  void ipv4_address(const Address &address) { words(address, 3); }
  void ipv6_address(const Address &address) { words(address, 0); }
  void ethernet(const Mac &dst, const Mac &src, const std::vector<Tag> &tags, uint16_t ethertype);

private:
  void put(uint64_t value, int count) {
    for (int i = count - 1; i >= 0; i--)
      put8(static_cast<uint32_t>(value >> (8 * i)));
  }
  void words(const Address &address, size_t first) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(address.data() + first);
    append({bytes, 4 * (address.size() - first)});
  }

  std::vector<uint8_t> bytes_;
};

inline void Writer::ethernet(const Mac &dst, const Mac &src, const std::vector<Tag> &tags,
                             uint16_t ethertype) {
  append(dst);
  append(src);
  for (const Tag &tag : tags) {
    put16(tag.tpid);
    put16(tag.tci);
  }
  put16(ethertype);
}

inline void store16(uint8_t *to, uint16_t value) {
  to[0] = static_cast<uint8_t>(value >> 8);
  to[1] = static_cast<uint8_t>(value);
}

// Adds `bytes` to `sum`, the sum of an even number of bytes.
inline uint64_t checksum_add(uint64_t sum, std::span<const uint8_t> bytes) {
  size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2)
    sum += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  return i < bytes.size() ? sum + static_cast<uint32_t>(bytes[i] << 8) : sum;
}

inline uint16_t checksum_fold(uint64_t sum) {
  while (sum >> 16)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Checksum of a UDP or ICMPv6 message. `addresses`: source and destination as in the IP header. The
// other fields of the pseudo-header have the same sum over IPv4 (RFC 768) and IPv6 (RFC 8200, 8.1).
inline uint16_t transport_checksum(std::span<const uint8_t> addresses, uint8_t protocol,
                                   std::span<const uint8_t> message) {
  const uint64_t sum = checksum_add(protocol + message.size(), addresses);
  return checksum_fold(checksum_add(sum, message));
}

} // namespace xr::packet
