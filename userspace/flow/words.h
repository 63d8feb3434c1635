// SPDX-License-Identifier: Apache-2.0
// A flow in the making, and its words in the files that have their functions.
#pragma once

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

// What a word decides; one word only may decide it.
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
  Messages, // or repeat
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
  Many, // the word may stand as often as one likes
};

struct FlowDraft {
  Flow flow;
  std::map<Slot, std::string> taken; // by that word

  Status claim(Slot slot, const std::string &word);
  bool has(Slot slot) const { return taken.count(slot) != 0; }
};

// A word's function takes what belongs behind the word, and says what is wrong of it; the caller
// puts the keyword before that.
struct FlowKeyword {
  const char *name;
  Slot slot;
  Status (*parse)(FlowDraft &, WordReader &);
  const char *usage;
};

std::span<const FlowKeyword> path_words();    // who, through which headers
std::span<const FlowKeyword> message_words(); // what
std::span<const FlowKeyword> header_words();  // what is in the BTH and behind it
std::span<const FlowKeyword> pace_words();    // when, how often, and what is wrong with it
const FlowKeyword *find_flow_word(const std::string &word);
std::vector<std::string_view> flow_words(); // the names of all, and of verbs

// A preset as parse_flow() begins with it.
Result<FlowDraft> preset_draft(const std::string &name);

// Names in the order of the numbers that they stand for.
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
// RC_SEND_ONLY, CNP; 0x18 where the table has no row.
Result<uint8_t> opcode_named(const std::string &word);
std::string opcode_name(uint8_t opcode);
Result<uint8_t> named(const std::string &word, std::span<const Named> names,
                      std::string_view wanted);

} // namespace xr::flow
