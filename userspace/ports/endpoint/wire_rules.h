// SPDX-License-Identifier: Apache-2.0
// The rules of a wire's ingress port that hold frames: they act in the stage, and a frame's
// metadata names those that hold it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "datapath/wire_ports.h"
#include "model/wire_counts.h"
#include "roce/hold.h"
#include "wire/hold_stage.h"

namespace xr::endpoint {

class WireRules {
public:
  // Both must outlive it; `counts` are of the ingress port.
  WireRules(wire::HoldStage &stage, WirePortCounts &counts) : stage_(stage), counts_(counts) {}

  // The port's rules have changed.
  void take(datapath::RulesInForce rules);

  // The rules that hold a frame with this metadata, until the next call of find() or take();
  // those of the next frame are mostly the same. nullptr: they are not known yet.
  const std::vector<wire::HeldBy> *find(const roce_held &held) {
    if (held.rules && held.generation == path_of_.generation && held.rules == path_of_.rules &&
        held.selected == path_of_.selected)
      return &path_;
    return look_up(held);
  }

  // Whether the frame of the last find() was selected by a rule that could not be read.
  bool unread() const { return unread_; }

private:
  std::optional<uint16_t> slot_of(const datapath::RuleInForce &in_force) const;
  uint16_t new_row(uint32_t id);
  void end_row(uint16_t row);
  const std::vector<wire::HeldBy> *look_up(const roce_held &held);

  wire::HoldStage &stage_;
  WirePortCounts &counts_;
  // By the generation of their set; a few earlier ones for frames that are on the way.
  static constexpr size_t kGenerations = 8;
  static constexpr uint16_t kRows = WirePortCounts::kRuleRows, kMerged = kRows;
  std::deque<datapath::RulesInForce> sets_;
  std::array<uint32_t, ROCE_RULE_SLOTS> held_by_{}; // by slot: id of a rule that holds; 0: none
  std::array<std::string, ROCE_RULE_SLOTS> words_, names_; // of these
  std::array<uint16_t, ROCE_RULE_SLOTS> rows_{};           // of these
  std::array<uint64_t, kRows> ended_{};                    // by row: a number that rises; 0: in use
  uint64_t ends_ = 0;
  std::vector<wire::HeldBy> path_; // of a frame with the metadata path_of_
  roce_held path_of_{};            // `rules` 0: of none
  bool unread_ = false;            // of the same frame
};

} // namespace xr::endpoint
