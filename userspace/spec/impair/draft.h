// SPDX-License-Identifier: Apache-2.0
// A rule that is being read: each property is a slot, which one word sets.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "impair/spec.h"
#include "parse/words.h"

namespace xr::impair {

using parse::WordReader;

// After those of Field, in the order of the canonical text.
enum class Slot : uint8_t {
  Event = static_cast<uint8_t>(Field::RawBytes) + 1,
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

constexpr Slot slot_of(Field field) { return static_cast<Slot>(field); }
// The slot of an action bit. Mutually exclusive objects of a word share a slot.
Slot slot_of(uint32_t act);

struct Draft {
  RuleSpec spec;
  bool negated = false;                    // the word follows `not`
  uint32_t excess = 0;                     // action of `police`: ROCE_ACT_DROP, ROCE_ACT_CE or 0
  std::array<std::string, kSlots> keyword; // the word that set the slot

  // Marks the slot as set by `word`. The error names the word that set it before.
  Status claim(Slot slot, const std::string &word);
  bool has(Slot slot) const { return !keyword[static_cast<size_t>(slot)].empty(); }
  template <typename T> void match(Field field, T value) {
    spec.match[field] = {std::move(value), negated};
  }
};

// Takes the arguments after a word. The error has no keyword; parse_spec() puts it in front.
using Parse = Status (*)(Draft &, WordReader &);

struct Keyword {
  const char *name;
  Slot slot; // Count: the function claims its own slot
  Parse parse;
  const char *usage;
  const char *ending = ""; // of a word after the actions: its form in the help
};

// Checks the combination of actions and adds those that others imply.
Status join_actions(Draft &draft);

} // namespace xr::impair
