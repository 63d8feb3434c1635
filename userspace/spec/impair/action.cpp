// SPDX-License-Identifier: Apache-2.0
// Words for the actions on a packet.
#include <deque>
#include <map>

#include <fmt/format.h>

#include "impair/action_table.h"
#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMostDscp = 63;

// A field of a header. `header`: bit number of the header in the opcode properties.
struct Field {
  std::string_view name;
  uint32_t header;
  uint16_t first_bit, bits;
};

constexpr uint16_t kBth = 0, kDeth = 9, kReth = 12, kAeth = 14, kImmDt = 16;

constexpr Field kFields[] = {
    {"opcode", kBth, 0, 8},    {"se", kBth, 8, 1},        {"migreq", kBth, 9, 1},
    {"padcnt", kBth, 10, 2},   {"tver", kBth, 12, 4},     {"pkey", kBth, 16, 16},
    {"dest-qp", kBth, 40, 24}, {"ackreq", kBth, 64, 1},   {"psn", kBth, 72, 24},
    {"syndrome", kAeth, 0, 8}, {"msn", kAeth, 8, 24},     {"va", kReth, 0, 64},
    {"rkey", kReth, 64, 32},   {"dmalen", kReth, 96, 32}, {"qkey", kDeth, 0, 32},
    {"src-qp", kDeth, 40, 24}, {"imm", kImmDt, 0, 32},
};

Status parse_drop(Draft &draft, WordReader &) {
  draft.rule.compiled.action.act |= ROCE_ACT_DROP;
  draft.say(slot_of(ROCE_ACT_DROP), "drop");
  return {};
}

Status parse_ce(Draft &draft, WordReader &words) {
  const bool force = words.take_if("force");
  draft.rule.compiled.action.act |= ROCE_ACT_CE;
  if (force)
    draft.rule.compiled.action.act |= ROCE_ACT_FORCE;
  draft.say(slot_of(ROCE_ACT_CE), force ? "ce force" : "ce");
  return {};
}

Status parse_field(Draft &draft, WordReader &words, std::string &text) {
  roce_action &action = draft.rule.compiled.action;
  std::vector<std::string_view> names;
  for (const Field &field : kFields)
    names.push_back(field.name);
  const auto at = choice(words.take(), names, "a header's field");
  if (!at)
    return at.error();
  const Field &field = kFields[at.get()];
  action.header = static_cast<uint16_t>(field.header);
  action.first_bit = field.first_bit;
  action.bits = field.bits;
  text += fmt::format(" {}", field.name);
  return {};
}

// Finds the action named by a word and its object, the next word.
Result<const Action *> take_object(std::string_view word, WordReader &words, const char *what) {
  const std::vector<const Action *> objects = actions_of(word);
  std::vector<std::string_view> names;
  names.reserve(objects.size());
  for (const Action *action : objects)
    names.push_back(action->object);
  const auto at = choice(words.take(), names, what);
  if (!at)
    return at.error();
  return objects[at.get()];
}

// The bit is counted from the BTH's first, which is the most significant of its byte.
Status parse_bit(Draft &draft, WordReader &words, std::string &text) {
  roce_action &action = draft.rule.compiled.action;
  const auto bit = integer(words.take(), 0, UINT16_MAX, "a bit from the BTH on");
  if (!bit)
    return bit.error();
  action.first_bit = static_cast<uint16_t>(bit.get());
  action.bits = 1;
  text += fmt::format(" {}", bit.get());
  return {};
}

Status parse_corrupt(Draft &draft, WordReader &words) {
  const auto chosen = take_object("corrupt", words, "what can be corrupted");
  if (!chosen)
    return chosen.error();
  const uint32_t act = chosen.get()->bit;
  std::string text = fmt::format("corrupt {}", chosen.get()->object);
  if (act == ROCE_ACT_CORRUPT_HEADER)
    if (Status s = parse_field(draft, words, text); !s)
      return s;
  if (act == ROCE_ACT_CORRUPT_BIT && looks_like_number(words.peek()))
    if (Status s = parse_bit(draft, words, text); !s)
      return s;
  const roce_action &action = draft.rule.compiled.action;
  const bool fixed = act == ROCE_ACT_CORRUPT_BIT && action.bits;
  draft.rule.compiled.action.act |= act;
  if (!fixed && !(act & (ROCE_ACT_CORRUPT_ICRC | ROCE_ACTS_CHECKSUM)))
    draft.rule.chance = true; // selects the bit to change at random
  draft.say(slot_of(act), text);
  return {};
}

Result<uint64_t> ecn_value(const std::string &word) {
  constexpr std::array<uint64_t, 4> kPoints = {0, 2, 1, 3};
  const auto at = choice(word, {"not-ect", "ect0", "ect1", "ce"}, "an ECN codepoint");
  if (!at)
    return at.error();
  return kPoints[at.get()];
}

struct Setting {
  __u8 roce_action::*field;
  Result<uint64_t> (*value)(const std::string &);
  const char *const *names; // names of the values; null: numbers
};

Result<uint64_t> dscp_value(const std::string &word) {
  return integer(word, 0, kMostDscp, "a DSCP");
}
Result<uint64_t> bit_value(const std::string &word) { return integer(word, 0, 1, "a bit"); }

constexpr const char *kEcnNames[] = {"not-ect", "ect1", "ect0", "ce"};

