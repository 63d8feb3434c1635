// SPDX-License-Identifier: Apache-2.0
// The rules at a link: the rule walk that the XDP program of a port runs too (include/roce), and
// the stage of wire/ with those that hold frames. Its clock is the simulated time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "impair/rule.h"
#include "native/native_datapath.h"
#include "wire/hold_stage.h"

namespace xr::simulate {

class RulePoint {
public:
  // All rules that are ever there, in the order in which they match. They are named by their index.
  explicit RulePoint(std::vector<impair::Rule> rules);

  // CNPs for packets from `peer` to its QP go to QP `src_qp`.
  void peer(const roce_peer &peer, uint32_t src_qp) { datapath_.peer(peer, src_qp); }

  // A rule is there from `now` on, when its schedule begins.
  void add(uint32_t rule, uint64_t now);
  // One that is there. What a disabled rule holds leaves in its time.
  void enable(uint32_t rule, bool enabled);
  void disable_all();

  // Counts the frame and applies the rules to its bytes.
  Fate walk(std::vector<uint8_t> &bytes, uint64_t now);
  // For the frame of the last walk().
  const std::vector<uint8_t> &cnp() const { return datapath_.cnp(); } // see NativeDatapath::cnp
  std::string comment(Fate fate) const;                               // for captures
  // Holds the frame if rules hold the one of the last walk(); false: none does.
  bool hold(uint64_t now, const wire::Frame &frame);

  wire::HoldStage &stage() { return stage_; }
  const roce_rule_count &count(uint32_t rule) const { return datapath_.rule_count(rule); }
  bool makes_cnps() const { return features_ & ROCE_FEATURE_CNP; }

private:
  void write_set();

  std::vector<impair::Rule> rules_; // slot: index
  std::vector<uint32_t> order_;     // slots of those that are there
  uint32_t added_ = 0;              // by which they are numbered, as at a port
  uint32_t features_;
  NativeDatapath datapath_;
  wire::HoldStage stage_;
  std::vector<wire::HeldBy> held_by_; // scratch
};

} // namespace xr::simulate
