// SPDX-License-Identifier: Apache-2.0
// What a capture says about a training job: ranks that exchange data in steps. Times in ns of the
// capture's clock; bytes are payload of WRITEs and SENDs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address.h"

namespace xr {

enum class JobPattern : uint8_t {
  Other,
  Ring,              // each rank sends to one and receives from one, in one circle
  BidirectionalRing, // each with two neighbours, both ways, in one circle
  Pairs,             // the peers of each rank are those of halving-doubling: rank XOR 2^i
  Tree,              // both ways, connected, one pair of edges less than ranks
  AllToAll,          // each to each
  Incast,            // all to one
};

// Why a rank is late. LateStart: no clear-to-send (CTS) was seen, only when it began to send.
enum class JobCause : uint8_t { LateSender, LateReceiver, LateStart };

struct JobEdge {
  uint32_t from = 0, to = 0; // ranks: index in JobTraffic::ranks
  uint64_t bytes = 0, messages = 0;
  uint64_t cts = 0;  // clear-to-sends that `to` sent for it
  bool bulk = false; // one of those that make the pattern
};

struct JobStep {
  static constexpr uint32_t kNoRank = UINT32_MAX;
  uint64_t first_ns = 0, last_ns = 0; // of its data packets
  uint64_t bytes = 0;
  // The outlier among the ranks, and how late it was above the median of all; kNoRank: none.
  uint32_t late_rank = kNoRank;
  uint64_t late_ns = 0;
};

struct JobStraggler {
  uint32_t rank = 0;
  JobCause cause = JobCause::LateSender;
  size_t first_step = 0, steps = 0; // index of the first, and how many running: at least two
  uint64_t late_ns = 0;             // median over these of its time above the median of all ranks
};

// The most distinct senders whose data reached one receiver within a time.
struct JobIncast {
  uint64_t window_ns = 0;
  uint32_t senders = 0, to = 0; // rank
  uint64_t at_ns = 0;           // the newest of these packets
};

struct JobStorm {
  uint64_t first_ns = 0, last_ns = 0;
  uint32_t qps = 0; // distinct request streams that went back
  uint64_t rewinds = 0;
};

struct JobTraffic {
  static constexpr size_t kExtents = 24;

  std::vector<Address> ranks; // that sent or received data
  std::vector<JobEdge> edges; // most bytes first
  JobPattern pattern = JobPattern::Other;
  uint32_t exchanging = 0; // ranks that both send and receive on edges of the bulk
  std::vector<JobStep> steps;
  bool repeats = false;    // half of the steps are near the median in bytes and in period
  uint64_t silence_ns = 0; // steps are apart by at least this; 0: no steps
  uint64_t period_ns = 0;  // median, start to start; 0: fewer than three steps
  double duty = 0;         // median exchange / period
  std::vector<JobStraggler> stragglers;
  // Ranks that sent nothing in the last step, which the others began, and for how long then nobody
  // sent new data; empty: none, or the capture ends soon after it.
  std::vector<uint32_t> silent;
  uint64_t silent_ns = 0;
  bool cts = false; // seen for most of the messages of the bulk
  std::array<JobIncast, 3> incast{{{10'000}, {100'000}, {1'000'000}}};
  // Packets that came late, not sent again, by reordering extent (RFC 4737, 4.2.1): [i] counts
  // extents from 2^i to 2^(i+1) - 1.
  std::array<uint64_t, kExtents> reordered{};
  std::vector<JobStorm> storms;

  uint64_t ranks_full = 0;      // packets of hosts above the limit: not in these
  uint64_t samples_full = 0;    // times of messages above the limit: not searched for stragglers
  uint64_t rewinds_full = 0;    // go-backs above the limit: in no storm
  uint64_t extents_unknown = 0; // packets that came late after more gaps than are remembered
  uint64_t untimed = 0;         // packets without a time

  // Steps that repeat, of ranks that exchange data. Two of them are any client and server, unless
  // there are CTS; of an incast at least three senders.
  bool is_job() const {
    const bool gather = pattern == JobPattern::Incast && ranks.size() > 3;
    return repeats && (exchanging > 2 || (exchanging == 2 && cts) || gather);
  }
};

} // namespace xr