const Setting &setting_of(uint32_t bit) {
  static const std::map<uint32_t, Setting> kSettings = {
      {ROCE_ACT_SET_DSCP, {&roce_action::dscp, dscp_value, nullptr}},
      {ROCE_ACT_SET_ECN, {&roce_action::ecn, ecn_value, kEcnNames}},
      {ROCE_ACT_SET_FECN, {&roce_action::fecn, bit_value, nullptr}},
      {ROCE_ACT_SET_BECN, {&roce_action::becn, bit_value, nullptr}},
  };
  return kSettings.at(bit);
}

Status parse_set(Draft &draft, WordReader &words) {
  const auto chosen = take_object("set", words, "what can be set");
  if (!chosen)
    return chosen.error();
  const Action &row = *chosen.get();
  const Setting &setting = setting_of(row.bit);
  if (Status s = draft.claim(slot_of(row.bit), row.name()); !s)
    return Error{fmt::format("{} is given twice", row.object), "a packet has one value in the end"};
  const auto value = setting.value(words.take());
  if (!value)
    return value.error();
  roce_action &action = draft.rule.compiled.action;
  action.act |= row.bit;
  action.*setting.field = static_cast<__u8>(value.get());
  draft.say(slot_of(row.bit),
            fmt::format("set {} {}", row.object,
                        setting.names ? setting.names[value.get()] : std::to_string(value.get())));
  return {};
}

constexpr uint64_t kCnpInterval = 50'000; // ns
constexpr __u8 kCnpDscp = 48;
constexpr std::string_view kScopes[] = {"stream", "pair", "port"};

// Options of cnp found so far. Each is allowed once: a second `dscp` is a match.
struct CnpOptions {
  bool interval = false, scope = false, dscp = false;
};

bool take_once(WordReader &words, std::string_view word, bool &taken) {
  if (taken || !words.take_if(word))
    return false;
  return taken = true;
}

Status parse_cnp_options(WordReader &words, roce_action &action) {
  CnpOptions taken;
  for (;;) {
    if (take_once(words, "interval", taken.interval)) {
      const auto ns = duration(words.take());
      if (!ns)
        return ns.error();
      action.cnp_interval_ns = ns.get();
    } else if (take_once(words, "scope", taken.scope)) {
      const auto at = choice(words.take(), {std::begin(kScopes), std::end(kScopes)}, "a scope");
      if (!at)
        return at.error();
      action.cnp_scope = static_cast<__u8>(at.get());
    } else if (take_once(words, "dscp", taken.dscp)) {
      const auto dscp = dscp_value(words.take());
      if (!dscp)
        return Error{dscp.error().message + ", the CNP's own",
                     "write the packet's own DSCP before cnp"};
      action.cnp_dscp = static_cast<__u8>(dscp.get());
    } else {
      return {};
    }
  }
}

Status parse_cnp(Draft &draft, WordReader &words) {
  roce_action &action = draft.rule.compiled.action;
  action.cnp_interval_ns = kCnpInterval;
  action.cnp_dscp = kCnpDscp;
  action.cnp_scope = ROCE_CNP_STREAM;
  if (Status s = parse_cnp_options(words, action); !s)
    return s;
  action.act |= ROCE_ACT_CNP;
  std::string text = "cnp";
  if (action.cnp_interval_ns != kCnpInterval)
    text += " interval " + duration_text(action.cnp_interval_ns);
  if (action.cnp_scope != ROCE_CNP_STREAM)
    text += fmt::format(" scope {}", kScopes[action.cnp_scope]);
  if (action.cnp_dscp != kCnpDscp)
    text += fmt::format(" dscp {}", action.cnp_dscp);
  draft.say(slot_of(ROCE_ACT_CNP), text);
  return {};
}

Status parse_duplicate(Draft &draft, WordReader &) {
  draft.rule.compiled.action.act |= ROCE_ACT_DUPLICATE;
  draft.say(slot_of(ROCE_ACT_DUPLICATE), "duplicate");
  return {};
}

Parse parser_of(std::string_view word) {
  static const std::map<std::string_view, Parse> kParsers = {
      {"drop", parse_drop},       {"ce", parse_ce},
      {"red", parse_red},         {"corrupt", parse_corrupt},
      {"set", parse_set},         {"police", parse_police},
      {"cnp", parse_cnp},         {"duplicate", parse_duplicate},
      {"delay", parse_delay},     {"accumulate", parse_accumulate},
      {"reorder", parse_reorder}, {"shape", parse_shape},
  };
  return kParsers.at(word);
}

// Keywords from the table of actions, with their parsers.
struct ActionWords {
  std::deque<std::string> usages; // Keyword has pointers to them; a deque keeps them valid
  std::vector<Keyword> keywords;

  ActionWords() {
    for (const Action &action : actions()) {
      if (!*action.syntax)
        continue;
      std::string &usage = usages.emplace_back(action.syntax);
      if (*action.example)
        usage += fmt::format(", like {}", action.example);
      const bool each_its_own = !action.object.empty() && !action.among;
      keywords.push_back({action.word.data(), each_its_own ? Slot::Count : slot_of(action.bit),
                          parser_of(action.word), usage.c_str()});
    }
  }
};

} // namespace

std::span<const Keyword> action_words() {
  static const ActionWords kWords;
  return kWords.keywords;
}

} // namespace xr::impair
