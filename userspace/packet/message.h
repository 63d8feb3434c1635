// SPDX-License-Identifier: Apache-2.0
// Messages cut into packets by PMTU, and how many PSNs they take (IBA vol. 1, 9.7.2 and 9.8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "roce/opcode.h"

namespace xr::packet {

// What can be sent: a Verb, the word for it, and the operations (ROCE_RC_...) of its packets: of
// the only one, and if it is cut by PMTU the first, those between and the last. How it is answered
// and what it moves follows from the opcode table.
#define XR_VERBS(CUT, WHOLE)                                                                       \
  CUT(Send, "send", SEND_ONLY, SEND_FIRST, SEND_MIDDLE, SEND_LAST)                                 \
  CUT(SendImmediate, "send-imm", SEND_ONLY_WITH_IMMEDIATE, SEND_FIRST, SEND_MIDDLE,                \
      SEND_LAST_WITH_IMMEDIATE)                                                                    \
  CUT(SendInvalidate, "send-inv", SEND_ONLY_WITH_INVALIDATE, SEND_FIRST, SEND_MIDDLE,              \
      SEND_LAST_WITH_INVALIDATE)                                                                   \
  CUT(Write, "write", RDMA_WRITE_ONLY, RDMA_WRITE_FIRST, RDMA_WRITE_MIDDLE, RDMA_WRITE_LAST)       \
  CUT(WriteImmediate, "write-imm", RDMA_WRITE_ONLY_WITH_IMMEDIATE, RDMA_WRITE_FIRST,               \
      RDMA_WRITE_MIDDLE, RDMA_WRITE_LAST_WITH_IMMEDIATE)                                           \
  WHOLE(Read, "read", RDMA_READ_REQUEST)                                                           \
  WHOLE(CompareSwap, "cmp-swap", COMPARE_SWAP)                                                     \
  WHOLE(FetchAdd, "fetch-add", FETCH_ADD)                                                          \
  WHOLE(Flush, "flush", FLUSH)                                                                     \
  WHOLE(AtomicWrite, "atomic-write", ATOMIC_WRITE)

#define XR_CUT_(verb, name, only, first, middle, last) verb,
#define XR_WHOLE_(verb, name, only) verb,
enum class Verb : uint8_t { XR_VERBS(XR_CUT_, XR_WHOLE_) };
#undef XR_CUT_
#undef XR_WHOLE_

#define XR_CUT_(verb, name, only, first, middle, last) +1
#define XR_WHOLE_(verb, name, only) +1
inline constexpr unsigned kVerbs = XR_VERBS(XR_CUT_, XR_WHOLE_);
#undef XR_CUT_
#undef XR_WHOLE_

std::string_view verb_name(Verb verb);
// Of the verb's requests, as in roce_opcode_properties; transports differ in headers only.
uint64_t verb_properties(Verb verb);
// "rc", "uc", "ud", "xrc" of a roce_transport prefix.
std::string_view transport_name(uint8_t transport);

// Whether the transport (ROCE_RC, ROCE_UC, ROCE_UD, ROCE_XRC) has the verb at all.
bool transport_has(uint8_t transport, Verb verb);

// Of one request message of `size` bytes (READ: bytes asked for; atomics, FLUSH: any). UD messages
// are one packet.
uint32_t packets_of(Verb verb, uint64_t size, uint32_t pmtu);
uint32_t psns_of(Verb verb, uint64_t size, uint32_t pmtu);

// Of a message of `size` bytes, those that are moved: atomics move one word, FLUSH none.
uint64_t moved_bytes(Verb verb, uint64_t size);
// What its RETH says.
uint32_t dma_length(Verb verb, uint64_t size);

struct Segment {
  uint8_t opcode = 0;
  uint32_t payload = 0; // bytes
};
// Packet `index` of packets_of().
Segment segment(uint8_t transport, Verb verb, uint64_t size, uint32_t pmtu, uint32_t index);
// Payload of a packet with this opcode where `size` bytes are asked for: it may have none, or a
// fixed length.
uint32_t payload_of(uint8_t opcode, uint64_t size);
// Packet `index` of the psns_of() that answer a READ of `size` bytes.
Segment read_response(uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index);

} // namespace xr::packet
