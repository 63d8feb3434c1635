// SPDX-License-Identifier: Apache-2.0
// Who sent PFC and PAUSE frames in a capture, and what was wrong with them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "roce/pfc_record.h"

namespace xr {

using Mac = std::array<uint8_t, 6>;

// What a MAC control frame must not be: IEEE 802.3, 31 and annex 31B; 802.1Q, 36 (PFC).
enum class PfcFault : uint8_t {
  Destination, // not 01-80-C2-00-00-01; of PAUSE, another group address
  Opcode,      // reserved
  Short,       // less than 60 bytes without FCS
  Tagged,
  ReservedBits, // in the upper byte of the classes that a PFC frame enables
};
inline constexpr size_t kPfcFaults = 5;

struct PfcSender {
  Mac source{};
  // By priority, [ROCE_PFC_ALL]: by PAUSE.
  struct Row {
    uint64_t xoff = 0, xon = 0, quanta = 0;
    uint64_t first_ns = 0, last_ns = 0;
    // Until the next frame of this sender, or its quanta have passed: `paused` at the known speed
    // of the link, `slow` at 1 Gbit/s, so that it is the most that a faster link was paused.
    roce_pfc paused{}, slow{};
  };
  std::array<Row, ROCE_PFC_COUNTS> rows{};
  struct Fault {
    uint64_t frames = 0;
    uint64_t first_frame = 0; // as of findings: its file above kFileShift
  };
  std::array<Fault, kPfcFaults> faults{};
};

struct PfcSenders {
  static constexpr size_t kSenders = 1024;

  std::vector<PfcSender> senders; // in the order of their first frames
  uint64_t frames = 0;            // PFC, PAUSE and reserved MAC control frames
  uint64_t without_row = 0;       // of these, of further senders
  uint64_t begun_ns = 0;          // the capture's first frame
};

} // namespace xr
