// SPDX-License-Identifier: Apache-2.0
#include "experiment/flow_entry.h"

#include "parse/yaml.h"

namespace xr::experiment {

namespace {

using simulate::FlowSetup;

// Equal numbers of senders and receivers send in pairs, unless that would pair a host with itself;
// otherwise each sender sends to each other receiver.
std::vector<FlowSetup> pairs(const FlowEntry &entry) {
  std::vector<FlowSetup> flows;
  bool paired = entry.from.size() == entry.to.size();
  for (size_t i = 0; i < entry.from.size() && paired; i++)
    paired = entry.from[i] != entry.to[i];
  for (size_t i = 0; i < entry.from.size(); i++)
    for (size_t j = 0; j < entry.to.size(); j++) {
      if ((paired && i != j) || entry.from[i] == entry.to[j])
        continue;
      flows.push_back(entry.like);
      flows.back().src = entry.from[i];
      flows.back().dst = entry.to[j];
    }
  return flows;
}

Result<std::vector<FlowSetup>> listed(const FlowEntry &entry, const std::string &directory) {
  if (entry.list.find('\n') != std::string::npos)
    return simulate::listed_flows(entry.list, entry.like);
  const bool absolute = entry.list.starts_with('/') || directory.empty();
  const auto text = XR_TRY(parse::read_file(absolute ? entry.list : directory + "/" + entry.list));
  return simulate::listed_flows(text, entry.like);
}

} // namespace

Result<std::vector<FlowSetup>> expand(const FlowEntry &entry, const simulate::Scenario &scenario,
                                      const std::string &directory) {
  const uint64_t until = entry.until_ns ? entry.until_ns : scenario.duration_ns;
  const uint64_t seed = scenario.seed + scenario.flows.size();
  if (entry.workload == "poisson") {
    simulate::PoissonTraffic traffic = entry.poisson;
    traffic.sources = entry.from;
    traffic.destinations = entry.to;
    traffic.rate = scenario.topology.rate;
    traffic.from_ns = entry.like.start_ns;
    traffic.until_ns = until;
    traffic.seed = seed;
    return simulate::poisson(traffic, entry.like);
  }
  if (entry.workload == "incast") {
    if (entry.to.size() != 1)
      return Error{"an incast has one receiver", "to: receiver"};
    simulate::Incast traffic = entry.incast;
    traffic.sources = entry.from;
    std::erase(traffic.sources, entry.to.front());
    traffic.destination = entry.to.front();
    traffic.from_ns = entry.like.start_ns;
    traffic.until_ns = until;
    traffic.seed = seed;
    return simulate::incast(traffic, entry.like);
  }
  if (!entry.list.empty())
    return listed(entry, directory);
  std::vector<FlowSetup> flows;
  for (auto &pair : pairs(entry)) {
    if (entry.workload.empty()) {
      flows.push_back(std::move(pair));
      continue;
    }
    simulate::OnOff traffic = entry.on_off;
    traffic.from_ns = entry.like.start_ns;
    traffic.until_ns = until;
    auto rows = XR_TRY(simulate::on_off(traffic, pair));
    flows.insert(flows.end(), rows.begin(), rows.end());
  }
  return flows;
}

} // namespace xr::experiment
