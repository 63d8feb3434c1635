// SPDX-License-Identifier: Apache-2.0
#include "places/simulated_network.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <net/if.h>

#include "frame_network/real_time.h"
#include "host/veth.h"
#include "parse/value.h"
#include "places/lane.h"
#include "places/plan.h"
#include "places/simulation_run.h"
#include "simulate/topology.h"

namespace xr::places {

namespace {

using experiment::Experiment;
using simulate::Network;
using simulate::Scenario;
using simulate::Topology;

constexpr uint32_t kMostHosts = 16;
constexpr size_t kMostLinks = 24; // of which 8 are between switches
constexpr uint32_t kPmtuOfMtu = 1024;
// What one processor writes, sends and receives.
constexpr double kFramesPerSecond = 100'000;
// The share that the machine may add to the links' serialization and delay, and the share of a step
// or flow for which it may stall: no step is longer by more than both.
constexpr double kMostMore = 0.03, kMostStalled = 0.04;

uint32_t mtu_of(const Scenario &scenario) {
  uint32_t pmtu = 0;
  for (const simulate::FlowSetup &setup : scenario.flows)
    pmtu = std::max(pmtu, setup.flow.pmtu);
  for (const simulate::JobSetup &setup : scenario.jobs)
    pmtu = std::max(pmtu, setup.like.flow.pmtu);
  return pmtu <= kPmtuOfMtu ? kMtu : kLargeMtu;
}

// Two namespaces: one with the ports of hosts, one with those of switches.
class Links {
public:
  static Result<Links> make(const Network &network, uint32_t mtu) {
    remove_stale_netns();
    Links made(XR_TRY(RunNetns::make("hosts")), XR_TRY(RunNetns::make("switches")));
    for (uint32_t i = 0; i < network.wires.size(); i += 2)
      XR_TRY(made.add(network, i, mtu));
    return made;
  }

  std::vector<std::string> netns() const { return {hosts_.name(), switches_.name()}; }
  const std::vector<frame_network::LinkPorts> &ports() const { return ports_; }

private:
  Links(RunNetns hosts, RunNetns switches)
      : switches_(std::move(switches)), hosts_(std::move(hosts)) {}

  // A host's port has its name, a switch's "SWITCH-NEIGHBOUR"; where that is no name of an
  // interface or taken, "linkN".
  frame_network::LinkEnd end_of(const Network &network, uint32_t wire) {
    const uint32_t node = network.wires[wire].from;
    const bool host = node < network.hosts;
    std::string name =
        host ? network.nodes[node]
             : fmt::format("{}-{}", network.nodes[node], network.nodes[network.wires[wire].to]);
    if (name == "." || name == ".." || name.size() >= IFNAMSIZ || !names_.insert(name).second) {
      name = fmt::format("link{}", wire);
      names_.insert(name);
    }
    return {name, host ? 0U : 1U};
  }

  Status add(const Network &network, uint32_t wire, uint32_t mtu) {
    const frame_network::LinkPorts link{end_of(network, wire), end_of(network, wire + 1)};
    const auto veth_end = [this](const frame_network::LinkEnd &end) {
      return host::VethEnd{end.ifname, netns()[end.netns]};
    };
    XR_TRY(host::make_veth(veth_end(link.a), veth_end(link.b), mtu));
    ports_.push_back(link);
    return {};
  }

