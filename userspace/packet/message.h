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

enum class Verb : uint8_t {
  Send,
  SendImmediate,
  SendInvalidate,
  Write,
  WriteImmediate,
  Read,
  CompareSwap,
  FetchAdd,
  Flush,
  AtomicWrite,
};
constexpr unsigned kVerbs = 10;

// "send", "send-imm", "send-inv", "write", "write-imm", "read", "cmp-swap", "fetch-add", "flush",
// "atomic-write".
std::string_view verb_name(Verb verb);
// "rc", "uc", "ud", "xrc" of a roce_transport prefix.
std::string_view transport_name(uint8_t transport);

// Whether the transport (ROCE_RC, ROCE_UC, ROCE_UD, ROCE_XRC) has the verb at all.
bool transport_has(uint8_t transport, Verb verb);

// Of one request message of `size` bytes (READ: bytes asked for; atomics, FLUSH: any). UD messages
// are one packet.
uint32_t packets_of(Verb verb, uint64_t size, uint32_t pmtu);
uint32_t psns_of(Verb verb, uint64_t size, uint32_t pmtu);

struct Segment {
  uint8_t opcode = 0;
  uint32_t payload = 0; // bytes
};
// Packet `index` of packets_of().
Segment segment(uint8_t transport, Verb verb, uint64_t size, uint32_t pmtu, uint32_t index);
// Packet `index` of the psns_of() that answer a READ of `size` bytes.
Segment read_response(uint8_t transport, uint64_t size, uint32_t pmtu, uint32_t index);

} // namespace xr::packet
