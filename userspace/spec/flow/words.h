// SPDX-License-Identifier: Apache-2.0
// The tables of the words of flows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/flow.h"
#include "parse/language.h"

namespace xr::flow {

using parse::WordReader;

using FlowDraft = parse::Draft<Flow>;
using FlowWord = parse::Word<FlowDraft>;

// The tables, in the order of the canonical text. To add a word: its member of Flow, a row of one
// of them, check.cpp where it does not go with others; flow_parse_test.
std::span<const FlowWord> path_words();    // addresses and headers before the BTH
std::span<const FlowWord> message_words(); // transport, verb, QPs, messages
std::span<const FlowWord> field_words();   // fields of IP and UDP
std::span<const FlowWord> bth_words();
std::span<const FlowWord> pace_words();
std::span<const FlowWord> control_words(); // of congestion
std::span<const FlowWord> key_words();     // headers after the BTH; seed and stamp
std::span<const FlowWord> fault_words();

using parse::Said;
using parse::say_if;
// What a word has when it is not given.
const Flow &plain_flow();
std::string rate_words(const congestion::Rate &rate);

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
std::string_view name_of(std::span<const Named> names, uint8_t value);

} // namespace xr::flow
