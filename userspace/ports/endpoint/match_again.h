// SPDX-License-Identifier: Apache-2.0
// For frames that the program handed over without metadata, because the driver has no room for it:
// finds the rules that hold them, with the functions that the program runs (include/roce). Virtual
// time. All other actions of rules were the program's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datapath/wire_ports.h"
#include "roce/hold.h"
#include "roce/rule.h"

struct roce_packet;

namespace xr::endpoint {

class MatchAgain {
public:
  explicit MatchAgain(uint16_t port_be) : port_be_(port_be) {}

  // A rule that stays keeps its selection state.
  void set_rules(const datapath::RulesInForce &rules);

  // Matches the current rules. `first`: the available bytes of a frame of `length`. `all`: every
  // frame that enters is handed over, also those that no rule holds; otherwise at least one rule
  // holds this one. `rules` of the result is 0: none was found.
  roce_held match(uint64_t now, std::span<const uint8_t> first, uint32_t length, bool all);

  // A rule that holds is for exact packets (psn, iter): match() does not find it.
  bool has_exact() const { return has_exact_; }

private:
  struct Candidate {
    unsigned bit;
    const roce_rule *rule;
    bool selected;
  };

  void find(std::span<const uint8_t> first, uint32_t length, uint32_t tables);
  bool meets(const roce_rule &rule, const roce_packet &packet, uint32_t length, bool roce,
             std::span<const uint8_t> first) const;
  bool draw(uint64_t now, uint32_t length);
  bool brings_all(const roce_rule &rule) const;

  uint16_t port_be_;
  std::shared_ptr<const roce_ruleset> set_;
  bool has_exact_ = false;
  std::map<uint32_t, std::vector<uint32_t>> points_; // by slot
  std::array<uint32_t, ROCE_RULE_SLOTS> ids_{};      // by slot; 0: none
  std::array<std::string, ROCE_RULE_SLOTS> words_;
  std::array<roce_rule_state, ROCE_RULE_SLOTS> states_{};
  std::vector<Candidate> candidates_; // of the frame: rules that it meets and that hold frames
};

} // namespace xr::endpoint
