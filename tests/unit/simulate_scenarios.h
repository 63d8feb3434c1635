// SPDX-License-Identifier: Apache-2.0
// Scenarios of the simulator in few words, and what is asked of their results.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "parse/words.h"
#include "simulate/simulation.h"
#include "wire/link_words.h"

namespace xr::simulate {

inline constexpr uint64_t kUs = 1000, kMs = 1'000'000, kGbit = 1'000'000'000;

inline flow::Flow flow_words(const std::string &words) {
  const auto flow = flow::parse_flow(parse::split(words));
  if (!flow)
    throw std::runtime_error(words + ": " + flow.error().message);
  return flow.get();
}

inline LinkSpec queue_words(const std::string &words) {
  const auto spec = wire::parse_link(parse::split(words));
  if (!spec)
    throw std::runtime_error(words + ": " + spec.error().message);
  return spec.get();
}

inline Scenario star(unsigned senders, uint64_t rate, uint64_t duration, const std::string &queue) {
  Scenario scenario;
  scenario.topology.senders = senders;
  scenario.topology.rate = rate;
  scenario.duration_ns = duration;
  scenario.measure_from_ns = duration / 2;
  scenario.queue = queue_words(queue);
  return scenario;
}

inline FlowSetup &add_flow(Scenario &scenario, const std::string &src, const std::string &dst,
                           const std::string &words, bool reliable = false) {
  FlowSetup &setup = scenario.flows.emplace_back();
  setup.src = src;
  setup.dst = dst;
  setup.flow = flow_words(words);
  setup.reliable = reliable;
  return setup;
}

inline void add_senders(Scenario &scenario, const std::string &words, bool reliable = false) {
  for (unsigned i = 1; i <= scenario.topology.senders; i++)
    add_flow(scenario, "sender-" + std::to_string(i), "receiver", words, reliable);
}

inline std::unique_ptr<Simulation> make(const Scenario &scenario) {
  auto made = Simulation::make(scenario);
  if (!made)
    throw std::runtime_error(made.error().message + " (" + made.error().hint + ")");
  return std::move(made).get();
}

inline ExperimentMeasurement run(const Scenario &scenario) {
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  return simulation->measure();
}

inline const ExperimentQueue &queue_of(const ExperimentMeasurement &all, std::string_view name) {
  for (const ExperimentQueue &queue : all.queues)
    if (queue.name == name)
      return queue;
  throw std::runtime_error("no queue " + std::string(name));
}

} // namespace xr::simulate
