// SPDX-License-Identifier: Apache-2.0
#include "packet/template.h"

#include <bit>
#include <cassert>
#include <map>
#include <mutex>
#include <numeric>

#include <fmt/format.h>

#include "packet/bytes.h"
#include "packet/icrc.h"
#include "packet/stamp.h"

namespace xr::packet {

namespace {

static_assert(std::endian::native == std::endian::little, "fields are swapped, the iCRC is not");

// Maximum bytes from the UDP source port to the constant bytes: UDP, BTH, RDETH, DETH and
// AtomicETH, and a stamp.
constexpr uint32_t kFarthest = ROCE_UDP_LEN + ROCE_BTH_LEN + 40 + kStampBytes;
using ByteTable = std::array<uint32_t, 256>;

// [n][x]: the effect on the CRC before the constant bytes of a change x in the byte n + 1 before
// it.
constexpr std::array<ByteTable, kFarthest> make_changes() {
  std::array<ByteTable, kFarthest> changes{};
  for (uint32_t x = 0; x < 256; x++) {
    uint32_t crc = x;
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    changes[0][x] = crc;
  }
  for (uint32_t n = 1; n < kFarthest; n++)
    for (uint32_t x = 0; x < 256; x++) {
      const uint32_t crc = changes[n - 1][x];
      changes[n][x] = changes[0][crc & 0xff] ^ crc >> 8;
    }
  return changes;
}

alignas(64) constexpr auto kChange = make_changes();

uint32_t through_zeros(uint32_t crc, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++)
    crc = kChange[0][crc & 0xff] ^ crc >> 8;
  return crc;
}

template <unsigned Bytes> void store_field(uint8_t *to, uint64_t value) {
  if constexpr (Bytes == 3) {
    to[0] = static_cast<uint8_t>(value >> 16);
    store_field<2>(to + 1, value);
  } else {
    const uint64_t swapped = __builtin_bswap64(value << (64 - 8 * Bytes));
    memcpy(to, &swapped, Bytes);
  }
}

uint64_t load_field(const uint8_t *from, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; i++)
    value = value << 8 | from[i];
  return value;
}

uint32_t load_icrc(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

void store_icrc(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof(value)); }

// Indexed by the bits of the opcode table, RDETH to IETH, which are in the order on the wire.
constexpr uint8_t kHeaderLength[] = {4, 8, 4, 4, 16, 28, 4, 8, 4, 4};

} // namespace

std::shared_ptr<const Template::Advance> Template::advance_over(uint32_t bytes) {
  static std::mutex mutex;
  static std::map<uint32_t, std::weak_ptr<const Advance>> known;
  const std::lock_guard lock(mutex);
  auto &entry = known[bytes];
  if (auto advance = entry.lock())
    return advance;
  auto advance = std::make_shared<Advance>();
  for (uint32_t byte = 0; byte < 4; byte++)
    for (uint32_t bit = 0; bit < 8; bit++) {
      ByteTable &table = (*advance)[byte];
      const uint32_t top = 1u << bit, crc = through_zeros(top << 8 * byte, bytes);
      for (uint32_t below = 0; below < top; below++)
        table[top | below] = table[below] ^ crc;
    }
  entry = advance;
  return advance;
}

Result<Template> Template::make(const Path &path, const Headers &headers,
                                std::span<const uint8_t> payload, int pad, bool stamped) {
  if (path.udp_checksum)
    return Error{"a template's frames have no UDP checksum", "send them with a checksum of 0"};
  if (stamped && payload.size() < kStampBytes)
    return Error{fmt::format("{} bytes of payload have no room for a stamp", payload.size()),
                 fmt::format("at least {}", kStampBytes)};
  Result<Frame> frame = build(path, headers, payload, pad);
  if (!frame)
    return frame.error();
  Template made;
  made.frame_ = std::move(frame.get());
  const Layout &layout = made.frame_.layout;
  made.constant_ = layout.payload + (stamped ? kStampBytes : 0);
  made.advance_ = advance_over(layout.end - ROCE_ICRC_LEN - made.constant_);
  made.icrc_ = load_icrc(made.frame_.bytes.data() + layout.end - ROCE_ICRC_LEN);
  made.find_places();
  made.parse();
  if (stamped) {
    made.find(made.sequence_, layout.payload + kStampSequence, 8);
    made.find(made.time_, layout.payload + kStampTime, 8);
  }
  return made;
}

