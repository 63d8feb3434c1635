// SPDX-License-Identifier: Apache-2.0
// The raw state of one port or capture at one moment: what the datapath and the analyser hand up,
// and all that report/ needs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "roce/counters.h"
#include "roce/stream.h"

namespace xr {

struct Snapshot {
  enum class Source { Capture, Interface };

  Source source = Source::Capture;
  std::string name;     // file ("-" for standard input) or interface
  uint64_t time_ns = 0; // CLOCK_MONOTONIC when an interface was read: rates are differences

  std::array<roce_opcode_count, ROCE_OPCODE_COUNTS> opcodes{}; // summed over CPUs
  roce_totals totals{};                                        // likewise
  std::vector<roce_stream> streams; // only those that have a packet; in order of appearance
  // Of each stream: its QP's place in the order in which the port saw them, from 1; 0: not known.
  std::vector<uint32_t> qp_numbers;
  bool tracked = true;          // false: attached with --no-track, there are no streams
  uint32_t stream_capacity = 0; // 0: as many as needed

  // Captures only: the wire program does not check iCRCs. checked = good + bad + zero.
  struct {
    uint64_t checked = 0;
    uint64_t bad = 0;
    uint64_t zero = 0; // "no iCRC" senders; not in `bad`
  } icrc;
  bool truncated = false; // the capture file ends in the middle of a packet
};

} // namespace xr
