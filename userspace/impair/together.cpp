// SPDX-License-Identifier: Apache-2.0
// Which actions can go together.
#include <fmt/format.h>

#include "impair/keywords.h"

namespace xr::impair {

namespace {

struct Named {
  uint32_t act;
  const char *words;
};

constexpr Named kNames[] = {
    {ROCE_ACT_DROP, "drop"},
    {ROCE_ACT_CE, "ce"},
    {ROCE_ACT_RED, "red"},
    {ROCE_ACT_POLICE, "police"},
    {ROCE_ACTS_CORRUPT, "corrupt"},
    {ROCE_ACT_SET_DSCP, "set dscp"},
    {ROCE_ACT_SET_ECN, "set ecn"},
    {ROCE_ACT_SET_FECN, "set fecn"},
    {ROCE_ACT_SET_BECN, "set becn"},
    {ROCE_ACT_CNP, "cnp"},
    {ROCE_ACT_DUPLICATE, "duplicate"},
};

struct Conflict {
  uint32_t act, with;
  const char *hint;
};

constexpr uint32_t kBesideDrop = ROCE_ACT_DROP | ROCE_ACT_POLICE | ROCE_ACT_CNP | ROCE_ACT_FORCE;

constexpr Conflict kConflicts[] = {
    {ROCE_ACT_DROP, ~kBesideDrop, "a packet that is dropped can only have a cnp beside it"},
    {ROCE_ACT_RED, ROCE_ACT_CE, "red marks CE by itself"},
    {ROCE_ACT_RED, ROCE_ACT_POLICE, "both decide which packets are hit: make two rules"},
    {ROCE_ACT_CE | ROCE_ACT_RED, ROCE_ACT_SET_ECN, "both write the ECN field: leave one away"},
    {ROCE_ACT_CNP, ROCE_ACTS_CORRUPT, "the CNP is made of what was corrupted: make two rules"},
    {ROCE_ACT_CNP, ROCE_ACT_DUPLICATE, "the kernel makes one copy: leave one away"},
};

// What needs more of a frame than one that is no RoCE has.
constexpr uint32_t kOnlyRoce = ROCE_ACT_CE | ROCE_ACT_RED | ROCE_ACT_CORRUPT_ICRC |
                               ROCE_ACT_CORRUPT_PAYLOAD | ROCE_ACT_CORRUPT_HEADER |
                               ROCE_ACT_SET_DSCP | ROCE_ACT_SET_ECN | ROCE_ACT_SET_FECN |
                               ROCE_ACT_SET_BECN | ROCE_ACT_CNP;

const char *name_of(uint32_t acts) {
  for (const Named &named : kNames)
    if (named.act & acts)
      return named.words;
  return "";
}

// What `police` is to do where its words do not say so.
void join_police(Draft &draft) {
  uint32_t &act = draft.rule.compiled.action.act;
  act |= draft.excess;
  if (!(act & ~static_cast<uint32_t>(ROCE_ACT_POLICE | ROCE_ACT_CNP)))
    act |= ROCE_ACT_DROP;
}

// `drop` and `ce` are said by police itself where it can.
void say_police(Draft &draft) {
  std::string &text = draft.text[static_cast<size_t>(Slot::Police)];
  const uint32_t act = draft.rule.compiled.action.act;
  draft.say(Slot::Drop, "");
  if ((act & ROCE_ACT_CE) && !(act & ROCE_ACT_FORCE)) {
    draft.say(Slot::Ce, "");
    text += " excess ce";
  }
}

} // namespace

Status join_actions(Draft &draft) {
  uint32_t &act = draft.rule.compiled.action.act;
  if (!act)
    return Error{"there is no action",
                 "one of drop, ce, red, corrupt, set, police, cnp, duplicate"};
  if (act & ROCE_ACT_POLICE)
    join_police(draft);
  for (const Conflict &conflict : kConflicts)
    if ((act & conflict.act) && (act & conflict.with))
      return Error{fmt::format("{} and {} cannot go together", name_of(act & conflict.act),
                               name_of(act & conflict.with)),
                   conflict.hint};
  if (draft.tables().what == What().set(ROCE_WHAT_OTHER) && (act & kOnlyRoce))
    return Error{
        fmt::format("{} does nothing to frames that are no RoCE", name_of(act & kOnlyRoce)),
        "non-roce goes with drop, duplicate, police and corrupt bit"};
  if (act & ROCE_ACT_POLICE)
    say_police(draft);
  if (act & ROCE_ACT_RED)
    act |= ROCE_ACT_CE;
  return {};
}

} // namespace xr::impair
