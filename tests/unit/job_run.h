// SPDX-License-Identifier: Apache-2.0
// Runs of jobs at one switch, and the times of messages on idle links by hand.
#pragma once

#include <gtest/gtest.h>

#include "progress/progress.h"
#include "simulate/simulation.h"
#include "wire/link_words.h"

namespace xr {

constexpr uint64_t kRate = 100'000'000'000, kDelay = 500, kPmtu = 4096;
// RoCEv2 over IPv4: Ethernet 14, IPv4 20, UDP 8, BTH 12, iCRC 4; RETH 16, immediate 4 (IBA vol. 1).
constexpr uint64_t kHeaders = 58, kReth = 16, kImmediate = 4, kAeth = 4;

inline ExperimentJob run_job(job::Job job) {
  simulate::Scenario scenario;
  scenario.topology.kind = simulate::Topology::Kind::Graph;
  scenario.topology.rate = kRate;
  scenario.topology.delay = kDelay;
  scenario.topology.graph.switches = {"s"};
  for (size_t i = 0; i < job.hosts.size(); i++) {
    job.hosts[i] = "h" + std::to_string(i);
    scenario.topology.graph.links.push_back(
        {.a = job.hosts[i], .b = "s", .rate = kRate, .delay = kDelay});
  }
  scenario.duration_ns = 10'000'000'000;
  scenario.until_done = true;
  scenario.queue = wire::parse_link({"buffer", "100M"}).get();
  scenario.reliability.window = 65536;
  simulate::JobSetup setup{std::move(job), {}};
  setup.like.flow.verb = packet::Verb::WriteImmediate;
  setup.like.flow.pmtu = kPmtu;
  scenario.jobs.push_back(std::move(setup));
  auto simulation = simulate::Simulation::make(scenario);
  EXPECT_TRUE(simulation.ok()) << (simulation.ok() ? "" : simulation.error().message);
  (*simulation)->run_until(scenario.duration_ns);
  return (*simulation)->measure().jobs.at(0);
}

inline uint64_t time_of(const ExperimentJob &job) {
  return *job.steps.front().end_ns - job.steps.front().start_ns;
}

inline double bytes_ns(uint64_t bytes) { return static_cast<double>(bytes) * 8e9 / kRate; }
// A message of whole packets: on the host's link, then its last packet on the switch's.
inline double message_ns(uint64_t bytes) {
  const uint64_t packets = bytes / kPmtu;
  return bytes_ns(bytes + packets * kHeaders + kReth + kImmediate) +
         bytes_ns(kPmtu + kHeaders + kImmediate + (packets == 1 ? kReth : 0)) + 2 * kDelay;
}
inline double ack_ns() { return bytes_ns(kHeaders + kAeth); }

} // namespace xr
