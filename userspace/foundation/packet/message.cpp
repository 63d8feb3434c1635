// SPDX-License-Identifier: Apache-2.0
#include "packet/message.h"

#include <algorithm>
#include <array>

namespace xr::packet {

namespace {

// Operations (opcode without transport) of a verb's packets. FIRST, MIDDLE and LAST are kNone for
// verbs without segmentation.
struct Row {
  std::string_view name;
  uint8_t only, first, middle, last;
};

constexpr uint8_t kNone = 0xff;

#define XR_CUT_(verb, name, only, first, middle, last)                                             \
  {name, ROCE_RC_##only, ROCE_RC_##first, ROCE_RC_##middle, ROCE_RC_##last},
#define XR_WHOLE_(verb, name, only) {name, ROCE_RC_##only, kNone, kNone, kNone},
constexpr std::array<Row, kVerbs> kRows{{XR_VERBS(XR_CUT_, XR_WHOLE_)}};
#undef XR_CUT_
#undef XR_WHOLE_

constexpr uint32_t kWord = 8; // bytes that an atomic moves

constexpr Row kReadResponse{"", ROCE_RC_RDMA_READ_RESPONSE_ONLY, ROCE_RC_RDMA_READ_RESPONSE_FIRST,
                            ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, ROCE_RC_RDMA_READ_RESPONSE_LAST};

const Row &row(Verb verb) { return kRows[static_cast<size_t>(verb)]; }

bool carries_data(Verb verb) { return row(verb).first != kNone; }

// 0 bytes also need one packet.
uint32_t pieces(uint64_t size, uint32_t pmtu) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, size / pmtu + (size % pmtu != 0)));
}

Segment piece(const Row &row, uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index) {
  const uint32_t count = pieces(size, pmtu);
  const auto opcode = [&](uint8_t op) { return static_cast<uint8_t>(transport | op); };
  if (count == 1)
    return {opcode(row.only), static_cast<uint32_t>(size)};
  if (index + 1 == count)
    return {opcode(row.last), static_cast<uint32_t>(size - uint64_t{index} * pmtu)};
  return {opcode(index == 0 ? row.first : row.middle), pmtu};
}

} // namespace

std::string_view verb_name(Verb verb) { return row(verb).name; }

uint64_t verb_properties(Verb verb) { return roce_opcode_properties[row(verb).only]; }

std::string_view transport_name(uint8_t transport) {
  switch (transport & ROCE_TRANSPORT_MASK) {
  case ROCE_RC:
    return "rc";
  case ROCE_UC:
    return "uc";
  case ROCE_RD:
    return "rd";
  case ROCE_UD:
    return "ud";
  case ROCE_XRC:
    return "xrc";
  default:
    return "?";
  }
}

bool transport_has(uint8_t transport, Verb verb) {
  return (roce_opcode_info[transport | row(verb).only] & ROCE_OP_KNOWN) != 0;
}

uint32_t packets_of(Verb verb, uint64_t size, uint32_t pmtu) {
  return carries_data(verb) ? pieces(size, pmtu) : 1;
}

uint32_t psns_of(Verb verb, uint64_t size, uint32_t pmtu) {
  return verb == Verb::Read || carries_data(verb) ? pieces(size, pmtu) : 1;
}

uint64_t moved_bytes(Verb verb, uint64_t size) {
  const uint64_t properties = verb_properties(verb);
  if (properties & ROCE_ATOMIC_OPS)
    return kWord;
  return properties & ROCE_OP_FLUSH ? 0 : size;
}

uint32_t dma_length(Verb verb, uint64_t size) {
  return verb_properties(verb) & ROCE_OP_ATOMIC_WRITE ? kWord : static_cast<uint32_t>(size);
}

Segment segment(uint8_t transport, Verb verb, uint64_t size, uint32_t pmtu, uint32_t index) {
  if (!carries_data(verb))
    return {static_cast<uint8_t>(transport | row(verb).only),
            verb_properties(verb) & ROCE_OP_ATOMIC_WRITE ? kWord : 0};
  if (transport == ROCE_UD)
    return {static_cast<uint8_t>(transport | row(verb).only), static_cast<uint32_t>(size)};
  return piece(row(verb), transport, size, pmtu, index);
}

uint32_t payload_of(uint8_t opcode, uint64_t size) {
  const uint64_t properties = roce_opcode_properties[opcode];
  if (properties & ROCE_OP_ATOMIC_WRITE)
    return kWord;
  const bool any = !(properties & ROCE_OP_KNOWN) || (properties & ROCE_DATA_OPS);
  return any ? static_cast<uint32_t>(size) : 0;
}

Segment read_response(uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index) {
  return piece(kReadResponse, transport, size, pmtu, index);
}

} // namespace xr::packet
