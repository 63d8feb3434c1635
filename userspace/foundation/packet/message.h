// SPDX-License-Identifier: Apache-2.0
// Segmentation of messages by PMTU, and the number of PSNs they use (IBA vol. 1, 9.7.2 and 9.8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "roce/opcode.h"

namespace xr::packet {

// The verbs, their words and the operations (ROCE_RC_...) of their packets: ONLY and, for segmented
// messages, FIRST, MIDDLE and LAST. The opcode table defines their answers and payload.
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
// Properties of the verb's requests, as in roce_opcode_properties. Transports differ in headers
// only.
uint64_t verb_properties(Verb verb);
// "rc", "uc", "ud", "xrc" for a roce_transport prefix.
std::string_view transport_name(uint8_t transport);

// Whether the transport (ROCE_RC, ROCE_UC, ROCE_UD, ROCE_XRC) supports the verb.
bool transport_has(uint8_t transport, Verb verb);

// Packets and PSNs of a request message of `size` bytes (READ: bytes requested; atomics, FLUSH:
// ignored). A UD message is one packet.
uint32_t packets_of(Verb verb, uint64_t size, uint32_t pmtu);
uint32_t psns_of(Verb verb, uint64_t size, uint32_t pmtu);

// Bytes that a message of `size` bytes transfers: 8 for atomics, 0 for FLUSH.
uint64_t moved_bytes(Verb verb, uint64_t size);
// DMA length in the RETH.
uint32_t dma_length(Verb verb, uint64_t size);

struct Segment {
  uint8_t opcode = 0;
  uint32_t payload = 0; // bytes
};
// Packet `index` of packets_of().
Segment segment(uint8_t transport, Verb verb, uint64_t size, uint32_t pmtu, uint32_t index);
// Payload bytes of a packet with this opcode when `size` bytes are requested: some opcodes have no
// payload or a fixed length.
uint32_t payload_of(uint8_t opcode, uint64_t size);
// Packet `index` of the psns_of() READ responses to a READ of `size` bytes.
Segment read_response(uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index);

} // namespace xr::packet