Result<Template> Template::make_headers(const Path &path, const Headers &headers, uint32_t payload,
                                        int pad) {
  Result<Frame> frame = build_headers(path, headers, payload, pad);
  if (!frame)
    return frame.error();
  Template made;
  made.frame_ = std::move(frame.get());
  made.find_places();
  made.parse();
  return made;
}

uint8_t Template::opcode() const { return frame_.bytes[frame_.layout.bth]; }

uint32_t Template::offset_of(uint32_t header, uint32_t within) const {
  const uint32_t info = roce_opcode_info[opcode()];
  if (!(info & header))
    return 0;
  uint32_t offset = frame_.layout.ext + within;
  for (uint32_t i = 0, bit = ROCE_HAS_RDETH; bit != header; i++, bit <<= 1)
    offset += info & bit ? kHeaderLength[i] : 0;
  return offset;
}

template <typename To> void Template::find(To &place, uint32_t offset, uint32_t bytes) const {
  if (offset)
    place = {offset,
             static_cast<decltype(place.base)>(load_field(frame_.bytes.data() + offset, bytes))};
}

void Template::parse() {
  const uint8_t *bytes = frame_.bytes.data();
  const int found =
      roce_parse(bytes, bytes + frame_.bytes.size(), roce_swap16(ROCE_UDP_PORT), &parsed_);
  class_ = static_cast<roce_class>(roce_check_length(found, size(), &parsed_));
  parsed_.key.qp_kind &= ~0xffffffU;
}

void Template::find_places() {
  const uint32_t bth = frame_.layout.bth, info = roce_opcode_info[opcode()];
  if (bth - frame_.layout.l3 != ROCE_GRH_LEN) // RoCEv2
    find(src_port_, bth - ROCE_UDP_LEN, 2);
  find(bth1_, bth + 1, 1);
  flags_ = bth1_.base & 0x7f;
  find(dest_qp_, bth + 5, 3);
  find(psn_, bth + 8, 4);
  psn_flags_ = psn_.base & 0x7f000000;
  find(src_qp_, offset_of(ROCE_HAS_DETH, ROCE_DETH_SRCQP + 1), 3);
  find(immediate_, offset_of(ROCE_HAS_IMMDT, 0), 4);
  find(aeth_, offset_of(ROCE_HAS_AETH, 0), 4);
  find(dma_len_, offset_of(ROCE_HAS_RETH, ROCE_RETH_DMALEN), 4);
  find(va_, offset_of(info & (ROCE_HAS_RETH | ROCE_HAS_ATOMICETH), 0), 8);
  extends_ = src_qp_.offset || immediate_.offset || aeth_.offset || va_.offset;
}

// Returns the change of the CRC before the constant bytes.
template <unsigned Bytes, typename Value>
inline uint32_t Template::write(uint8_t *frame, const PlaceOf<Value> &place, uint64_t value) const {
  store_field<Bytes>(frame + place.offset, value);
  const uint64_t change = value ^ place.base;
  if (!change)
    return 0;
  const ByteTable *table = &kChange[constant_ - place.offset - Bytes];
  uint32_t delta = 0;
  // from the last byte; GCC 12 does not unroll with -O2 alone, which is a third slower
#pragma GCC unroll 8
  for (unsigned i = 0; i < Bytes; i++)
    delta ^= table[i][change >> 8 * i & 0xff];
  return delta;
}

inline uint32_t Template::after_constant(uint32_t delta) const {
  const Advance &advance = *advance_;
  return advance[0][delta & 0xff] ^ advance[1][delta >> 8 & 0xff] ^ advance[2][delta >> 16 & 0xff] ^
         advance[3][delta >> 24];
}

uint32_t Template::write_extensions(uint8_t *frame, const Fields &fields) const {
  uint32_t delta = 0;
  if (src_qp_.offset)
    delta ^= write<3>(frame, src_qp_, fields.src_qp);
  if (immediate_.offset)
    delta ^= write<4>(frame, immediate_, fields.immediate);
  if (aeth_.offset)
    delta ^= write<4>(frame, aeth_, fields.aeth);
  if (dma_len_.offset)
    delta ^= write<4>(frame, dma_len_, fields.dma_len);
  if (va_.offset)
    delta ^= write<8>(frame, va_, fields.va);
  return delta;
}

