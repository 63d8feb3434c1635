// SPDX-License-Identifier: Apache-2.0
// Impairment rules from words, and rule sets for the datapath. The words are those of `xdp-roce
// impair IF add ...`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "impair/spec.h"
#include "impair/tables.h"
#include "parse/language.h"
#include "roce/rule.h"

namespace xr::impair {

// What is asked for, and its form for the datapath.
struct Rule : RuleSpec {
  roce_rule compiled{};         // without slot, id and select.start_ns
  std::vector<uint32_t> points; // POSITIONS: differences; DISTANCE: values to choose from
  Tables tables;                // the rule's part of the tables of a set

  void disable(bool off) {
    disabled = off;
    compiled.checks &= ~static_cast<uint32_t>(ROCE_CHECK_DISABLED);
    compiled.checks |= off ? ROCE_CHECK_DISABLED : 0;
  }
};

Rule compile(RuleSpec spec);

// parse_spec() and compile().
Result<Rule> parse(const std::vector<std::string> &words);

// The words of a rule, for help, completion, documents and YAML.
const parse::LanguageWords &rule_words();

// Rates times the factor, times divided by it.
void scale(RuleSpec &rule, double factor);

// Program features the rule requires, on a port with or without a bridge: enum roce_feature.
uint32_t needs(const Rule &rule, bool bridged);

// `rules`: at most ROCE_RULES. Copies `compiled` unchanged.
std::unique_ptr<roce_ruleset> make_ruleset(const std::vector<Rule> &rules);

// Maps a destination QP to its source QP, which no RC packet carries: packets to QP `qp` at
// `address` come from QP `src_qp` of the peer. CNPs are sent to that QP.
struct Peer {
  Address address;
  uint32_t qp, src_qp;
};

// Parses `IP QPN -> QPN`; the arrow is optional.
Result<Peer> parse_peer(const std::vector<std::string> &words);
std::string peer_text(const Peer &peer);

// A YAML file of `apply`.
struct File {
  std::vector<Rule> rules;
  std::vector<Peer> peers;
};

// "-" is the standard input. `name` is the name of the text in errors.
Result<File> load(const std::string &path);
Result<File> parse_yaml(const std::string &text, const std::string &name);

} // namespace xr::impair
