// SPDX-License-Identifier: Apache-2.0
// What the captures of a run answer: what each rule did to which packet and what came of it,
// whether senders and receivers kept to go-back-N, where the time of retransmissions went, how CNPs
// were paced, and whether the counters agree with the captures. Times are ns since the captures'
// first frame; those of a scaled run are the experiment's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/episodes.h"
#include "roce/episode.h"

namespace xr {

// The packets from `src` to a QP of `dst`.
struct AnsweredQp {
  std::string flow = {}; // "": none of the experiment's
  std::string src = {}, dst = {};
  uint32_t dest_qp = 0;
};

// A frame of a capture of the run; number 0: none.
struct CaptureFrame {
  std::string capture = {}; // "left" or "right"
  uint64_t number = 0;
};

// A packet that a rule changed.
struct HitPacket {
  std::string rule = {}, did = {}; // its name; "dropped"
  AnsweredQp qp = {};
  uint32_t psn = 0;
  std::optional<uint64_t> packet = {}; // of the QP, from 1: PSN - first PSN + 1
  bool again = false;                  // its PSN had been sent before
  uint64_t at_ns = 0;
  CaptureFrame frame = {};
  std::optional<size_t> episode = {};  // index in `recoveries`: in which it was sent again
  std::optional<uint64_t> cnp_ns = {}; // marked CE: until the next CNP to its sender
  // Lost: whether its PSN passed the port later, and when, since then. Unset: it was not lost.
  std::optional<bool> recovered = {};
  std::optional<uint64_t> recovery_ns = {};
};

// Go-back-N of a QP pair. Unset: there was no occasion to see it.
struct GoBackN {
  AnsweredQp qp = {};
  std::optional<bool> resumes = {};   // the sender, at the PSN that was missing
  std::optional<bool> naks_once = {}; // the receiver: one NAK for each gap
  uint64_t gaps = 0;                  // of which the receiver could know
  uint64_t naks = 0, go_backs = 0, selective = 0;
  uint64_t wrong_psn = 0, repeated = 0, without_gap = 0, silent = 0, ack_beyond = 0;
};

struct Recovery {
  AnsweredQp qp = {};
  roce_cause cause = ROCE_CAUSE_UNKNOWN;
  uint32_t first_missing = 0;
  uint64_t missing = 0, resent = 0, resent_needlessly = 0, resent_bytes = 0; // as in episodes
  uint64_t naks = 0;
  uint64_t at_ns = 0;
  // Generation: the first packet after the gap until the NAK. Reaction: the NAK until the first
  // packet sent again. Timeout: the last packet until the first sent again.
  std::optional<uint64_t> nak_generation_ns = {}, nak_reaction_ns = {}, timeout_ns = {};
  std::optional<uint64_t> recovery_ns = {};
  CaptureFrame frame = {}, nak_frame = {}; // the first packet sent again; the NAK
};

// What a correct peer does not do.
struct AnsweredFinding {
  AnsweredQp qp = {};
  std::string finding = {}; // kFindingNames
  uint32_t psn = 0;
  std::optional<uint64_t> at_ns = {};
  CaptureFrame frame = {};
  std::string text = {};
};

// A notification point's.
struct CnpPacing {
  CnpRow times = {};
  uint64_t marked = 0;     // packets that went to it with CE
  uint64_t without_ce = 0; // QPs to which it sent a CNP, and of which no packet was marked or NAKed
  uint64_t unanswered = 0; // QPs with marks, and no CNP from it
  // The later CNP of the two that are the least time apart: to a QP, to an address, to any.
  CaptureFrame qp_frame = {}, destination_frame = {}, port_frame = {};
};

// Two counts of the same.
struct CountCheck {
  std::string what = {};
  uint64_t captured = 0;
  std::optional<uint64_t> counted = {}; // unset: the place does not measure it
  std::string counter = {};             // its name
  std::string why = {};                 // why the two may differ
};

// The tables of the answers.
enum class AnswerTable : uint8_t { Events, GoBackN, Retransmissions, Findings, Cnps, Counts };
inline constexpr size_t kAnswerTables = 6;

struct RunAnswers {
  uint64_t from_ns = 0; // the captures' first frame, since the start of the run
  std::vector<HitPacket> hits;
  std::vector<GoBackN> go_back_n;
  std::vector<Recovery> recoveries;
  std::vector<AnsweredFinding> findings;
  std::vector<CnpPacing> cnp_pacing;
  std::vector<CountCheck> counts;
  std::vector<std::string> lost;                       // what the rows do not have
  std::array<std::string, kAnswerTables> incomplete{}; // by table: the first of `lost`, or ""
};

} // namespace xr
