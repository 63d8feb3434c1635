// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/rules.h"
#include "impair/action_table.h"
#include "impair/fields.h"
#include "impair/opcodes.h"
#include "parse/words.h"
#include "report/rules.h"

namespace xr::cli {

namespace impair_command {
namespace {

struct Args {
  std::string ifname;
  std::vector<std::string> words;
  std::string seed;
  bool streams = false;
  // Read from the words, by the first of them.
  std::optional<impair::Rule> rule; // add
  std::optional<impair::Peer> peer; // peer

  std::string context() const { return fmt::format("impair {} {}", ifname, words.front()); }
};

// Words at the end come from their table.
std::string forms() {
  std::string ends;
  for (const parse::WordInfo &word : impair::rule_words().words())
    if (word.group == "at the end")
      ends += fmt::format("{}[{}{}{}]", ends.empty() ? "" : " ", word.name, *word.syntax ? " " : "",
                          word.syntax);
  return fmt::format(
      "  impair IF add MATCH... [SELECT] [SCHEDULE] [limit N [per T]] ACTION...\n"
      "                {}\n"
      "  impair IF list | del|enable|disable ID|NAME | clear | zero [--streams] | apply FILE.yaml\n"
      "  impair IF peer IP QPN '->' QPN\n"
      "The first rule that matches a frame applies to it, even if it does not select it. Later "
      "rules\n"
      "apply too only if that rule ends with `next`. A port has at most 64 rules.\n",
      ends);
}

constexpr const char *kZero =
    "disable takes a rule out of effect and keeps its place, state and counts; its schedule goes "
    "on. "
    "clear removes all rules. zero keeps them and resets counts, limits, schedules and random "
    "choices. The next QP seen is number 1 again; a QP seen before gets its new number with its "
    "next packet, and its P and K continue; P is 1 again where its PSNs continue elsewhere (a "
    "resync: the QPN is used again). Counters and streams do not change; with --streams those of "
    "the "
    "port begin again: P, K and all their counts.";

// All words come from their tables.
std::string footer() {
  const parse::LanguageWords &words = impair::rule_words();
  const std::string match = fmt::format(
      "MATCH, each also after `not`: {}; of the BTH {}; of other headers {}. Opcodes: names, 0x04, "
      "{}. An exact packet: {} is the P-th packet of the N-th QP that the port saw (or of QP "
      "0x..), "
      "in its K-th transmission; psn +K [iter K] the packet K PSNs after the first one of each "
      "stream.",
      words.forms("match, each also after `not`"), words.forms("match, fields of the BTH"),
      words.forms("match, other headers"), fmt::join(impair::opcode_classes(), ", "),
      words.forms("exact packet"));
  return forms() + wrapped(match) + "\n" + wrapped("SELECT: " + words.forms("select") + ".") +
         "\n" + wrapped("SCHEDULE: " + words.forms("schedule, limit") + ".") + "\n" +
         wrapped("ACTION: " + impair::action_list(true) + ".") + "\n" +
         wrapped("DIST: " + impair::jitter_list() + ". delay DIST is delay 0s jitter DIST.") +
         "\n" + wrapped(kZero);
}

std::vector<std::string> texts(const std::vector<std::string_view> &words) {
  return {words.begin(), words.end()};
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names = texts(impair::rule_words().all_names());
  names.emplace_back("not");
  return names;
}

void describe(Command command, Args &args) {
  command.add_option("IF", args.ifname, "The port whose incoming frames are impaired")
      .required()
      .value_name("");
  command
      .add_option(
          "WORDS", args.words,
          "add RULE | list | del ID | enable ID | disable ID | clear | zero | apply FILE | peer")
      .required()
      .value_name("");
  command.add_option("--seed", args.seed, "Seed of all random choices (the same as `seed N`)")
      .value_name("N");
  command.add_flag("--streams", args.streams,
                   "With zero: the port's streams begin again, too, with the next packet of each");
  command.set_completions({{"add", false, rule_names()},
                           {"opcode", true, texts(impair::opcode_names())},
                           {"ecn", true, texts(impair::ecn_names())},
                           {"apply", true, {}, true}});
  command.set_footer(footer());
}

using WordList = std::vector<std::string>;
using Done = Result<datapath::RuleList>;

constexpr const char *kForms =
    "add RULE, list, del ID, enable ID, disable ID, clear, zero, apply FILE or "
    "peer IP QPN '->' QPN; xdp-roce impair --help";

Status read_add(Args &args, const WordList &given) {
  WordList words = given;
  if (!args.seed.empty()) {
    words.push_back("seed");
    words.push_back(args.seed);
  }
  args.rule = XR_TRY(impair::parse(words));
  return {};
}

Status read_peer(Args &args, const WordList &words) {
  args.peer = XR_TRY(impair::parse_peer(words));
  return {};
}

// A word that the verb needs after it: "a file".
Status read_object(const Args &args, const WordList &words, const char *object) {
  if (words.size() != 1)
    return Error{fmt::format("{} needs {}", args.words.front(), object), kForms};
  return {};
}

Status read_nothing(const WordList &words) {
  return words.empty() ? Status() : Error{"what is '" + words.front() + "'?", kForms};
}

Done change_by_id(const Args &args, const Globals &globals) {
  const std::string &verb = args.words.front(), &rule = args.words[1];
  return verb == "enable" || verb == "disable"
             ? datapath::enable_rule({args.ifname, globals.netns}, rule, verb == "enable")
             : datapath::delete_rule({args.ifname, globals.netns}, rule);
}

Done apply(const Args &args, const Globals &globals) {
  auto file = XR_TRY(impair::load(args.words[1]));
  return datapath::apply_rules({args.ifname, globals.netns}, file);
}

struct Verb {
  const char *name, *alias; // "": no alias
  Status (*read)(Args &, const WordList &);
  Done (*run)(const Args &, const Globals &);
};

constexpr auto kOneRule = [](Args &args, const WordList &words) {
  return read_object(args, words, "a rule's id or name");
};
constexpr auto kNoWords = [](Args &, const WordList &words) { return read_nothing(words); };

constexpr Verb kVerbs[] = {
    {"add", "", read_add,
     [](const Args &args, const Globals &globals) {
       return datapath::add_rule({args.ifname, globals.netns}, *args.rule);
     }},
    {"list", "show", kNoWords,
     [](const Args &args, const Globals &globals) {
       return datapath::list_rules({args.ifname, globals.netns});
     }},
    {"del", "delete", kOneRule, change_by_id},
    {"enable", "", kOneRule, change_by_id},
    {"disable", "", kOneRule, change_by_id},
    {"clear", "flush", kNoWords,
     [](const Args &args, const Globals &globals) {
       return datapath::clear_rules({args.ifname, globals.netns});
     }},
    {"zero", "", kNoWords,
     [](const Args &args, const Globals &globals) {
       return datapath::zero_rules({args.ifname, globals.netns}, args.streams);
     }},
    {"apply", "",
     [](Args &args, const WordList &words) { return read_object(args, words, "a file"); }, apply},
    {"peer", "", read_peer, [](const Args &args, const Globals &globals) {
       return datapath::add_peer({args.ifname, globals.netns}, *args.peer);
     }}};

const Verb *find_verb(const std::string &word) {
  const auto found = std::ranges::find_if(
      kVerbs, [&](const Verb &verb) { return word == verb.name || word == verb.alias; });
  return found == std::end(kVerbs) || word.empty() ? nullptr : found;
}

Status read(Args &args) {
  const std::string &word = args.words.front();
  const Verb *verb = find_verb(word);
  if (verb && args.streams && word != "zero")
    return Error{"--streams is for zero", "leave it out, or say zero --streams"};
  if (verb)
    return verb->read(args, {args.words.begin() + 1, args.words.end()});
  std::vector<std::string_view> names;
  for (const Verb &item : kVerbs)
    for (const std::string_view name : {item.name, item.alias})
      if (!name.empty())
        names.push_back(name);
  const std::string near = parse::nearest(word, names);
  return Error{"what is '" + word + "'?",
               near.empty() ? kForms : fmt::format("did you mean {}?", near)};
}

int impair(const Args &args, const Globals &globals) {
  const std::string &verb = args.words.front();
  auto list = find_verb(verb)->run(args, globals);
  if (!list)
    return fail(args.context(), list.error());
  tell_notes(args.context(), list->notes);
  Output output(globals.json);
  // Like those of `ip` and `tc`, changes print nothing; with --json they print the rules.
  if (globals.json || verb == "list" || verb == "show") {
    std::vector<std::string> peers;
    for (const impair::Peer &peer : list->peers)
      peers.push_back("peer " + impair::peer_text(peer));
    output.print(report::rules_report(args.ifname, list->rules, peers));
  }
  return output.finish();
}

} // namespace
} // namespace impair_command

void add_impair(Command program, Run &chosen) {
  using namespace impair_command;
  add_command<Args>(program, chosen, "impair",
                    "Rules: drop, mark, corrupt, police, answer with CNPs", describe, read, impair);
}

} // namespace xr::cli
