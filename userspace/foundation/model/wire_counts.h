// SPDX-License-Identifier: Apache-2.0
// What the wire process counts for a port, in the port's map `wire` (roce_wire_memory): plain
// values, which other processes read while it runs and after it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/histogram.h"
#include "base/processors.h"
#include "model/hold.h"
#include "model/link.h"
#include "roce/hold.h"
#include "roce/rule.h"

namespace xr {

// Frames that entered the port and were handed over by its program. At rest:
// taken + copies = left + dropped, where dropped is the sum of the causes.
struct WireIngress {
  uint64_t taken = 0, taken_bytes = 0;
  uint64_t copies = 0;               // duplicates made
  uint64_t mac_control = 0;          // PAUSE and PFC frames, which end here
  uint64_t left = 0, left_bytes = 0; // put on the other port's ring
  uint64_t holding = 0;              // now
  uint64_t cnps = 0;                 // returned, for rules with `cnp`
  uint64_t handed_before = 0;        // by the program (roce_totals.held), when the process began
  // Lost here.
  uint64_t no_memory = 0;        // copies without a free buffer
  uint64_t dropped_by_rules = 0; // queues of `shape`
  uint64_t dropped_by_link = 0;  // of the other port; its counts have the cause
  uint64_t dropped_at_end = 0;   // held when the process ended
  uint64_t tx_dropped = 0;       // the other port's TX ring was full
  uint64_t dropped_down = 0;     // a flap held the other port down
  // Lost before the process, by the kernel.
  uint64_t no_buffer = 0;        // all memory held frames
  uint64_t ring_full = 0;        // the process was too slow
  uint64_t refused = 0;          // by the kernel, for another reason
  uint64_t unknown_rules = 0;    // not held by their rules: replaced meanwhile, or not readable
  uint64_t rules_unread = 0;     // rules that hold no frames, as the process cannot read them: now
  uint64_t pending_most = 0;     // frames that waited for new rules
  uint64_t matched_again = 0;    // came without metadata: their rules were matched by the process
  uint64_t unmatched = 0;        // of those, not held, as no rule was found
  uint64_t lost_when_killed = 0; // by previous processes

  // The frames that the program has handed over since the process began and that the process
  // neither sent nor counts as lost. After its end: those it held, or had not read, when it was
  // killed.
  uint64_t unaccounted(uint64_t handed_over) const {
    const uint64_t came = handed_over - handed_before + copies;
    const uint64_t known = left + mac_control + dropped_by_rules + dropped_by_link +
                           dropped_at_end + tx_dropped + dropped_down + no_buffer + ring_full +
                           refused;
    return came > known ? came - known : 0;
  }
};

struct WireEgress {
  uint64_t tx_dropped = 0;     // the ring was full (of the other port's frames)
  uint64_t driver_dropped = 0; // by the driver
  uint64_t link_down = 0;      // attempts to send while the port was down
  uint64_t pfc_sent = 0;
  // By the link's flap. 1 before the port is set down, until it is up again: a process that was
  // killed leaves it 1.
  uint64_t held_down = 0;
  uint64_t carrier_downs = 0; // flaps by which the port lost its carrier
  uint64_t dropped_down = 0;  // frames that were due while the port was down
  FlapBy flap_by = FlapBy::None;
  ShortHistogram late; // ns from when a frame was due until it was put on the ring
};

struct WirePortCounts {
  static constexpr uint32_t kVersion = 6;
  static constexpr uint32_t kRuleRows = ROCE_RULE_SLOTS + 48;
  uint32_t version = 0;
  uint32_t zero_copy = 0;
  uint64_t ready = 0; // 1: the sockets are open, and frames are handed over
  uint64_t pid = 0;
  uint64_t started_ns = 0, updated_ns = 0;     // CLOCK_MONOTONIC
  uint64_t memory_frames = 0, memory_free = 0; // buffers of frames that enter the port
  uint64_t memory_free_least = 0;              // ever
  WireIngress in;
  WireEgress out;
  LinkCounts link; // of what leaves by the port
  // A row for each rule that has held frames, also where a later one got its number or slot.
  uint32_t rule_ids[kRuleRows] = {};    // 0: none
  uint8_t rule_removed[kRuleRows] = {}; // 1: the port has it no more, or with other words
  HoldCounts rules[kRuleRows];
  uint32_t rules_merged = 0; // removed rules whose rows were needed for others: in `merged`
  HoldCounts merged;
};
static_assert(std::is_trivially_copyable_v<WirePortCounts>);
static_assert(sizeof(WirePortCounts) <= sizeof(roce_wire_memory));

// A port of a wire, for reports.
struct WirePortReport {
  std::string ifname;
  std::string peer;     // the other port
  std::string xdp_mode; // "" : unknown
  uint32_t queues = 0;
  std::string link;                                       // canonical words; "": none
  bool running = true;                                    // a process holds its frames
  std::shared_ptr<const WirePortCounts> counts = nullptr; // null: no process ever did
};

struct WireReport {
  double seconds = 0;
  bool zero_copy = false;
  uint32_t threads = 0;
  std::vector<PlacedThread> processors; // of the threads that move frames
  uint64_t memory_bytes = 0;            // of the buffers of both directions
  std::array<WirePortReport, 2> ports;
};

} // namespace xr
