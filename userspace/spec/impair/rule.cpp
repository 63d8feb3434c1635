// SPDX-License-Identifier: Apache-2.0
// Parses a rule: calls the function of each word, then combines the results.
#include "impair/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/random_seed.h"
#include "impair/compile.h"
#include "impair/keywords.h"
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

constexpr Keyword kOthers[] = {
    {"qp", Slot::Event, parse_event, "qp N psn P|P-P|all [iter K], like qp 1 psn 5"},
    {"seed", Slot::Seed, parse_seed, "seed 7", "seed N"},
    {"name", Slot::Name, parse_name, "name loss", "name NAME"},
    {"disabled", Slot::Disabled, parse_disabled, "disabled", "disabled"},
    {"next", Slot::Next, parse_next, "next, the last word: later rules apply too", "next"},
};

const Keyword *find(std::span<const Keyword> keywords, const std::string &word) {
  const auto found = std::find_if(keywords.begin(), keywords.end(),
                                  [&](const Keyword &k) { return k.name == word; });
  return found == keywords.end() ? nullptr : &*found;
}

const Keyword *find(const std::string &word) {
  for (const auto keywords :
       {match_words(), select_words(), action_words(), std::span<const Keyword>(kOthers)})
    if (const Keyword *keyword = find(keywords, word))
      return keyword;
  return nullptr;
}

// Words that are valid only after another word.
struct Follower {
  std::string_view word, leader;
};
constexpr Follower kFollowers[] = {
    {"iter", "qp N psn P or psn +K"},
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
    {"queue", "shape RATE burst BYTES"},
};

Error unknown(const std::string &word) {
  for (const Follower &follower : kFollowers)
    if (follower.word == word)
      return {fmt::format("'{}' is only valid after {}", word, follower.leader),
              fmt::format("write {} {}", follower.leader, word)};
  std::vector<std::string_view> names = {"not"};
  for (const auto keywords :
       {match_words(), select_words(), action_words(), std::span<const Keyword>(kOthers)})
    for (const Keyword &keyword : keywords)
      names.emplace_back(keyword.name);
  const std::string near = nearest(word, names);
  return {fmt::format("'{}' is not a word of a rule", word),
          near.empty() ? "a rule is like: opcode data probability 1% drop"
                       : fmt::format("did you mean {}?", near)};
}

// Adds the keyword to an error of its function.
Error at(const Keyword &keyword, const Error &error) {
  return {fmt::format("{}: {}", keyword.name, error.message),
          error.hint.empty() ? keyword.usage : error.hint};
}

Status parse_one(Draft &draft, WordReader &words) {
  draft.negated = words.take_if("not");
  const std::string word = words.take();
  if (draft.negated && !find(match_words(), word))
    return Error{word.empty() ? "not: no word follows it"
                              : fmt::format("not: it cannot precede '{}'", word),
                 "it turns a match word round, like not src 192.0.2.1"};
  const Keyword *keyword = find(word);
  if (!keyword)
    return unknown(word);
  if (keyword->slot != Slot::Count)
    if (Status s = draft.claim(keyword->slot, word); !s)
      return at(*keyword, s.error());
  if (Status s = keyword->parse(draft, words); !s)
    return at(*keyword, s.error());
  Rule so_far;
  compile_match(draft.spec, so_far);
  if (so_far.tables.empty())
    return Error{fmt::format("{}: with it there is no frame that the rule matches", word),
                 "it contradicts a word before it, or leaves nothing by itself"};
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

std::vector<std::string_view> rule_words() {
  std::vector<std::string_view> words = {"not"};
  for (const auto keywords :
       {match_words(), select_words(), action_words(), std::span<const Keyword>(kOthers)})
    for (const Keyword &keyword : keywords)
      words.emplace_back(keyword.name);
  for (const Follower &follower : kFollowers)
    words.push_back(follower.word);
  return words;
}

std::string ending_list() {
  std::string list;
  for (const Keyword &keyword : kOthers)
    if (*keyword.ending)
      list += fmt::format("{}[{}]", list.empty() ? "" : " ", keyword.ending);
  return list;
}

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
