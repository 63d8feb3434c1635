// SPDX-License-Identifier: Apache-2.0
// What happened to packets between places in a row: captures or ports, in the order given. Times
// are in nanoseconds. Places are numbered from 0 and called A, B, C ... in reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roce/parse.h"

namespace xr {

// A place and its whole capture.
struct ComparedPlace {
  std::string name; // of the file or port
  bool port = false;
  uint64_t frames = 0;
  uint64_t packets = 0;      // RoCE packets that belong to a stream: those that are compared
  uint64_t unassigned = 0;   // RoCE packets of reserved opcodes, which belong to no stream
  uint64_t streams_full = 0; // packets left out, as there were too many streams
  uint64_t fragments = 0, malformed = 0;
  uint64_t bad_icrc = 0; // of the packets
  uint64_t naks = 0, rnr_naks = 0;
  uint64_t capture_lost = 0;          // frames that the capture of a port lost
  uint64_t first_ns = 0, last_ns = 0; // the time that the capture covers, since 1970
  bool truncated = false;
};

// Packets that travel from a place to the next one on their way.
// seen_from = matched + lost + outside_from;
// seen_to = matched + duplicated + only_to + outside_to.
struct ComparedCounts {
  uint64_t seen_from = 0, seen_to = 0;
  uint64_t matched = 0;
  uint64_t lost = 0;       // seen at the first place, not at the next, which captured then
  uint64_t duplicated = 0; // seen at the next place more often than at the first
  uint64_t reordered = 0;  // arrived after a packet that was sent later (RFC 4737)
  uint64_t ce = 0;         // CE at the next place and not at the first
  uint64_t ecn = 0, dscp = 0, vlan = 0; // changed otherwise
  uint64_t corrupted = 0;               // the iCRC is wrong at the next place and not at the first
  uint64_t only_to = 0;     // seen at the next place, not at the first, which captured then
  uint64_t only_to_bad = 0; // of those, with a wrong iCRC: corrupted so that they match no packet
  // The other place did not capture at that time, or its capture may have begun or ended then.
  uint64_t outside_from = 0, outside_to = 0;

  void add(const ComparedCounts &other);
  void make_unknown(); // counts as outside what counts as lost or only_to
};

struct LatencySummary {
  uint64_t count = 0;
  int64_t min = 0, max = 0;
  double mean = 0;
  bool quantiles = false; // p50, p99 are known
  int64_t p50 = 0, p99 = 0;
};

// Both directions between two neighbouring places. Place `from` + 1 is the other one.
struct ComparedLeg {
  enum class Clock { Given, BothWays, Unknown };

  uint32_t from = 0;
  Clock clock = Clock::Unknown;
  int64_t offset_ns = 0; // clock of the second place minus that of the first; subtracted
  uint64_t anchors = 0;  // packets by which the clocks were compared
  uint64_t span_ns = 0;  // time that both captures cover; 0: none
  struct Way {
    ComparedCounts counts;
    LatencySummary latency;
  };
  std::array<Way, 2> ways; // [0]: in the order of the places, [1]: in the other

  struct Moment {
    uint64_t start_ns = 0; // since the first frame of the first place, by its clock
    bool backward = false; // of ways[1]
    uint64_t matched = 0, lost = 0, ce = 0;
    LatencySummary latency;
  };
  uint64_t moment_ns = 0; // duration of each
  std::vector<Moment> over_time;

  // Packets decided before their time, as the memory was full; the least time that one waited.
  uint64_t decided_early = 0, least_window_ns = 0;

  // No packet was seen at both places: nothing is known of what happened between. No packet counts
  // as lost or only_to then; all are `outside`. Why that may be:
  enum class Apart { No, NoPackets, Directions, Times, Unknown };
  Apart apart = Apart::No;
};

// One stream between two neighbouring places.
struct ComparedStream {
  roce_key key{};
  uint8_t opcode = 0;        // of its first packet: the transport
  uint32_t from = 0, to = 0; // places, in the direction of the packets
  bool assumed = false;      // this direction: nothing shows it
  ComparedCounts counts;
  LatencySummary latency;

  // For the whole row of places: equal in each leg of a stream.
  uint32_t first = 0, last = 0; // the places where its packets came first and last
  uint64_t lost_before = 0;     // PSNs that did not reach the first place
  uint64_t lost_after = 0;      // times that the sender went back to a PSN that the last place saw
  std::vector<uint32_t> lost_from; // first places of the legs on which packets were lost
};

struct Comparison {
  std::vector<ComparedPlace> places;
  std::vector<ComparedLeg> legs;
  std::vector<ComparedStream> streams; // ordered by leg, then by appearance
  uint64_t window_ns = 0;
  uint64_t latency_histograms_full = 0; // streams without quantiles, as there were too many
  bool stopped = false;

  const ComparedLeg *leg_of(const ComparedStream &row) const; // none: it was not compared
};

} // namespace xr
