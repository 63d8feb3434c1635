// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "places/simulation_run.h"

namespace xr::places {

namespace {

using experiment::Experiment;

// Makes the run with packets too, where that takes no longer than a second or two.
Status compare_with_packets(simulate::Scenario scenario, ExperimentMeasurement &measured) {
  constexpr uint64_t kMost = 500'000;
  uint64_t bytes = 0;
  for (const ExperimentFlow &flow : measured.flows)
    bytes += flow.whole.bytes;
  uint32_t pmtu = UINT32_MAX;
  for (const simulate::FlowSetup &setup : scenario.flows)
    pmtu = std::min(pmtu, setup.flow.pmtu);
  for (const simulate::JobSetup &setup : scenario.jobs)
    pmtu = std::min(pmtu, setup.like.flow.pmtu);
  ExperimentFluid &fluid = measured.fluid.emplace();
  fluid.packets = bytes / pmtu;
  if (fluid.packets > kMost)
    return {};
  scenario.fluid = false;
  scenario.sample_ns = 0;
  auto simulation = XR_TRY(simulate::Simulation::make(scenario));
  simulation->run_until(scenario.duration_ns);
  const Differences found = differences(measured, simulation->measure());
  fluid.compared = found.compared;
  fluid.median = found.median;
  fluid.farthest = found.farthest;
  return {};
}

} // namespace

Result<ExperimentResult> run_virtual(const Experiment &experiment, const RunHooks &hooks,
                                     const std::string &out) {
  auto scenario = XR_TRY(with_rules(experiment, out));
  scenario.threads = hooks.threads;
  const bool fluid = scenario.fluid;
  auto simulation = XR_TRY(simulate::Simulation::make(std::move(scenario)));
  if (hooks.threads > 1 && !simulation->whole().empty() && hooks.note)
    hooks.note(fmt::format("it runs on one thread: {}", simulation->whole()));
  SimulationRun run(experiment, hooks, *simulation, "virtual");
  const Status ran = run.run([&](uint64_t ns) { simulation->run_until(ns); });
  const Status closed = simulation->close_captures();
  for (const Status *status : {&ran, &closed})
    if (!*status)
      return status->error();
  ExperimentResult result = run.result(hooks.answers);
  if (fluid)
    XR_TRY(compare_with_packets(XR_TRY(with_rules(experiment, out)), result.measured));
  return result;
}

} // namespace xr::places
