// SPDX-License-Identifier: Apache-2.0
// The one table of actions: words, what each needs of the datapath, what it excludes, what it is
// called when it is done. Parsers of their words are in action.cpp, what they do in roce/act.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roce/counters.h"
#include "roce/rule.h"

namespace xr::impair {

struct Exclusion {
  uint32_t with = 0; // enum roce_action_bits
  const char *why = "";
};

// In the order in which a row is read; a few bytes of padding are no matter.
struct Action { // NOLINT(clang-analyzer-optin.performance.Padding)
  uint32_t bit; // enum roce_action_bits
  std::string_view word;
  std::string_view object = {}; // the word after it: set dscp
  uint32_t among = 0;           // bits of the word's objects of which a rule has one; 0: any number
  const char *syntax = "";      // of the word; of several objects the first has it
  const char *example = "";
  const char *did = nullptr; // to a packet; null: what goes with it says so
  // counts packets that it was done to; null: what goes with it is counted
  __u64 roce_totals::*counter = nullptr;
  uint32_t feature = 0;         // that the program must have: enum roce_feature
  bool only_roce = true;        // does nothing to frames that are no RoCE
  bool streams = false;         // needs the port's streams
  bool copies = false;          // unless the packet is dropped, a copy is made: in a bridge only
  const char *alone = "";       // why not without a bridge
  const char *remedy = "";      // and what can be done instead; {}: the interface
  const char *in_skb = nullptr; // why not in skb mode; null: it can
  const char *skb_remedy = "";
  std::array<Exclusion, 3> excludes = {};

  // As errors call it: "set dscp", but "corrupt".
  std::string name() const;
};

// In the order of a rule's canonical words.
std::span<const Action> actions();

// The objects of a word, in order.
std::vector<const Action *> actions_of(std::string_view word);
// Of the first of these bits.
std::string action_name(uint32_t acts);
// All bits of actions for which this holds.
template <typename Holds> uint32_t acts_that(Holds holds) {
  uint32_t acts = 0;
  for (const Action &action : actions())
    acts |= holds(action) ? action.bit : 0;
  return acts;
}
// Each word once: "drop, ce, ..."; or with what stands behind it: "drop, ce [force], ...".
std::string action_list(bool with_syntax);

} // namespace xr::impair