void Template::stamp(uint8_t *frame, const Fields &fields) const {
  uint32_t delta = 0;
  if (src_port_.offset)
    delta ^= write<2>(frame, src_port_, fields.src_port);
  delta ^= write<1>(frame, bth1_, flags_ | (fields.solicited ? 0x80u : 0));
  delta ^= write<3>(frame, dest_qp_, fields.dest_qp);
  delta ^= write<4>(frame, psn_,
                    psn_flags_ | (fields.psn & 0xffffff) | (fields.ack_req ? 0x80000000u : 0));
  if (extends_)
    delta ^= write_extensions(frame, fields);
  store_icrc(frame + frame_.layout.end - ROCE_ICRC_LEN, icrc_ ^ after_constant(delta));
}

void Template::write_headers(uint8_t *frame, const Fields &fields) const {
  memcpy(frame, frame_.bytes.data(), frame_.layout.payload);
  if (src_port_.offset)
    store_field<2>(frame + src_port_.offset, fields.src_port);
  frame[bth1_.offset] = static_cast<uint8_t>(flags_ | (fields.solicited ? 0x80u : 0));
  store_field<3>(frame + dest_qp_.offset, fields.dest_qp);
  store_field<4>(frame + psn_.offset,
                 psn_flags_ | (fields.psn & 0xffffff) | (fields.ack_req ? 0x80000000u : 0));
  if (!extends_)
    return;
  if (src_qp_.offset)
    store_field<3>(frame + src_qp_.offset, fields.src_qp);
  if (immediate_.offset)
    store_field<4>(frame + immediate_.offset, fields.immediate);
  if (aeth_.offset)
    store_field<4>(frame + aeth_.offset, fields.aeth);
  if (dma_len_.offset)
    store_field<4>(frame + dma_len_.offset, fields.dma_len);
  if (va_.offset)
    store_field<8>(frame + va_.offset, fields.va);
}

void Template::write_whole(std::vector<uint8_t> &frame, const Fields &fields) const {
  if (advance_) {
    frame = frame_.bytes;
    return stamp(frame.data(), fields);
  }
  const Layout &layout = frame_.layout;
  frame.assign(layout.end, 0);
  write_headers(frame.data(), fields);
  if (opcode() != ROCE_OPCODE_CNP)
    std::iota(frame.begin() + layout.payload,
              frame.begin() + layout.payload + layout.payload_length, uint8_t{0});
  store_icrc(frame.data() + layout.end - ROCE_ICRC_LEN,
             icrc_value(frame.data(), layout.l3, layout.bth, layout.end));
}

void Template::set_stamp(uint8_t *frame, uint64_t sequence, uint64_t time_ns) const {
  const uint32_t delta = write<8>(frame, sequence_, sequence) ^ write<8>(frame, time_, time_ns);
  uint8_t *icrc = frame + frame_.layout.end - ROCE_ICRC_LEN;
  store_icrc(icrc, load_icrc(icrc) ^ after_constant(delta));
}

void Template::set_payload(uint8_t *frame, std::span<const uint8_t> payload) const {
  const Layout &layout = frame_.layout;
  assert(payload.size() == layout.payload_length);
  memcpy(frame + layout.payload, payload.data(), payload.size());
  store_icrc(frame + layout.end - ROCE_ICRC_LEN,
             icrc_value(frame, layout.l3, layout.bth, layout.end));
}

void Template::set_byte(uint8_t *frame, uint32_t offset, uint8_t value) const {
  const Layout &layout = frame_.layout;
  assert(offset >= layout.bth && offset < layout.payload);
  const uint8_t change = frame[offset] ^ value;
  frame[offset] = value;
  if (offset == layout.bth + 4) // FECN, BECN and reserved bits count as ones
    return;
  uint8_t *icrc = frame + layout.end - ROCE_ICRC_LEN;
  store_icrc(icrc, load_icrc(icrc) ^ after_constant(kChange[constant_ - offset - 1][change]));
}

// Starts from the correct iCRC: a second call must not restore it.
void Template::spoil_icrc(uint8_t *frame) const {
  const Layout &layout = frame_.layout;
  store_icrc(frame + layout.end - ROCE_ICRC_LEN,
             ~icrc_value(frame, layout.l3, layout.bth, layout.end));
}

} // namespace xr::packet
