// SPDX-License-Identifier: Apache-2.0
// Impairment rules from words, and sets of rules as the datapath reads them. The words are those of
// `xdp-roce impair IF add ...`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "impair/tables.h"
#include "roce/rule.h"

namespace xr::impair {

// A rule: what the datapath needs of it, and the words it was made from.
struct Rule {
  roce_rule compiled{};         // all but slot, id, select.start_ns
  std::vector<uint32_t> points; // POSITIONS: from one to the next; DISTANCE: those to draw from
  std::string name;             // "" for none

  Tables tables;       // what it adds to the tables of a set
  std::string words;   // canonical, without seed and name
  bool chance = false; // it uses its seed
  bool seeded = false; // the seed was given, not drawn

  // Canonical words, for people and for parse(); fewer than ROCE_RULE_TEXT bytes.
  std::string text() const;
};

// Refuses what it does not understand as a whole. Words may also be strings of several words.
Result<Rule> parse(const std::vector<std::string> &words);

// What the program must be able to do for the rule, on a bridge's port or another: enum
// roce_feature.
uint32_t needs(const Rule &rule, bool bridged);

// At most ROCE_RULES rules. What is in `compiled` is copied as it is.
std::unique_ptr<roce_ruleset> make_ruleset(const std::vector<Rule> &rules);

// What nobody on the wire tells the sender of CNPs: whose packets of QP `qp` at `address` come from
// the peer's QP `src_qp`.
struct Peer {
  Address address;
  uint32_t qp, src_qp;
};

// `IP QPN -> QPN`, the arrow may be left out.
Result<Peer> parse_peer(const std::vector<std::string> &words);
std::string peer_text(const Peer &peer);

// What `apply` reads: YAML.
struct File {
  std::vector<Rule> rules;
  std::vector<Peer> peers;
};

// "-" is the standard input. `name` is what errors call the text.
Result<File> load(const std::string &path);
Result<File> parse_yaml(const std::string &text, const std::string &name);

} // namespace xr::impair
