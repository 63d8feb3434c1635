// SPDX-License-Identifier: Apache-2.0
// The raw state of one port or capture at one time: written by the datapath and the analyzer, read
// by report/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/capture_notes.h"
#include "model/pfc_senders.h"
#include "model/stream_traffic.h"
#include "roce/counters.h"
#include "roce/mirror_record.h"
#include "roce/stream.h"

namespace xr {

// Frames of captures in tunnels that were not taken off.
struct HiddenTunnel {
  uint64_t frames = 0;
  uint64_t roce = 0;    // of these, with RoCE inside
  uint64_t unknown = 0; // of these, whose content is not known: cut, a fragment, in more tunnels
};

struct Snapshot {
  enum class Source { Capture, Interface };

  Source source = Source::Capture;
  std::string name;               // file ("-" for standard input), "N captures" or interface
  std::vector<std::string> files; // if there are several
  uint64_t time_ns = 0; // CLOCK_MONOTONIC at which an interface was read; rates are differences

  std::array<roce_opcode_count, ROCE_OPCODE_COUNTS> opcodes{}; // summed over CPUs
  roce_totals totals{};                                        // summed over CPUs
  std::vector<roce_stream> streams; // only streams with at least one packet, in order of appearance
  // For each stream, the number of its QP in the order in which the port first saw them, from 1. 0:
  // unknown.
  std::vector<uint32_t> qp_numbers;
  std::vector<StreamTraffic> traffic; // for each stream; empty: not collected
  StraysTraffic strays;
  // By DSCP and PCP (ROCE_CLASS_COUNTS), summed over CPUs; empty: not counted.
  std::vector<roce_class_count> classes;
  std::array<roce_pfc, ROCE_PFC_COUNTS> pfc{}; // paused_ns until time_ns, or the capture's end
  uint32_t quantum_ps = 0;                     // 0: the port's speed is not known
  // With tunnels taken off (1 << enum roce_tunnel): for each stream what of its missing PSNs the
  // mirror and the network lost; the mirror sessions.
  bool followed = false;                        // it follows QP pairs: `episodes`
  std::array<uint64_t, ROCE_CAUSES> episodes{}; // begun, by cause, of requests that entered here
  uint32_t decap = 0;
  std::vector<roce_mirrored> mirrored;
  std::vector<roce_mirror> mirrors;
  std::vector<uint32_t> mirror_slots; // of each, its index in the port's table, as in marks
  // Without `decap`, of captures: by enum roce_tunnel. A frame in two tunnels counts in both.
  std::array<HiddenTunnel, ROCE_TUNNELS> hidden_tunnels{};
  PfcSenders pfc_senders;       // of captures
  bool tracked = true;          // false: attached with --no-track, so there are no streams
  uint32_t stream_capacity = 0; // 0: unlimited

  // Captures only: the XDP program does not check iCRCs. checked = good + bad + zero.
  struct {
    uint64_t checked = 0;
    uint64_t bad = 0;
    uint64_t zero = 0; // from senders that write no iCRC; not in `bad`
  } icrc;
  bool truncated = false; // the capture file ends in the middle of a packet
  CaptureNotes notes;
};

} // namespace xr
