// SPDX-License-Identifier: Apache-2.0
// The rules of a run: planned from the experiment's, and put on the ports of its wire.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "model/experiment.h"
#include "places/plan.h"
#include "places/run_ports.h"

namespace xr::places {

// With times and rates at a fraction of the rates.
impair::RuleSpec scaled(impair::RuleSpec rule, double scale);

// Adds the experiment's rules and captures to a plan of its scaled scenario.
Status plan_rules(const experiment::Experiment &experiment, double scale, Plan &plan);

// The rules in the kernel, while the wire is attached.
class RuleRun {
public:
  RuleRun(const Plan &plan, RunPorts ports) : plan_(plan), ports_(std::move(ports)) {}

  Status begin(); // those that are there from the start
  // A rule that is deleted stays, disabled, so that its counts can be read at the end.
  Status change(const experiment::RuleChange &change);
  // The counts of the measured time begin.
  Status begin_measure(const experiment::Rules &rules);
  // Rows for all rules of the plan, with the experiment's words.
  Result<std::vector<ExperimentRule>> read(const experiment::Rules &rules) const;

private:
  const std::string &port(bool left) const { return (left ? ports_.left : ports_.right).ifname; }
  const std::string &netns() const { return ports_.left.netns; } // of both ports
  Status change_one(experiment::RuleChange::Kind kind, size_t index);

  const Plan &plan_;
  RunPorts ports_;
  std::vector<bool> there_;
  std::vector<ExperimentRule> measured_; // as of begin_measure()
};

} // namespace xr::places
