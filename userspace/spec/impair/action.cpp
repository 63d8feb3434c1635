// SPDX-License-Identifier: Apache-2.0
// Words for the actions on a packet.
#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "impair/action_table.h"
#include "impair/draft.h"
#include "impair/fields.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMostDscp = 63;

Status parse_drop(Draft &draft, WordReader &) {
  draft.spec.actions.bits |= ROCE_ACT_DROP;
  return {};
}

Status parse_ce(Draft &draft, WordReader &words) {
  draft.spec.actions.bits |= ROCE_ACT_CE | (words.take_if("force") ? ROCE_ACT_FORCE : 0);
  return {};
}

// Finds the action named by a word and its object, the next word.
Result<const Action *> take_object(std::string_view word, WordReader &words, const char *what) {
  const std::vector<const Action *> objects = actions_of(word);
  std::vector<std::string_view> names;
  names.reserve(objects.size());
  for (const Action *action : objects)
    names.push_back(action->object);
  return objects[XR_TRY(choice(words.take(), names, what))];
}

Status parse_corrupt(Draft &draft, WordReader &words) {
  const uint32_t act = XR_TRY(take_object("corrupt", words, "what can be corrupted"))->bit;
  CorruptedBits &bits = draft.spec.actions.corrupt;
  if (act == ROCE_ACT_CORRUPT_HEADER) {
    std::vector<std::string_view> names;
    for (const HeaderField &field : header_fields())
      names.push_back(field.name);
    bits.field = names[XR_TRY(choice(words.take(), names, "a header's field"))];
  }
  // The bit is counted from the BTH's first, which is the most significant of its byte.
  if (act == ROCE_ACT_CORRUPT_BIT && looks_like_number(words.peek()))
    bits.bit = static_cast<uint16_t>(
        XR_TRY(integer(words.take(), 0, UINT16_MAX, "a bit from the BTH on")));
  draft.spec.actions.bits |= act;
  return {};
}

Result<uint64_t> ecn_value(const std::string &word) {
  constexpr std::array<uint64_t, 4> kPoints = {0, 2, 1, 3};
  return kPoints[XR_TRY(choice(word, {"not-ect", "ect0", "ect1", "ce"}, "an ECN codepoint"))];
}
Result<uint64_t> dscp_value(const std::string &word) {
  return integer(word, 0, kMostDscp, "a DSCP");
}
Result<uint64_t> bit_value(const std::string &word) { return integer(word, 0, 1, "a bit"); }

struct Setting {
  uint32_t bit; // enum roce_action_bits
  uint8_t Actions::*field;
  Result<uint64_t> (*value)(const std::string &);
};
constexpr Setting kSettings[] = {
    {ROCE_ACT_SET_DSCP, &Actions::dscp, dscp_value},
    {ROCE_ACT_SET_ECN, &Actions::ecn, ecn_value},
    {ROCE_ACT_SET_FECN, &Actions::fecn, bit_value},
    {ROCE_ACT_SET_BECN, &Actions::becn, bit_value},
};

Status parse_set(Draft &draft, WordReader &words) {
  const Action &row = *XR_TRY(take_object("set", words, "what can be set"));
  const Setting &setting = *std::ranges::find(kSettings, row.bit, &Setting::bit);
  if (!draft.taken.claim(row.name(), row.name()))
    return Error{fmt::format("{} is given twice", row.object), "a packet has one value in the end"};
  draft.spec.actions.*setting.field = static_cast<uint8_t>(XR_TRY(setting.value(words.take())));
  draft.spec.actions.bits |= row.bit;
  return {};
}

// Options of cnp found so far. Each is allowed once: a second `dscp` is a match.
struct CnpOptions {
  bool interval = false, scope = false, dscp = false;
};

bool take_once(WordReader &words, std::string_view word, bool &taken) {
  if (taken || !words.take_if(word))
    return false;
  return taken = true;
}

