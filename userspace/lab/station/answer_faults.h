// SPDX-License-Identifier: Apache-2.0
// Deliberate faults of a responder's answers, in virtual time: what a NIC that misbehaves would do
// to its peer.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "flow/flow.h"
#include "packet/source.h"
#include "requester/faults.h"

namespace xr::station {

struct AnswerFault {
  enum class Kind : uint8_t {
    Skip,   // not sent
    Repeat, // sent twice
    Icrc,   // sent with a wrong iCRC
    Psn,    // sent with the PSN after its own
    Late,   // sent after `late_ns`
    Nak,    // an ACK is a NAK with this code
    Cut,    // the last packet of a READ's answer is not sent
    Silent, // nothing is sent from this answer on
  };
  Kind kind = Kind::Skip;
  flow::Fault when; // of the answers, from 1; of Cut of the READs' last ones
  uint64_t late_ns = 0;
  uint8_t nak_code = 0; // IBA vol. 1, 9.7.5.2.1
};
inline constexpr std::string_view kAnswerFaults[] = {"skip", "repeat", "icrc", "psn",
                                                     "late", "nak",    "cut",  "silent"};
// By their codes.
inline constexpr std::string_view kNakNames[] = {"sequence", "invalid", "access", "operational"};

class AnswerFaults {
public:
  AnswerFaults(const std::vector<AnswerFault> &faults, uint64_t seed);
  bool any() const { return !faults_.empty(); }

  // Changes the first `count` packets of `out`, which are new; returns how many they are then.
  size_t apply(uint64_t now, std::span<packet::Outgoing> out, size_t count);
  // What was held and is due.
  size_t take_due(uint64_t now, std::span<packet::Outgoing> out);
  uint64_t wake_at() const;

  uint64_t done() const { return done_; }         // faults
  uint64_t first_ns() const { return first_ns_; } // 0: none yet
  void restart();                                 // counts from 0, and is not silent

private:
  struct Fault {
    AnswerFault what;
    requester::Faults when;
    uint64_t seen = 0;
  };
  struct Held {
    uint64_t due = 0;
    std::vector<uint8_t> frame;
  };

  bool happens(Fault &fault, uint64_t now);
  // False: it is not sent.
  bool change(uint64_t now, packet::Outgoing &out);
  void hold(uint64_t due, const packet::Outgoing &out);

  std::vector<Fault> faults_;
  std::deque<Held> held_;
  std::deque<std::vector<uint8_t>> sent_; // keeps those of the last take_due() and apply() valid
  uint64_t answers_ = 0, done_ = 0, first_ns_ = 0;
  bool silent_ = false;
};

} // namespace xr::station
