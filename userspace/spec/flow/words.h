// SPDX-License-Identifier: Apache-2.0
// The draft of a flow, and the tables of words that fill it in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/flow.h"
#include "parse/words.h"

namespace xr::flow {

using parse::WordReader;

// The property that a word sets. Two words must not set the same one, except Many.
// To add a word of flows: Flow, a slot here, the *_words.cpp that fits, text.cpp, check.cpp, help
// in cli/send.cpp, docs/flows.md; a rate or a time also in places/scale.cpp; flow_parse_test.
enum class Slot : uint8_t {
  Name,
  Src,
  Dst,
  SrcMac,
  DstMac,
  Vlan,
  V1,
  Transport,
  Verb,
  Qp,
  Qps,
  SrcQp,
  By,
  Size,
  Pmtu,
  Frames,
  Messages, // also set by `repeat`
  For,
  Psn,
  AckEvery,
  Port,
  Dscp,
  Ecn,
  Ttl,
  FlowLabel,
  Rate,
  Cc,
  Shape,
  Start,
  Ramp,
  Qkey,
  Rkey,
  Va,
  Imm,
  Srq,
  EeContext,
  Syndrome,
  Se,
  MigReq,
  PadCnt,
  TVer,
  Pkey,
  Fecn,
  Becn,
  Resv6,
  Resv7,
  Seed,
  Stamp,
  Many, // the word may be repeated
};

struct FlowDraft {
  Flow flow;
  std::map<Slot, std::string> taken; // slot to the word that set it

  Status claim(Slot slot, const std::string &word);
  bool has(Slot slot) const { return taken.count(slot) != 0; }
};

// `parse` takes the arguments after the word. Its error has no keyword; the caller puts it in
// front.
struct FlowKeyword {
  const char *name;
  Slot slot;
  Status (*parse)(FlowDraft &, WordReader &);
  const char *usage;
};

std::span<const FlowKeyword> path_words();    // addresses and headers before the BTH
std::span<const FlowKeyword> message_words(); // transport, verb, QPs, messages
std::span<const FlowKeyword> header_words();  // fields of the BTH and of the headers after it
std::span<const FlowKeyword> pace_words();    // timing, repetition, faults
const FlowKeyword *find_flow_word(const std::string &word);
std::vector<std::string_view> flow_words(); // all keywords and verbs

// The draft from which parse_flow() starts for `preset NAME`.
Result<FlowDraft> preset_draft(const std::string &name);

// Names by enum value.
const std::vector<std::string_view> &verb_names();
const std::vector<std::string_view> &fault_names();
struct Named {
  std::string_view name;
  uint8_t value;
};
inline constexpr Named kTransports[] = {
    {"rc", ROCE_RC}, {"uc", ROCE_UC}, {"rd", ROCE_RD}, {"ud", ROCE_UD}, {"xrc", ROCE_XRC}};
inline constexpr Named kCodepoints[] = {
    {"not-ect", 0}, {"ect0", ROCE_ECN_ECT0}, {"ect1", ROCE_ECN_ECT1}, {"ce", ROCE_ECN_CE}};
// An opcode's name, like RC_SEND_ONLY or CNP; a number, like 0x18, for opcodes without a name.
Result<uint8_t> opcode_named(const std::string &word);
std::string opcode_name(uint8_t opcode);
Result<uint8_t> named(const std::string &word, std::span<const Named> names,
                      std::string_view wanted);

} // namespace xr::flow
