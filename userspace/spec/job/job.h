// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job do: messages between them, compute, and which operation waits for which.
// Collectives (collective.h) and others' formats are made into this; progress::JobProgress runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace xr::job {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Operation {
  enum class Kind : uint8_t {
    Message, // `amount` bytes from `rank` to `peer`
    Compute, // `rank` is busy for `amount` ns
    Join,    // takes no time
    Flow,    // flow number `amount` of the experiment begins
  };
  Kind kind = Kind::Join;
  bool control = false; // Message: a clear-to-send, not data
  uint32_t rank = kNone, peer = kNone;
  // Message: which of the connections from `rank` to `peer`. Compute: the processor of the rank,
  // which does one operation after the other; kNone: it waits for no other.
  uint32_t channel = 0;
  uint32_t step = kNone; // whose time it counts for: index of Job::steps
  // Of its needs: as many begin it; 0: all.
  uint32_t fewest = 0;
  uint64_t amount = 0;
};

// An operation waits until another one has begun, has been sent (messages and flows: the sender
// knows that all has arrived), or is complete (messages and flows: the receiver has all).
struct Need {
  enum class When : uint8_t { Begun, Sent, Complete };
  uint32_t operation = kNone;
  When when = When::Complete;
};

// What is timed as one: an iteration of a collective, or a whole job without iterations.
struct Step {
  std::string name;
  uint64_t bytes = 0; // the collective's size; 0: none is defined
  // busbw = bytes / time x bus_factor (nccl-tests, doc/PERFORMANCE.md); 0: none is defined.
  double bus_factor = 0;
};

struct Job {
  std::string name;
  std::string kind; // "all_reduce ring", "goal", ...
  uint64_t start_ns = 0;
  std::vector<std::string> hosts; // by rank
  std::vector<Step> steps;
  std::vector<Operation> operations;

  // Adds an operation; its needs are of operations before it. Returns its number.
  uint32_t add(const Operation &operation, std::span<const Need> needs = {}) {
    const auto number = static_cast<uint32_t>(operations.size());
    operations.push_back(operation);
    needs_.insert(needs_.end(), needs.begin(), needs.end());
    ends_.push_back(needs_.size());
    return number;
  }
  uint32_t add(const Operation &operation, std::initializer_list<Need> needs) {
    return add(operation, std::span<const Need>(needs.begin(), needs.size()));
  }
  std::span<const Need> needs(uint32_t operation) const {
    const size_t from = operation ? ends_[operation - 1] : 0;
    return {needs_.data() + from, ends_[operation] - from};
  }

private:
  std::vector<Need> needs_;
  std::vector<size_t> ends_; // by operation: of its needs in needs_
};

} // namespace xr::job
