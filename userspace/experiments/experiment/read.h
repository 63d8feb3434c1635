// SPDX-License-Identifier: Apache-2.0
// The parts of an experiment file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/rules.h"
#include "experiment/yaml_map.h"
#include "flow/flow.h"
#include "model/link.h"
#include "parse/words.h"
#include "rate/control.h"

namespace xr::experiment {

Status read_topology(const YamlReader &reader, const YAML::Node &node,
                     simulate::Topology &topology);
// "ecmp 5-tuple+qpn seed 7", "spray random", "flowlet 50us", or a map of one of them.
Status read_routing(const YamlReader &reader, const YAML::Node &node, simulate::Routing &routing);
// The topology is known; names of queues are checked against it.
Status read_queues(const YamlReader &reader, const YAML::Node &node, simulate::Scenario &scenario);

// Words of `link` that an experiment's queue cannot have.
Status check_queue(const LinkSpec &spec);

// Reads the traces that queues and events name, relative to `directory`. `last`: the name of the
// last one that it tried.
Status read_traces(const std::string &directory, simulate::Scenario &scenario, std::string &last);

// What flows start from.
struct FlowDefaults {
  flow::Flow flow;
  bool reliable = true;
  std::string directory; // of files with lists of flows, and of jobs
};
// "dcqcn preset paper", "timely", "fixed 1gbit" or "none".
Result<congestion::Control> read_congestion(const std::string &words);
Status read_flows(const YamlReader &reader, const YAML::Node &node, const FlowDefaults &defaults,
                  simulate::Scenario &scenario);
// A map, or a list of maps, each a job.
Status read_collective(const YamlReader &reader, const YAML::Node &node,
                       const FlowDefaults &defaults, simulate::Scenario &scenario);
// A list of files, each a job.
Status read_jobs(const YamlReader &reader, const YAML::Node &node, const FlowDefaults &defaults,
                 simulate::Scenario &scenario);
// The notification point that the flows' DCQCN parameters describe. `mode`, `interval`: they must
// agree in it.
Status derive_cnp_pacing(simulate::Scenario &scenario, bool mode, bool interval);

Status read_reliability(const YamlReader &reader, const YAML::Node &node,
                        simulate::Scenario &scenario);
// Changes what the flows describe.
Status read_cnp(const YamlReader &reader, const YAML::Node &node, congestion::CnpPacing &cnp);

// Topology and seed are known.
Status read_rules(const YamlReader &reader, const YAML::Node &node,
                  const simulate::Scenario &scenario, Rules &rules);
// What follows `impair` in the schedule.
Status read_rule_change(parse::WordReader &words, uint64_t at_ns,
                        const simulate::Scenario &scenario, Rules &rules);
// By time. Error: a rule is changed when it is not there.
Status order_rule_changes(Rules &rules);
Status read_captures(const YamlReader &reader, const YAML::Node &node,
                     std::vector<CaptureSetup> &captures);
// Episodes, or none.
Status read_analyze(const YamlReader &reader, const YAML::Node &node, std::optional<bool> &analyze);
// The captures that the analysis needs, where they are not there.
void add_captures(std::vector<CaptureSetup> &captures);

Status read_schedule(const YamlReader &reader, const YAML::Node &node, simulate::Scenario &scenario,
                     Rules &rules);

// The index of a flow or queue by its name, or the queue's alias; an error with the nearest name.
Result<size_t> flow_named(const simulate::Scenario &scenario, const std::string &name);
Result<std::string> queue_named(const simulate::Scenario &scenario, const std::string &name);
// A queue of the link "A-B"; also by a queue's name.
Result<std::string> link_named(const simulate::Scenario &scenario, const std::string &name);

// `fluid`: also whether it is stable, which takes longer than all else.
ExperimentPrediction predict(const simulate::Scenario &scenario, bool fluid);

} // namespace xr::experiment