Status parse_cnp(Draft &draft, WordReader &words) {
  Cnp &cnp = draft.spec.actions.cnp;
  draft.spec.actions.bits |= ROCE_ACT_CNP;
  for (CnpOptions taken;;) {
    if (take_once(words, "interval", taken.interval)) {
      cnp.interval_ns = XR_TRY(duration(words.take()));
    } else if (take_once(words, "scope", taken.scope)) {
      cnp.scope = static_cast<uint8_t>(
          XR_TRY(choice(words.take(), {cnp_scopes().begin(), cnp_scopes().end()}, "a scope")));
    } else if (take_once(words, "dscp", taken.dscp)) {
      const auto dscp = dscp_value(words.take());
      if (!dscp)
        return Error{dscp.error().message + ", the CNP's own",
                     "write the packet's own DSCP before cnp"};
      cnp.dscp = static_cast<uint8_t>(dscp.get());
    } else {
      return {};
    }
  }
}

Status parse_duplicate(Draft &draft, WordReader &) {
  draft.spec.actions.bits |= ROCE_ACT_DUPLICATE;
  return {};
}

void scale_hold(RuleSpec &rule, const Scale &scale) {
  Hold &hold = rule.hold;
  for (uint64_t *ns : {&hold.delay_ns, &hold.a, &hold.b, &hold.every_ns, &hold.timeout_ns})
    scale.time(*ns);
  for (uint64_t &ns : hold.table)
    scale.time(ns);
  scale.rate(hold.rate);
}

struct ActionWord {
  Status (*parse)(Draft &, WordReader &);
  void (*scale)(RuleSpec &, const Scale &) = nullptr;
};
const std::map<std::string_view, ActionWord> &action_parsers() {
  static const std::map<std::string_view, ActionWord> kParsers = {
      {"drop", {parse_drop}},
      {"ce", {parse_ce}},
      {"red",
       {parse_red, [](RuleSpec &rule, const Scale &scale) { scale.rate(rule.actions.red.rate); }}},
      {"corrupt", {parse_corrupt}},
      {"set", {parse_set}},
      {"police",
       {parse_police,
        [](RuleSpec &rule, const Scale &scale) { scale.rate(rule.actions.police.rate); }}},
      {"cnp",
       {parse_cnp,
        [](RuleSpec &rule, const Scale &scale) { scale.time(rule.actions.cnp.interval_ns); }}},
      {"duplicate", {parse_duplicate}},
      {"delay", {parse_delay, scale_hold}}, // of all words that hold
      {"accumulate", {parse_accumulate}},
      {"reorder", {parse_reorder}},
      {"shape", {parse_shape}},
  };
  return kParsers;
}

// Rows from the table of actions: of those that hold frames, or of the others.
std::vector<RuleWord> rows_of_actions(bool hold) {
  static std::deque<std::string> usages; // rows have pointers to them
  std::vector<RuleWord> rows;
  for (const Action &action : actions()) {
    if (!*action.syntax || hold != ((action.bit & ROCE_ACTS_HOLD) != 0))
      continue;
    std::string &usage = usages.emplace_back(action.syntax);
    if (*action.example)
      usage += fmt::format(", like {}", action.example);
    const bool each_its_own = !action.object.empty() && !action.among;
    const char *arguments =
        action.syntax + std::min(action.word.size() + 1, std::string_view(action.syntax).size());
    const ActionWord &word = action_parsers().at(action.word);
    rows.push_back({{action.word, each_its_own ? kOwn : "", usage.c_str(), arguments},
                    word.parse,
                    nullptr,
                    word.scale});
  }
  return rows;
}

} // namespace

std::span<const RuleWord> action_words() {
  static const std::vector<RuleWord> kRows = rows_of_actions(false);
  return kRows;
}

std::span<const RuleWord> hold_words() {
  static const std::vector<RuleWord> kRows = rows_of_actions(true);
  return kRows;
}

} // namespace xr::impair