  RunNetns switches_, hosts_;
  std::set<std::string> names_;
  std::vector<frame_network::LinkPorts> ports_;
};

// The run in virtual time, and the most frames a second that its links pass.
struct Virtual {
  ExperimentMeasurement measured;
  double frames_per_second = 0;
};

Result<Virtual> run_in_virtual_time(Scenario scenario) {
  constexpr uint64_t kSteps = 200;
  scenario.sample_ns = 0;
  scenario.captures.clear();
  auto simulation = XR_TRY(simulate::Simulation::make(scenario));
  Virtual found;
  const uint64_t step = std::max<uint64_t>(scenario.duration_ns / kSteps, 1);
  std::vector<uint64_t> hops{0};
  while (!simulation->done()) {
    simulation->run_until(simulation->now() + step);
    hops.push_back(simulation->totals().hops);
  }
  // If the duration is a distant limit, the whole run is in the first steps.
  const auto in_steps = static_cast<double>(std::min(step, simulation->now()));
  for (size_t i = 1; i < hops.size() && in_steps > 0; i++)
    found.frames_per_second = std::max(found.frames_per_second,
                                       static_cast<double>(hops[i] - hops[i - 1]) * 1e9 / in_steps);
  found.measured = simulation->measure();
  return found;
}

Status check_frames(const Virtual &expected, double scale) {
  const double wanted = expected.frames_per_second * scale;
  if (wanted <= kFramesPerSecond)
    return {};
  return Error{fmt::format("links would pass {:.0f} frames/s, and this machine {:.0f}", wanted,
                           kFramesPerSecond),
               fmt::format("--scale 1/{}", round_up(wanted / scale / kFramesPerSecond))};
}

// The largest share of a step, or without jobs of a flow, in which the machine stalled.
double most_stalled(const ExperimentMeasurement &measured, const simulate::Carried &carried) {
  double most = 0;
  const auto look = [&](uint64_t from, uint64_t to) {
    uint64_t stalled = 0;
    for (const auto &[begun, ended] : carried.stalls)
      if (begun < to && ended > from)
        stalled += std::min(ended, to) - std::max(begun, from);
    if (to > from)
      most = std::max(most, static_cast<double>(stalled) / static_cast<double>(to - from));
  };
  for (const ExperimentJob &job : measured.jobs)
    for (const ExperimentJob::Step &step : job.steps)
      look(step.start_ns, step.end_ns.value_or(step.start_ns));
  for (const ExperimentFlow &flow : measured.flows)
    if (measured.jobs.empty())
      look(flow.start_ns, flow.end_ns.value_or(flow.start_ns));
  return most;
}

// Why the machine was too late for the run; empty: it was not.
std::string why_late(const ExperimentMeasurement &measured, const simulate::Carried &carried,
                     double scale) {
  const auto words = [scale](const char *what, double share) {
    return fmt::format("{} {:.1f} % longer: the machine is too slow or too busy; --scale 1/{}",
                       what, share * 100, round_up(2 * share / kMostMore / scale));
  };
  if (measured.frames->more > kMostMore)
    return words("links took", measured.frames->more);
  const double stalled = most_stalled(measured, carried);
  return stalled > kMostStalled ? words("by stalls a step or a flow took up to", stalled) : "";
}

ExperimentFrames frames_of(const simulate::Carried &carried, const Differences &found) {
  ExperimentFrames frames;
  frames.compared = found.compared;
  frames.median = found.median;
  frames.farthest = found.farthest;
  frames.carried = carried.frames;
  frames.lost = carried.lost;
  frames.more = carried.link_ns
                    ? static_cast<double>(carried.more_ns) / static_cast<double>(carried.link_ns)
                    : 0;
  frames.more_ns = carried.frames ? carried.more_ns / carried.frames : 0;
  frames.more_p99_ns = carried.more.quantile(0.99);
  return frames;
}

} // namespace

bool needs_network(const Scenario &scenario) {
  const Topology &topology = scenario.topology;
  using Kind = Topology::Kind;
  return !scenario.jobs.empty() || scenario.until_done || topology.star_hosts ||
         (topology.kind != Kind::Star && topology.kind != Kind::Dumbbell) ||
         std::ranges::any_of(scenario.flows,
                             [](const simulate::FlowSetup &setup) { return !setup.after.empty(); });
}

Status check_network(const Scenario &scenario) {
  const Network network = simulate::build_network(scenario.topology);
  if (scenario.fluid)
    return not_here("fidelity: flow is not possible", "leave it out, or use --on virtual");
  if (network.hosts > kMostHosts)
    return not_here(fmt::format("{} hosts are not possible", network.hosts),
                    fmt::format("at most {}, or --on virtual", kMostHosts));
  if (network.wires.size() > 2 * kMostLinks)
    return not_here(fmt::format("{} links are not possible", network.wires.size() / 2),
                    fmt::format("at most {}, or --on virtual", kMostLinks));
  for (const simulate::FlowSetup &setup : scenario.flows)
    XR_TRY(check_control(setup.flow).in(setup.name));
  for (const simulate::JobSetup &setup : scenario.jobs)
    XR_TRY(check_control(setup.like.flow).in(setup.job.name));
  return {};
}

Result<ExperimentResult> run_network(const Experiment &experiment, const NamespacesOptions &options,
                                     const RunHooks &hooks) {
  XR_TRY(check_network(experiment.scenario));
  Scenario scenario = XR_TRY(with_rules(experiment, options.out));
  scenario.threads = 1;
  scenario.divide_from = UINT32_MAX;
  const Network network = simulate::build_network(scenario.topology);
  const Virtual expected = XR_TRY(run_in_virtual_time(scenario));
  XR_TRY(check_frames(expected, options.scale));
  if (options.scale != 1 && options.note)
    options.note(fmt::format("the run is {:.6g} times as slow, and lasts {} for 1 ms",
                             1 / options.scale,
                             parse::duration_text(static_cast<uint64_t>(1e6 / options.scale))));
  const auto links = XR_TRY(Links::make(network, mtu_of(scenario)));
  auto simulation = XR_TRY(simulate::Simulation::make(scenario));
  auto live = XR_TRY(
      frame_network::RealTime::open(*simulation, links.netns(), links.ports(), options.scale));
  SimulationRun run(experiment, hooks, *simulation, "namespaces", options.scale);
  const Status ran = run.run([&](uint64_t ns) { live->run_until(ns); });
  const Status closed = simulation->close_captures();
  for (const Status *status : {&ran, &closed})
    if (!*status)
      return status->error();
  return run.result(hooks.answers, [&](ExperimentMeasurement &measured) {
    const ExperimentFrames &frames = measured.frames.emplace(
        frames_of(simulation->carried(), differences(expected.measured, measured)));
    if (const uint64_t lost = frames.lost + live->kernel_lost())
      measured.why_void.push_back(
          fmt::format("{} frames were lost between ports of this machine", lost));
    if (std::string why = why_late(measured, simulation->carried(), options.scale); !why.empty())
      measured.why_void.push_back(std::move(why));
  });
}

} // namespace xr::places
