// SPDX-License-Identifier: Apache-2.0
// A job while it runs, in virtual time: which operations may begin, and when each began and was
// complete. Who drives it sends the messages and says what has arrived.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "job/job.h"

namespace xr::progress {

class JobProgress {
public:
  // When an operation began and ended, ns; kNever: not yet.
  struct Times {
    uint64_t begun = kNever, sent = kNever, complete = kNever;
  };

  explicit JobProgress(const job::Job &job);

  // What needs nothing begins. Once.
  void start(uint64_t now);
  // The next message or flow to begin, in the order in which they became ready; job::kNone: none
  // now.
  uint32_t take();
  // What became of a message or flow that take() returned. Completion may come before or after
  // sent().
  void sent(uint64_t now, uint32_t operation);
  void complete(uint64_t now, uint32_t operation);
  // Compute that ends at or before `now`.
  void advance(uint64_t now);
  // When advance() has something to do; kNever: not before another call.
  uint64_t wake_at() const { return due_.empty() ? kNever : due_.top().first; }

  bool done() const { return left_ == 0; }
  uint32_t left() const { return left_; } // operations that are not complete
  const Times &times(uint32_t operation) const { return times_[operation]; }
  // The need that came last, for which the operation waited; job::kNone: it waited for nothing.
  uint32_t waited_for(uint32_t operation) const { return last_[operation]; }
  const job::Job &job() const { return job_; }

private:
  using When = job::Need::When;
  struct Edge {
    uint32_t operation;
    When when;
  };
  struct Processor {
    bool busy = false;
    Ring<uint32_t> waiting; // operations, in the order in which they became ready
  };

  void happened(uint64_t now, uint32_t operation, When when);
  void begin(uint64_t now, uint32_t operation);
  void compute(uint64_t now, uint32_t operation);

  const job::Job &job_;
  std::vector<uint32_t> missing_; // by operation: needs that have not come; 0: it has begun
  std::vector<uint32_t> last_;
  std::vector<Times> times_;
  std::vector<size_t> first_edge_; // by operation, and the end
  std::vector<Edge> edges_;        // what waits for it
  Ring<uint32_t> ready_;
  std::map<std::pair<uint32_t, uint32_t>, Processor> processors_; // by rank and channel
  // By time and operation.
  std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>,
                      std::greater<>>
      due_;
  std::vector<std::pair<uint32_t, When>> pending_; // of happened()
  uint32_t left_ = 0;
};

} // namespace xr::progress
