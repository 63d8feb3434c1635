// SPDX-License-Identifier: Apache-2.0
// A training job while it runs: its newest steps, from the bursts that a port keeps of each pair of
// hosts (include/roce/job.h). Steps are those that JobCollector finds in a capture of the same
// frames, as far as the pauses between them are not within messages; a late rank starts late, as
// the times of clear-to-sends are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/job_bursts.h"
#include "model/live_job.h"

namespace xr {

class JobFollower {
public:
  static constexpr size_t kSteps = 256;       // at least, that are looked at; it forgets older ones
  static constexpr size_t kBursts = 1U << 16; // it forgets older ones

  // What the port has at `now_ns`, by the clock of the bursts.
  void add(const JobBursts &reading, uint64_t now_ns);
  // The last step may continue.
  LiveJob live() const { return {job_, before_, missed_, settled()}; }

private:
  struct Burst {
    uint64_t first_ns = 0, last_ns = 0, bytes = 0, messages = 0;
    uint32_t from = 0, to = 0; // ranks
  };
  struct Pair {
    uint64_t taken = 0;   // of its bursts that ended
    uint64_t open_ns = 0; // first_ns of one that was taken before it ended
  };

  uint32_t rank_of(const Address &address);
  void take(const JobBursts::Pair &pair, uint64_t now_ns);
  void find(uint64_t now_ns);
  bool settled() const;
  void forget();
  void forget_before(uint64_t ns);

  std::map<Address, uint32_t> rank_numbers_;
  std::vector<Address> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, Pair> pairs_;
  std::vector<Burst> bursts_; // by first_ns
  JobTraffic job_;
  uint64_t whole_since_ = 0; // from then on no burst was missed
  uint64_t before_ = 0, missed_ = 0, full_ = 0;
};

} // namespace xr
