// SPDX-License-Identifier: Apache-2.0
// Flows of a workload, as rows of a scenario: Poisson arrivals, incasts, on/off, a list. Each row
// is a copy of `like` with source, destination, start and size. Random values follow a seed only.
// To add a workload: a function that makes rows of flows, its keys in experiment/flows.cpp and
// flow_entry.cpp (expand); docs/experiments.md; simulate_traffic_test, experiment_file_test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"

namespace xr::simulate {

// A point of a cumulative distribution of flow sizes.
struct SizePoint {
  uint64_t bytes = 0;
  double percent = 0; // of flows that have at most so many bytes
};

// "websearch" and "hadoop". Error: a hint with the names.
Result<std::span<const SizePoint>> size_distribution(std::string_view name);
// A size for `uniform` in [0, 1): between two points by linear interpolation, at least 1 byte.
uint64_t size_of(std::span<const SizePoint> distribution, double uniform);
double mean_size(std::span<const SizePoint> distribution);

struct PoissonTraffic {
  std::vector<std::string> sources, destinations; // a destination is never its flow's source
  std::span<const SizePoint> sizes;               // empty: the sizes of `like`, which are then List
  // Share of `rate` that each source offers on average, in bytes of payload.
  double load = 0.3;
  uint64_t rate = 0;
  uint64_t from_ns = 0, until_ns = 0; // of the starts
  uint64_t seed = 1;
};
Result<std::vector<FlowSetup>> poisson(const PoissonTraffic &traffic, const FlowSetup &like);

// `degree` of `sources` send a message of `bytes` to `destination` at the same time, each
// `every_ns` others. 0: all sources.
struct Incast {
  std::vector<std::string> sources;
  std::string destination;
  unsigned degree = 0;
  uint64_t bytes = 0;
  uint64_t from_ns = 0, until_ns = 0, every_ns = 0; // every_ns 0: once
  uint64_t seed = 1;
};
Result<std::vector<FlowSetup>> incast(const Incast &incast, const FlowSetup &like);

// A message of `bytes` at the start of each period.
struct OnOff {
  uint64_t bytes = 0;
  uint64_t from_ns = 0, until_ns = 0, period_ns = 0;
};
Result<std::vector<FlowSetup>> on_off(const OnOff &traffic, const FlowSetup &like);

// Lines "SRC DST BYTES START [NAME]", START with a unit, like "host-1 host-2 64k 10us"; BYTES may
// be "endless"; # begins a comment. Error: which line is wrong.
Result<std::vector<FlowSetup>> listed_flows(std::string_view text, const FlowSetup &like);

} // namespace xr::simulate
