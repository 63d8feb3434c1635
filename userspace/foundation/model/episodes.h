// SPDX-License-Identifier: Apache-2.0
// What following QP pairs found, in captures or on a port.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/pair_name.h"
#include "roce/followed.h"

namespace xr {

// By enum roce_cause and enum roce_finding_type.
inline constexpr std::array<const char *, ROCE_CAUSES> kCauseNames = {
    "unknown", "nak", "read", "timeout", "rnr", "duplicate"};
inline constexpr std::array<const char *, ROCE_FINDINGS> kFindingNames = {
    "repeated_nak",  "nak_without_gap", "wrong_psn_resumed", "ack_beyond",
    "msn_wrong",     "ce_without_cnp",  "cnp_without_ce",    "pmtu_violated",
    "psn_violation", "read_not_obeyed", "icrc_bad"};

struct EpisodeRow {
  PairName name; // the stream that misses PSNs
  roce_episode episode{};
  // What began it asked the requester to send again (NAK, RNR NAK, READ), but that came so late
  // that a timer caused it: the NAK was lost after the observer, or was not obeyed.
  bool by_timer = false;
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
  uint32_t msn_unchecked = 0, reads_again = 0, reads_cut = 0;
  uint32_t ce = 0, answers_ce = 0, cnps = 0; // marked CE; CNPs to the sender of the requests
  uint64_t cnp_ns = 0;                       // least time between two of these; 0: unknown
  uint32_t oldest_psn = 0, unanswered = 0;   // PSNs from there on have no ACK when all ends
};

// Requests that were sent again and again, and not answered when all ends.
struct UnansweredRow {
  PairName name;
  bool silent = false; // nothing ever came back
  uint32_t psn = 0, psns = 0;
  uint64_t packets = 0; // without those sent again; with answers, also those answered
  uint64_t times = 0;   // that the first was sent
};

// CNPs from one address (a notification point), and the least time between two of them: to the same
// QP, to the same address, to any. 0: there were no two, or it is not known: on a port the latter
// two.
struct CnpRow {
  std::array<uint32_t, 4> src{}; // as in roce_key
  uint64_t cnps = 0;
  uint32_t qps = 0, destinations = 0; // to which there were two or more
  uint64_t qp_ns = 0, destination_ns = 0, port_ns = 0;
  bool port_steady = false; // nearly all times between two are port_ns; captures only
};

struct Episodes {
  uint64_t first_ns = 0; // the capture's first frame: times are since then
  // On a port: what to add to the kernel's clock for the time of day. 0: a capture.
  uint64_t realtime_offset_ns = 0;
  std::vector<std::string> files; // if there are several captures
  std::vector<EpisodeRow> episodes;
  std::vector<FindingRow> findings;
  std::vector<PairRow> pairs;
  std::vector<CnpRow> cnps;
  // packets that were not followed
  uint64_t pairs_full = 0;       // packets of pairs without a record
  uint64_t pairs_contended = 0;  // packets whose pair's record another CPU was changing
  uint64_t episodes_dropped = 0; // beyond those that are kept
  uint64_t findings_dropped = 0;
  uint64_t holes_forgotten = 0; // gaps beyond 16 at once in a round: `missing` is too low
  uint64_t cnps_forgotten = 0;  // CNPs to QPs beyond 65,536: not in `cnps`
  uint64_t unpaired = 0;        // answers whose requests are not known
  // Packets with a wrong iCRC in streams of which most have one: no findings.
  uint64_t icrc_ignored = 0;
};

// The widest scope in which CNPs keep the distance that those to one QP keep, or a steady one, in
// which the QPs take turns: "qp", "destination" or "port"; "": there were no two QPs and addresses
// to know it by.
const char *cnps_paced_by(const CnpRow &row);

// The first thing that was seen of an episode.
uint64_t episode_start(const roce_episode &episode);
// The last.
uint64_t episode_end(const roce_episode &episode);

// In the order of pairs.
std::vector<UnansweredRow> unanswered(const Episodes &found);

// Adds the pair `f`, and the findings that only its end shows: its requests were marked CE and
// their receiver, which answered, sent no CNP to anyone (needs `cnps`); what answers stepped over
// was not requested again.
void add_pair(Episodes &into, const roce_follow &f, const PairName &name);

// To be called when all is there: puts episodes and findings in their order, and decides which of
// the go-backs a timer caused.
void finish_found(Episodes &found);

} // namespace xr
