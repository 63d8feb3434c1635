// SPDX-License-Identifier: Apache-2.0
// What following the QP pairs of a capture found.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/pair_name.h"
#include "roce/episode.h"

namespace xr {

struct EpisodeRow {
  PairName name; // the stream that misses PSNs
  roce_episode episode{};
};

// Frames of findings where there are several captures: the capture's index, shifted, and the number
// of the frame in it.
inline constexpr unsigned kFileShift = 40;

struct FindingRow {
  PairName name; // the stream of requests
  roce_finding finding{};
};

// One a stream of requests.
struct PairRow {
  PairName name;
  bool answers = false; // the stream of its answers is known
  uint64_t requests = 0, acks = 0, acked_psns = 0;
  uint32_t naks = 0, go_backs = 0, selective = 0, timers_grown = 0, timers_fixed = 0;
  uint32_t causes[ROCE_CAUSES] = {}; // episodes
  uint32_t msn_unchecked = 0;
  uint32_t ce = 0, answers_ce = 0, cnps = 0; // marked CE; CNPs to the sender of the requests
};

// CNPs from one address (a notification point), and the least time between two of them: to the same
// QP, to the same address, to any. 0: there were no two.
struct CnpRow {
  std::array<uint32_t, 4> src{}; // as in roce_key
  uint64_t cnps = 0;
  uint32_t qps = 0, destinations = 0; // to which there were two or more
  uint64_t qp_ns = 0, destination_ns = 0, port_ns = 0;
};

struct Episodes {
  uint64_t first_ns = 0;          // the capture's first frame: times are since then
  std::vector<std::string> files; // if there are several captures
  std::vector<EpisodeRow> episodes;
  std::vector<FindingRow> findings;
  std::vector<PairRow> pairs;
  std::vector<CnpRow> cnps;
  // losses
  uint64_t pairs_full = 0;       // packets of pairs without a record
  uint64_t episodes_dropped = 0; // beyond the number that is kept
  uint64_t findings_dropped = 0;
  uint64_t holes_forgotten = 0; // gaps beyond 16 at once in a round: `missing` is too low
  uint64_t cnps_forgotten = 0;  // CNPs to QPs beyond 65,536: not in `cnps`
  uint64_t unpaired = 0;        // answers whose requests are not known
};

} // namespace xr
