// SPDX-License-Identifier: Apache-2.0
// Checks and completes combinations of actions.
#include <fmt/format.h>

#include "impair/action_table.h"
#include "impair/compile.h"
#include "impair/draft.h"

namespace xr::impair {

namespace {

// Sets the default action of `police`: drop.
void join_police(Draft &draft) {
  uint32_t &act = draft.spec.actions.bits;
  act |= draft.excess;
  if (!(act & ~static_cast<uint32_t>(ROCE_ACT_POLICE | ROCE_ACT_CNP)))
    act |= ROCE_ACT_DROP;
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
  const uint32_t &act = draft.spec.actions.bits;
  if (!act)
    return Error{"there is no action", "one of " + action_list(false)};
  if (act & ROCE_ACT_POLICE)
    join_police(draft);
  XR_TRY(check_together(act));
  uint32_t idle = act & acts_that([](const Action &action) { return action.only_roce; });
  if (draft.spec.actions.corrupt.bit) // counted from the BTH on
    idle |= act & ROCE_ACT_CORRUPT_BIT;
  Rule rule;
  compile_match(draft.spec, rule);
  if ((rule.tables.what & ~not_roce()).none() && idle)
    return Error{fmt::format("{} does nothing to frames that are no RoCE", action_name(idle)),
                 "non-roce goes with " + for_all_frames()};
  return {};
}

} // namespace xr::impair
