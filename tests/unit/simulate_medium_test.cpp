// SPDX-License-Identifier: Apache-2.0
// Frames by way of a medium: without delay a run is as in virtual time, with one it is longer by it
// at each link, and what the medium loses is lost.
#include <deque>
#include <functional>

#include <gtest/gtest.h>

#include "job/collective.h"
#include "parse/words.h"
#include "simulate/simulation.h"
#include "simulate/topology.h"
#include "wire/link_words.h"

namespace xr::simulate::simulate_medium_test {
namespace {

constexpr uint64_t kMbit = 1'000'000;

Scenario ring(unsigned ranks, unsigned iterations) {
  Scenario scenario;
  scenario.topology.star_hosts = ranks;
  scenario.topology.rate = 100 * kMbit;
  scenario.topology.delay = 100'000;
  scenario.duration_ns = 10'000'000'000;
  scenario.until_done = true;
  scenario.queue = wire::parse_link({"buffer", "10M"}).get();
  job::Collective c;
  c.name = "train";
  c.kind = "all_reduce";
  c.size = 64'000;
  c.iterations = iterations;
  c.hosts = host_names(scenario.topology);
  auto made = job::expand(c);
  EXPECT_TRUE(made.ok());
  JobSetup setup{std::move(made).get(), {}};
  setup.like.flow.verb = packet::Verb::WriteImmediate;
  setup.like.flow.pmtu = 1024;
  scenario.jobs.push_back(std::move(setup));
  return scenario;
}

// Keeps each frame for `delay` ns, and loses those that `loses` says.
class Delay : public Medium {
public:
  Delay(Simulation &simulation, uint64_t delay) : simulation_(simulation), delay_(delay) {
    simulation.use(*this);
  }
  void carry(uint32_t number, std::span<const uint8_t> frame) override {
    frames++;
    if (!loses || !loses(frames))
      there_.push_back({simulation_.now() + delay_, number, {frame.begin(), frame.end()}});
  }
  uint64_t stall_ns() const override { return delay_ + 1; }
  void run(uint64_t ns) {
    while (!simulation_.done()) {
      const uint64_t next = there_.empty() ? UINT64_MAX : there_.front().at;
      simulation_.run_until(std::min({simulation_.next_event(), next, ns}));
      while (!there_.empty() && there_.front().at <= simulation_.now()) {
        const Frame frame = std::move(there_.front());
        there_.pop_front();
        simulation_.arrived(frame.wire, frame.bytes);
      }
    }
  }

  uint64_t frames = 0;
  std::function<bool(uint64_t)> loses;

private:
  struct Frame {
    uint64_t at = 0;
    uint32_t wire = 0;
    std::vector<uint8_t> bytes;
  };
  Simulation &simulation_;
  uint64_t delay_;
  std::deque<Frame> there_;
};

struct Ran {
  ExperimentMeasurement measured;
  Carried carried;
};

Ran run(const Scenario &scenario, uint64_t delay, std::function<bool(uint64_t)> loses = {}) {
  auto simulation = Simulation::make(scenario);
  EXPECT_TRUE(simulation.ok()) << (simulation.ok() ? "" : simulation.error().message);
  Delay medium(**simulation, delay);
  medium.loses = std::move(loses);
  medium.run(scenario.duration_ns);
  return {(*simulation)->measure(), (*simulation)->carried()};
}

std::vector<uint64_t> times(const ExperimentMeasurement &measured) {
  std::vector<uint64_t> all;
  for (const ExperimentJob::Step &step : measured.jobs.at(0).steps)
    all.push_back(step.end_ns.value_or(0) - step.start_ns);
  return all;
}

TEST(SimulateMedium, WithoutDelayAsInVirtualTime) {
  const Scenario scenario = ring(4, 3);
  auto alone = Simulation::make(scenario);
  ASSERT_TRUE(alone.ok());
  (*alone)->run_until(scenario.duration_ns);
  const ExperimentMeasurement expected = (*alone)->measure();
  const Ran ran = run(scenario, 0);
  EXPECT_EQ(times(ran.measured), times(expected));
  EXPECT_EQ(ran.measured.packet_hops, expected.packet_hops);
  EXPECT_EQ(ran.carried.frames, expected.packet_hops);
  EXPECT_EQ(ran.carried.lost + ran.carried.foreign + ran.carried.more_ns, 0U);
  EXPECT_TRUE(ran.carried.stalls.empty());
}

TEST(SimulateMedium, ItsDelayIsAtEachLink) {
  const uint64_t delay = 50'000;
  const Scenario scenario = ring(4, 1);
  const Ran without = run(scenario, 0), with = run(scenario, delay);
  // Six messages one after the other, each by two links.
  const uint64_t longer = times(with.measured).at(0) - times(without.measured).at(0);
  EXPECT_GE(longer, 6 * 2 * delay);
  EXPECT_LE(longer, 6 * 2 * delay + 6 * 2 * delay / 10);
  EXPECT_EQ(with.carried.more.min(), delay);
  EXPECT_EQ(with.carried.more_ns, delay * with.carried.frames);
}

TEST(SimulateMedium, WhatItLosesIsLost) {
  const Scenario scenario = ring(4, 2);
  const Ran ran = run(scenario, 10'000, [](uint64_t frame) { return frame % 97 == 0; });
  EXPECT_EQ(ran.measured.jobs.at(0).left, 0U);
  EXPECT_GT(ran.carried.lost, 5U);
  uint64_t again = 0;
  for (const ExperimentFlow &flow : ran.measured.flows)
    again += flow.whole.retransmitted;
  EXPECT_GT(again, 0U);
}

TEST(SimulateMedium, WhatNobodySentArrivesNowhere) {
  const Scenario scenario = ring(2, 1);
  auto simulation = Simulation::make(scenario);
  ASSERT_TRUE(simulation.ok());
  Delay medium(**simulation, 0);
  (*simulation)->run_until(1000);
  (*simulation)->arrived(0, std::vector<uint8_t>(60));
  EXPECT_EQ((*simulation)->carried().foreign, 1U);
  EXPECT_EQ((*simulation)->carried().frames, 0U);
}

TEST(SimulateMedium, PausesPassItToo) {
  Scenario scenario = ring(4, 1);
  scenario.queue = wire::parse_link(parse::split("buffer 500k pfc xoff 60k xon 50k headroom 30k "
                                                 "priorities 3 map 24-31:3"))
                       .get();
  scenario.jobs.clear(); // all to one: the queue towards it fills
  scenario.until_done = false;
  scenario.duration_ns = 50'000'000;
  for (unsigned sender = 2; sender <= 4; sender++) {
    FlowSetup flow;
    flow.src = "host-" + std::to_string(sender);
    flow.dst = "host-1";
    flow.flow.verb = packet::Verb::WriteImmediate;
    flow.flow.pmtu = 1024;
    flow.flow.size.parts = {{.bytes = 64'000, .weight = 1}};
    flow.flow.path.tos = 26 << 2;
    scenario.flows.push_back(std::move(flow));
  }
  const Ran ran = run(scenario, 1000);
  uint64_t pauses = 0, drops = 0;
  for (const ExperimentQueue &queue : ran.measured.queues)
    pauses += queue.pauses;
  for (const ExperimentFlow &flow : ran.measured.flows)
    drops += flow.whole.drops;
  EXPECT_GT(pauses, 0U);
  EXPECT_EQ(drops, 0U);
  EXPECT_EQ(ran.carried.foreign, 0U);
}

} // namespace
} // namespace xr::simulate::simulate_medium_test
