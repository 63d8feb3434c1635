// SPDX-License-Identifier: Apache-2.0
// The table of actions: words, required datapath features, exclusions, names in reports. action.cpp
// parses the words; roce/act.h performs the actions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/hold.h"
#include "roce/counters.h"
#include "roce/rule.h"

namespace xr::impair {

struct Exclusion {
  uint32_t with = 0; // enum roce_action_bits
  const char *why = "";
};

// The members are in the order of a table row, not of alignment.
struct Action { // NOLINT(clang-analyzer-optin.performance.Padding)
  uint32_t bit; // enum roce_action_bits
  std::string_view word;
  std::string_view object = {}; // second word, like dscp in `set dscp`
  uint32_t among = 0;           // bits of the objects a rule may have only one of; 0: no limit
  const char *syntax = "";      // arguments of the word; set in the row of its first object
  const char *example = "";
  const char *did = nullptr; // past form for reports; null: reported by the accompanying action
  // counter of the affected packets; null: counted by the accompanying action
  __u64 roce_totals::*counter = nullptr;
  uint32_t feature = 0;         // required of the program: enum roce_feature
  bool only_roce = true;        // has no effect on other frames
  bool streams = false;         // needs stream tracking on the port
  bool copies = false;          // copies packets that are not dropped; needs a bridge
  const char *alone = "";       // reason for needing a bridge or a wire; "": works without
  const char *place = "";       // command that makes the place: bridge or wire
  const char *instead = "";     // words that work without it; "": none
  const char *in_skb = nullptr; // reason it cannot work in skb mode; null: it can
  const char *skb_remedy = "";
  std::array<Exclusion, 3> excludes = {};

  // Name in error messages: "set dscp", "corrupt".
  std::string name() const;
};

// In the order of canonical rule text.
std::span<const Action> actions();

// The rows of a word, one for each object, in table order.
std::vector<const Action *> actions_of(std::string_view word);
// Name of the first action set in `acts`.
std::string action_name(uint32_t acts);
// The bits of all actions for which `holds` returns true.
template <typename Holds> uint32_t acts_that(Holds holds) {
  uint32_t acts = 0;
  for (const Action &action : actions())
    acts |= holds(action) ? action.bit : 0;
  return acts;
}
// All words: "drop, ce, ..."; with their arguments: "drop, ce [force], ...".
std::string action_list(bool with_syntax);
// The distributions after `jitter`, with their arguments: "uniform LOW HIGH|...".
std::string jitter_list();
std::string_view jitter_name(Jitter jitter);

} // namespace xr::impair
