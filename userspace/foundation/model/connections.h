// SPDX-License-Identifier: Apache-2.0
// The connections that RDMA CM made, as seen in its messages.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/address.h"

namespace xr {

// One side of a connection: the active one sends the REQ. Zero: not seen.
struct ConnectionSide {
  Address address{};
  uint32_t id = 0; // communication ID
  uint32_t qp = 0;
  uint32_t psn = 0; // the first PSN of packets to `qp`
};

struct ConnectionRow {
  enum class State : uint8_t {
    Requested,   // REQ
    Accepted,    // REP
    Established, // RTU
    Rejected,    // REJ
    Ending,      // DREQ
    Ended        // DREP
  };

  ConnectionSide active, passive;
  State state = State::Requested;
  bool v1 = false;        // RoCEv1
  bool requested = false; // the REQ was seen: the next fields are valid
  uint64_t service_id = 0;
  uint8_t transport = 0; // 0 RC, 1 UC, 2 RD, 3 another
  uint32_t pmtu = 0;     // 0: not valid
  uint8_t retries = 0, rnr_retries = 0, cm_retries = 0;
  uint16_t reason = 0;   // of the REJ
  uint64_t messages = 0; // MADs
  uint64_t again = 0;    // of them, those that were seen before
  uint64_t mras = 0, laps = 0;
  // of the capture's clock; 0: none
  uint64_t first_ns = 0, established_ns = 0, last_ns = 0;
};

struct Connections {
  static constexpr uint16_t kFirstKind = 0x10, kKinds = 11; // REQ to APR

  std::array<uint64_t, kKinds> messages{}; // by attribute - kFirstKind
  uint64_t again = 0;                      // MADs that were seen before
  uint64_t unmatched = 0;          // of connections that began before, so that they have no row
  uint64_t sidr_refused = 0;       // SIDR_REPs with a status
  uint64_t rows_full = 0;          // REQs and REPs of connections for which there was no row
  uint64_t cut = 0;                // MADs that the capture cut
  uint64_t end_ns = 0;             // of the capture's last frame
  std::vector<ConnectionRow> rows; // in the order of their first message
};

} // namespace xr
