// SPDX-License-Identifier: Apache-2.0
// A rule in the making: each kind of word has a slot, which one of them may fill, and in which
// stands its canonical text.
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
  Event,
  Select,
  Schedule,
  Limit,
  Action,             // of the first row of the table of actions; see slot_of
  Seed = Action + 32, // as many as roce_action.act has bits
  Name,
  Count
};
constexpr size_t kSlots = static_cast<size_t>(Slot::Count);

// Of an action, by its bit. Actions of which a rule has only one share a slot.
Slot slot_of(uint32_t act);

struct Draft {
  Rule rule;
  bool negated = false; // `not` stands before the word
  uint32_t excess = 0;  // what `police` was told to do: ROCE_ACT_DROP or ROCE_ACT_CE
  std::array<std::string, kSlots> keyword; // that has taken the slot
  std::array<std::string, kSlots> text;

  // Takes a slot, or says what has it.
  Status claim(Slot slot, const std::string &word);
  bool has(Slot slot) const { return !keyword[static_cast<size_t>(slot)].empty(); }
  void say(Slot slot, std::string words) { text[static_cast<size_t>(slot)] = std::move(words); }
  // Likewise, behind `not` if that is there.
  void say_match(Slot slot, const std::string &words) {
    say(slot, (negated ? "not " : "") + words);
  }

  Tables &tables() { return rule.tables; }
  Bytes &bytes(int table) { return rule.tables.bytes[static_cast<size_t>(table)]; }
  // For conditions on what only RoCE frames have.
  void only_roce() { rule.tables.what &= ~not_roce(); }
  // Exact in a table.
  void narrow(int table, const Bytes &to) { bytes(table) &= negated ? ~to : to; }
  // To be checked: `table` only narrows down what is not negated.
  void narrow_checked(int table, const Bytes &to) {
    if (!negated)
      bytes(table) &= to;
  }
  void check(roce_rule_check plain, roce_rule_check negation) {
    rule.compiled.checks |= static_cast<uint32_t>(negated ? negation : plain);
  }
  // The canonical words of all slots.
  std::string words() const;
};

// A word's function takes what belongs behind the word, and says what is wrong of it; parse() puts
// the keyword before that.
using Parse = Status (*)(Draft &, WordReader &);

struct Keyword {
  const char *name;
  Slot slot; // Count: the function takes its own
  Parse parse;
  const char *usage;
};

} // namespace xr::impair
