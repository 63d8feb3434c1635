// SPDX-License-Identifier: Apache-2.0
#include "packet/message.h"

#include <algorithm>
#include <array>

namespace xr::packet {

namespace {

// Operations (opcode without transport) of a verb's packets. Those of a single form have no FIRST.
struct Row {
  std::string_view name;
  uint8_t only, first, middle, last;
};

constexpr uint8_t kNone = 0xff;

constexpr std::array<Row, kVerbs> kRows{{
    {"send", ROCE_RC_SEND_ONLY, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_MIDDLE, ROCE_RC_SEND_LAST},
    {"send-imm", ROCE_RC_SEND_ONLY_WITH_IMMEDIATE, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_MIDDLE,
     ROCE_RC_SEND_LAST_WITH_IMMEDIATE},
    {"send-inv", ROCE_RC_SEND_ONLY_WITH_INVALIDATE, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_MIDDLE,
     ROCE_RC_SEND_LAST_WITH_INVALIDATE},
    {"write", ROCE_RC_RDMA_WRITE_ONLY, ROCE_RC_RDMA_WRITE_FIRST, ROCE_RC_RDMA_WRITE_MIDDLE,
     ROCE_RC_RDMA_WRITE_LAST},
    {"write-imm", ROCE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, ROCE_RC_RDMA_WRITE_FIRST,
     ROCE_RC_RDMA_WRITE_MIDDLE, ROCE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE},
    {"read", ROCE_RC_RDMA_READ_REQUEST, kNone, kNone, kNone},
    {"cmp-swap", ROCE_RC_COMPARE_SWAP, kNone, kNone, kNone},
    {"fetch-add", ROCE_RC_FETCH_ADD, kNone, kNone, kNone},
    {"flush", ROCE_RC_FLUSH, kNone, kNone, kNone},
    {"atomic-write", ROCE_RC_ATOMIC_WRITE, kNone, kNone, kNone},
}};

constexpr Row kReadResponse{"", ROCE_RC_RDMA_READ_RESPONSE_ONLY, ROCE_RC_RDMA_READ_RESPONSE_FIRST,
                            ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, ROCE_RC_RDMA_READ_RESPONSE_LAST};

const Row &row(Verb verb) { return kRows[static_cast<size_t>(verb)]; }

bool carries_data(Verb verb) { return row(verb).first != kNone; }

// Nothing takes one packet too.
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

Segment segment(uint8_t transport, Verb verb, uint64_t size, uint32_t pmtu, uint32_t index) {
  if (verb == Verb::AtomicWrite)
    return {static_cast<uint8_t>(transport | row(verb).only), 8};
  if (!carries_data(verb))
    return {static_cast<uint8_t>(transport | row(verb).only), 0};
  if (transport == ROCE_UD)
    return {static_cast<uint8_t>(transport | row(verb).only), static_cast<uint32_t>(size)};
  return piece(row(verb), transport, size, pmtu, index);
}

Segment read_response(uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index) {
  return piece(kReadResponse, transport, size, pmtu, index);
}

} // namespace xr::packet
