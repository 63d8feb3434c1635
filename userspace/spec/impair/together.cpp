// SPDX-License-Identifier: Apache-2.0
// Checks and completes combinations of actions.
#include <fmt/format.h>

#include "impair/action_table.h"
#include "impair/keywords.h"

namespace xr::impair {

namespace {

// Sets the default action of `police`: drop.
void join_police(Draft &draft) {
  uint32_t &act = draft.rule.compiled.action.act;
  act |= draft.excess;
  if (!(act & ~static_cast<uint32_t>(ROCE_ACT_POLICE | ROCE_ACT_CNP)))
    act |= ROCE_ACT_DROP;
}

// Writes `drop` and `ce` as part of police where its syntax allows it.
void say_police(Draft &draft) {
  std::string &text = draft.text[static_cast<size_t>(slot_of(ROCE_ACT_POLICE))];
  const uint32_t act = draft.rule.compiled.action.act;
  draft.say(slot_of(ROCE_ACT_DROP), "");
  if ((act & ROCE_ACT_CE) && !(act & ROCE_ACT_FORCE)) {
    draft.say(slot_of(ROCE_ACT_CE), "");
    text += " excess ce";
  }
}

// The actions that also apply to frames that are not RoCE.
std::string for_all_frames() {
  std::string list;
  for (const Action &action : actions())
    if (!action.only_roce)
      list += fmt::format("{}{}{}{}", list.empty() ? "" : ", ", action.word,
                          action.object.empty() ? "" : " ", action.object);
  return list;
}

Status check_together(uint32_t act) {
  for (const Action &action : actions())
    for (const Exclusion &other : action.excludes)
      if ((act & action.bit) && (act & other.with))
        return Error{fmt::format("{} and {} cannot go together", action.name(),
                                 action_name(act & other.with)),
                     other.why};
  return {};
}

} // namespace

Status join_actions(Draft &draft) {
  uint32_t &act = draft.rule.compiled.action.act;
  if (!act)
    return Error{"there is no action", "one of " + action_list(false)};
  if (act & ROCE_ACT_POLICE)
    join_police(draft);
  if (Status s = check_together(act); !s)
    return s;
  uint32_t idle = act & acts_that([](const Action &one) { return one.only_roce; });
  if (draft.rule.compiled.action.bits) // a bit counted from the BTH on
    idle |= act & ROCE_ACT_CORRUPT_BIT;
  if ((draft.tables().what & ~not_roce()).none() && idle)
    return Error{fmt::format("{} does nothing to frames that are no RoCE", action_name(idle)),
                 "non-roce goes with " + for_all_frames()};
  if (act & ROCE_ACT_POLICE)
    say_police(draft);
  if (act & ROCE_ACT_RED)
    act |= ROCE_ACT_CE;
  return {};
}

} // namespace xr::impair
