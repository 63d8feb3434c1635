// SPDX-License-Identifier: Apache-2.0
// Compares the captures of places in a row: each place with the next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/survey.h"
#include "model/comparison.h"
#include "roce/wire.h"

namespace xr::compare {

struct Input {
  std::string path; // of the capture; it is read more than once
  std::string name; // of the place
  bool port = false;
  uint64_t capture_lost = 0;
  std::optional<Span> span =
      {}; // the time that it covers, if that is known better than by its frames
};

struct Options {
  uint16_t udp_port = ROCE_UDP_PORT;
  uint64_t window_ns = 1'000'000'000;          // 60 s at most
  size_t memory = 256 << 20;                   // for packets that are not decided yet
  size_t streams = 65536;                      // of a place; more are counted
  std::optional<int64_t> clock_offset_ns = {}; // of each place to the one before, if it is known
  const std::atomic<bool> *stop = nullptr;     // set to true to end early with the result so far
  std::function<void(uint64_t bytes, uint64_t total)> on_progress = {};
};

struct Outcome {
  Comparison comparison;
  std::vector<Error> troubles; // truncated or damaged captures: compared as far as they go
};

// At least two inputs. Error: nothing could be compared.
Result<Outcome> compare(const std::vector<Input> &inputs, const Options &options);

} // namespace xr::compare
