// SPDX-License-Identifier: Apache-2.0
// Parses a rule: calls the function of each word, then combines the results.
#include "impair/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/random_seed.h"
#include "impair/compile.h"
#include "impair/draft.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

Status parse_seed(Draft &draft, WordReader &words) {
  draft.spec.seed = XR_TRY(integer(words.take(), 0, UINT64_MAX));
  draft.spec.seeded = true;
  return {};
}

Status parse_name(Draft &draft, WordReader &words) {
  draft.spec.name = XR_TRY(name(words.take()));
  return {};
}

Status parse_disabled(Draft &draft, WordReader &) {
  draft.spec.disabled = true;
  return {};
}

Status parse_next(Draft &draft, WordReader &words) {
  if (!words.done())
    return Error{"it ends a rule", "move it to the end"};
  draft.spec.next = true;
  return {};
}

constexpr std::string_view kEnd = "at the end";
constexpr RuleWord kEndWords[] = {
    {{"seed", "", "seed 7", "N", "determines all random choices"},
     parse_seed,
     [](const RuleSpec &rule) { return say_if(rule.chance(), "{}", rule.seed); }},
    {{"name", "", "name loss", "NAME"},
     parse_name,
     [](const RuleSpec &rule) { return say_if(!rule.name.empty(), "{}", rule.name); }},
    {{"disabled", "", "disabled", "", "keeps its place, matches nothing"},
     parse_disabled,
     [](const RuleSpec &rule) { return say_if(rule.disabled, ""); }},
    {{"next", "", "next, the last word: later rules apply too", "", "later rules apply too"},
     parse_next,
     [](const RuleSpec &rule) { return say_if(rule.next, ""); }},
};

const Language<Draft> &language() {
  static const Language<Draft> kLanguage(
      {.thing = "a rule",
       .example = "a rule is like: opcode data probability 1% drop",
       .twice_hint = "put the second one into another rule",
       .other_hint = "a rule has one of them"},
      {{"match, each also after `not`", match_words()},
       {"match, fields of the BTH", bth_match_words()},
       {"match, other headers", outer_words()},
       {"exact packet", event_words()},
       {"select", select_words()},
       {"schedule, limit", schedule_words()},
       {"act", action_words()},
       {"hold, needs `wire`: one of them in a rule, with any of the others except `drop`",
        hold_words()},
       {kEnd, kEndWords}},
      {{"iter", "qp N psn P or psn +K"},
       {"per", "limit N"},
       {"rate", "red KMIN KMAX PMAX"},
       {"max", "red ... rate RATE"},
       {"force", "ce or red"},
       {"l1", "red, police or shape"},
       {"l2", "red, police or shape"},
       {"excess", "police RATE burst BYTES"},
       {"interval", "cnp"},
       {"scope", "cnp"},
       {"jitter", "delay T"},
       {"unordered", "delay T jitter DIST"},
       {"timeout", "accumulate N or reorder"},
       {"depth", "reorder"},
       {"skip", "reorder"},
       {"take", "reorder skip S"},
       {"hold", "reorder skip S take N"},
       {"queue", "shape RATE burst BYTES"}});
  return kLanguage;
}

bool can_be_negated(const std::string &word) {
  for (const auto table : {match_words(), bth_match_words(), outer_words()})
    for (const RuleWord &row : table)
      if (row.info.name == word)
        return true;
  return false;
}

Status parse_one(Draft &draft, WordReader &words) {
  draft.negated = words.take_if("not");
  const std::string word = words.peek();
  if (draft.negated && !can_be_negated(word))
    return Error{word.empty() ? "not: no word follows it"
                              : fmt::format("not: it cannot precede '{}'", word),
                 "it turns a match word round, like not src 192.0.2.1"};
  XR_TRY(language().read_word(draft, words));
  Rule so_far;
  compile_match(draft.spec, so_far);
  if (so_far.tables.empty())
    return Error{fmt::format("{}: no frame can match this rule", word),
                 "it contradicts an earlier condition, or leaves nothing by itself"};
  return {};
}

Status check_length(const RuleSpec &spec) {
  const size_t length = spec.text().size();
  if (length < ROCE_RULE_TEXT)
    return {};
  const std::vector<std::string> all = texts(spec);
  const std::string &longest = *std::ranges::max_element(all, {}, &std::string::size);
  return Error{fmt::format("{}: makes the rule {} characters long, {} are possible",
                           longest.substr(0, longest.find(' ')), length, ROCE_RULE_TEXT - 1),
               "fewer values, or several rules"};
}

Result<uint32_t> drawn_seed() {
  auto seed = random_seed();
  if (!seed)
    return Error{seed.error().message, "give one: seed 7"};
  return static_cast<uint32_t>(*seed);
}

Status finish(Draft &draft) {
  RuleSpec &spec = draft.spec;
  XR_TRY(join_actions(draft));
  if (!spec.chance())
    spec.seed = 0;
  else if (!spec.seeded)
    spec.seed = XR_TRY(drawn_seed());
  return check_length(spec);
}

} // namespace

// The rows say the words at the end; spec_text.cpp says the others, by what they hold.
std::string RuleSpec::text() const {
  const std::string all = words(), end = language().text(*this);
  return all + (all.empty() || end.empty() ? "" : " ") + end;
}

const LanguageWords &rule_words() { return language(); }

void scale(RuleSpec &rule, double factor) { language().scale(rule, factor); }

Result<RuleSpec> parse_spec(const std::vector<std::string> &list) {
  WordReader words(list);
  Draft draft;
  while (!words.done())
    XR_TRY(parse_one(draft, words));
  XR_TRY(finish(draft));
  return std::move(draft.spec);
}

Result<Rule> parse(const std::vector<std::string> &words) {
  return compile(XR_TRY(parse_spec(words)));
}

} // namespace xr::impair
