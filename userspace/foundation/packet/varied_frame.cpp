// SPDX-License-Identifier: Apache-2.0
#include "packet/varied_frame.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "base/draw.h"
#include "packet/bytes.h"
#include "packet/icrc.h"

namespace xr::packet {

namespace {

Wide below(uint32_t bits, Wide value) {
  return bits < 128 ? value & ((Wide{1} << bits) - 1) : value;
}

uint16_t in_memory(uint16_t value) {
  if constexpr (std::endian::native == std::endian::little)
    return static_cast<uint16_t>(value << 8 | value >> 8);
  return value;
}

// The sum in the order of this machine's memory, four bytes at a time: the checksum does not depend
// on the order (RFC 1071, 2 B), and compilers make vectors of it.
uint64_t sum_of(uint64_t sum, const uint8_t *from, size_t bytes) {
  for (; bytes >= 4; bytes -= 4, from += 4) {
    uint32_t word;
    std::memcpy(&word, from, 4);
    sum += word;
  }
  uint32_t last = 0;
  std::memcpy(&last, from, bytes);
  return sum + last;
}

void write_checksum(const ChecksumField &field, uint32_t size, uint8_t *out) {
  const uint32_t to = field.to ? field.to : size;
  std::memset(out + field.at, 0, 2);
  uint64_t sum = sum_of(0, out + field.from, to - field.from);
  if (field.addresses_of) {
    const size_t address = field.addresses_of / 2;
    sum += in_memory(field.protocol) + in_memory(static_cast<uint16_t>(to - field.from));
    sum = sum_of(sum, out + field.addresses, address);
    sum = sum_of(sum, out + (field.destination ? field.destination : field.addresses + address),
                 address);
  }
  uint16_t value = checksum_fold(sum);
  if (!value && field.never_zero)
    value = 0xffff;
  if (field.bad) {
    const auto wrong = static_cast<uint16_t>(value ^ 0x5555);
    value = wrong ? wrong : static_cast<uint16_t>(value ^ 0xaaaa);
  }
  std::memcpy(out + field.at, &value, 2);
}

} // namespace

void fill(const Fill &how, std::span<uint8_t> to) {
  for (size_t i = 0; i < to.size(); i++) {
    const size_t word = i / 2, shift = i % 2 ? 0 : 8;
    switch (how.kind) {
    case Fill::Kind::Repeat:
      to[i] = how.pattern.empty() ? 0 : how.pattern[i % how.pattern.size()];
      break;
    case Fill::Kind::Once:
      to[i] = i < how.pattern.size() ? how.pattern[i] : 0;
      break;
    case Fill::Kind::ByteUp:
      to[i] = static_cast<uint8_t>(i);
      break;
    case Fill::Kind::ByteDown:
      to[i] = static_cast<uint8_t>(0xff - i);
      break;
    case Fill::Kind::WordUp:
      to[i] = static_cast<uint8_t>(word >> shift);
      break;
    case Fill::Kind::WordDown:
      to[i] = static_cast<uint8_t>((0xffff - word) >> shift);
      break;
    }
  }
}

void set_bits(std::span<uint8_t> bytes, uint32_t bit, uint32_t bits, Wide value) {
  while (bits) {
    const uint32_t last = bit + bits - 1, shift = 7 - last % 8;
    const uint32_t take = std::min(bits, 8 - shift);
    const uint32_t mask = ((1U << take) - 1) << shift;
    uint8_t &byte = bytes[last / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint32_t>(value) << shift & mask));
    value >>= take;
    bits -= take;
  }
}

Wide get_bits(std::span<const uint8_t> bytes, uint32_t bit, uint32_t bits) {
  Wide value = 0;
  for (uint32_t i = bit; i < bit + bits; i++)
    value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
  return value;
}

Wide Variation::value(uint64_t number) const {
  const uint64_t which = count > 1 ? number % count : 0;
  switch (kind) {
  case Kind::Values:
    return values[which];
  case Kind::Increment:
    return below(bits, start + which * step);
  case Kind::Random:
    break;
  }
  return start + draw_below(seed, which, static_cast<uint64_t>(span) + 1);
}

bool Variation::takes(Wide wanted) const {
  if (kind == Kind::Values)
    return std::ranges::find(values, wanted) != values.end();
  const Wide after = below(bits, wanted - start), before = below(bits, start - wanted);
  if (kind == Kind::Random)
    return after <= span;
  const Wide up = below(bits, step), down = below(bits, Wide{0} - step);
  if (!up || count < 2)
    return !after;
  if (count - 1 > below(bits, ~Wide{0}) / std::min(up, down))
    return true;
  return (after % up == 0 && after / up < count) || (before % down == 0 && before / down < count);
}

VariedFrame::VariedFrame(FrameShape shape, uint32_t largest)
    : shape_(std::move(shape)), bytes_(std::max(largest, shape_.shortest())) {
  std::ranges::copy(shape_.headers, bytes_.begin());
  fill(shape_.fill, std::span(bytes_).subspan(shape_.headers.size()));
}

bool VariedFrame::stamped(uint32_t size) const {
  return shape_.stamped && size >= shape_.shortest() + kTrailerBytes;
}

void VariedFrame::write(uint64_t number, uint32_t size, std::span<uint8_t> out,
                        const Trailer &stamp) const {
  assert(size >= shape_.shortest() && size <= bytes_.size() && size <= out.size());
  std::memcpy(out.data(), bytes_.data(), size);
  for (const Variation &field : shape_.variations)
    set_bits(out, field.bit, field.bits, field.value(number));
  for (const LengthField &field : shape_.lengths)
    store16(out.data() + field.at, static_cast<uint16_t>(size - field.from));
  const uint32_t icrc = shape_.icrc ? ROCE_ICRC_LEN : 0;
  if (stamped(size))
    write_trailer(out.data() + size - icrc - kTrailerBytes, stamp);
  // It counts no checksum, and a checksum of UDP counts it.
  if (icrc) {
    const uint32_t value = icrc_value(out.data(), shape_.icrc->l3, shape_.icrc->bth, size);
    for (uint32_t i = 0; i < icrc; i++)
      out[size - icrc + i] = static_cast<uint8_t>(value >> 8 * i);
  }
  for (const ChecksumField &field : shape_.checksums)
    write_checksum(field, size, out.data());
}

} // namespace xr::packet
