// SPDX-License-Identifier: Apache-2.0
// The steps of a job and its late ranks.
// - A phase ends when no rank sends data for 10 us (more where there would be too many phases; on a
//   slow link, where that leaves less than two packets a phase, for twice the median silence, of
//   which the shortest is then the first). The silence that separates steps is above the largest
//   jump (ratio) of the sorted silences, of those jumps above which are at least two silences, and
//   half of all silent time. Then a part in which not all senders sent is one step with what
//   follows: the others wait for the late one. Where that leaves fewer than three steps, the parts
//   are the steps. They repeat when half of them are within a tenth of the median in bytes and half
//   of the periods within a quarter of it.
// - In a step, a rank is as late as its longest sample, 0 without one. It is an outlier when it is
//   above the median of all ranks by 10 us and by six times their spread (1.48 x median absolute
//   deviation; of two ranks: above the other), and above eight times the 99th percentile, over all
//   steps, of the second latest: what the job's jitter alone can do. Of two ranks: above 80 times
//   the lower quartile of the latest. A straggler is an outlier in two steps running; its cause is
//   that of most of its time.
// - Where there is no outlier, a rank that is moderately late in noise: in each of 32 steps it is
//   late beyond the noise if it is above nine tenths of what the other ranks were in these 32
//   steps, by 10 us. It is a straggler if it is so in 24 of them: by chance, once in 10^16.
// - A rank is silent when it sent nothing in the last step, and nobody sends new data for three
//   periods after it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/job_traffic.h"

namespace xr {

inline constexpr size_t kJobRanks = 256;

// When a rank could continue, and when it did.
struct JobSample {
  uint64_t ready_ns = 0, ns = 0;
  uint32_t rank = 0;
  JobCause cause = JobCause::LateSender;
};

// Times without silence, with their senders.
class JobPhases {
public:
  static constexpr size_t kMost = 1 << 16;
  struct Phase {
    JobStep step;
    std::array<uint64_t, kJobRanks / 64> senders{};
  };

  void data(uint64_t now, uint32_t from, uint32_t bytes) {
    if (now - last_ns_ >= silence_ns_ || phases_.empty())
      begin(now);
    last_ns_ = now;
    Phase &phase = phases_.back();
    phase.step.last_ns = now;
    phase.step.bytes += bytes;
    packets_++;
    phase.senders[from / 64] |= uint64_t{1} << (from % 64);
  }
  // A burst of data without silence. In the order of `first_ns`.
  void burst(uint64_t first_ns, uint64_t last_ns, uint32_t from, uint64_t bytes) {
    if (phases_.empty() || first_ns >= last_ns_ + silence_ns_)
      begin(first_ns);
    last_ns_ = std::max(last_ns_, last_ns);
    Phase &phase = phases_.back();
    phase.step.last_ns = last_ns_;
    phase.step.bytes += bytes;
    packets_ += 2; // more than one is known of it
    phase.senders[from / 64] |= uint64_t{1} << (from % 64);
  }
  // Fills steps, silence_ns, period_ns, duty, repeats and silent. `end_ns`: of the capture.
  void steps(JobTraffic &into, uint64_t end_ns) const;

private:
  void begin(uint64_t now);

  std::vector<Phase> phases_;
  uint64_t silence_ns_ = 10'000, last_ns_ = 0, packets_ = 0;
};

// Fills `stragglers`. Samples in order of time.
void find_stragglers(const std::vector<JobSample> &samples, JobTraffic &into);

} // namespace xr
