// SPDX-License-Identifier: Apache-2.0
// The draft of a rule. Each property is a slot, which one word sets and which keeps the canonical
// text of that word.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "impair/rule.h"
#include "parse/words.h"

namespace xr::impair {

using parse::WordReader;

// In the order of the canonical text.
enum class Slot : uint8_t {
  Src,
  Dst,
  DestQp,
  Transport,
  Opcode,
  Psn,
  Ecn,
  Dscp,
  Vlan,
  Size,
  Roce,
  Family,
  Se,
  MigReq,
  PadCnt,
  TVer,
  Pkey,
  Fecn,
  Becn,
  Resv6,
  AckReq,
  Resv7,
  SrcMac,
  DstMac,
  Pcp,
  InnerVlan,
  Mpls,
  SrcPort,
  DstPort,
  RoceVersion,
  RawBytes,
  Event,
  Select,
  Schedule,
  Limit,
  Action,             // first row of the table of actions; see slot_of
  Seed = Action + 32, // 32: the bits of roce_action.act
  Name,
  Disabled,
  Next,
  Count
};
constexpr size_t kSlots = static_cast<size_t>(Slot::Count);

// The slot of an action bit. Mutually exclusive objects of a word share a slot.
Slot slot_of(uint32_t act);

struct Draft {
  Rule rule;
  bool negated = false;                    // the word follows `not`
  uint32_t excess = 0;                     // action of `police`: ROCE_ACT_DROP, ROCE_ACT_CE or 0
  std::array<std::string, kSlots> keyword; // the word that set the slot
  std::array<std::string, kSlots> text;

  // Marks the slot as set by `word`. The error names the word that set it before.
  Status claim(Slot slot, const std::string &word);
  bool has(Slot slot) const { return !keyword[static_cast<size_t>(slot)].empty(); }
  void say(Slot slot, std::string words) { text[static_cast<size_t>(slot)] = std::move(words); }
  // Text of a match, with `not` in front of a negated one.
  void say_match(Slot slot, const std::string &words) {
    say(slot, (negated ? "not " : "") + words);
  }

  Tables &tables() { return rule.tables; }
  Bytes &bytes(int table) { return rule.tables.bytes[static_cast<size_t>(table)]; }
  // For matches on fields that only RoCE frames have.
  void only_roce() { rule.tables.what &= ~not_roce(); }
  // For conditions that the table decides alone.
  void narrow(int table, const Bytes &to) { bytes(table) &= negated ? ~to : to; }
  // For conditions that the datapath checks again: the table is a first filter, unusable for a
  // negated condition.
  void narrow_checked(int table, const Bytes &to) {
    if (!negated)
      bytes(table) &= to;
  }
  void check(roce_rule_check plain, roce_rule_check negation) {
    rule.compiled.checks |= static_cast<uint32_t>(negated ? negation : plain);
  }
  // Canonical words of all slots.
  std::string words() const;
};

// Takes the arguments after a word. The error has no keyword; parse() puts it in front.
using Parse = Status (*)(Draft &, WordReader &);

struct Keyword {
  const char *name;
  Slot slot; // Count: the function claims its own slot
  Parse parse;
  const char *usage;
  const char *ending = ""; // of a word after the actions: its form in the help
};

} // namespace xr::impair
