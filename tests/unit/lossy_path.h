// SPDX-License-Identifier: Apache-2.0
// A requester and a responder with a lossy path between them, in virtual time: packets of one PSN
// each pass an observer, and what was lost before it is known.
#pragma once

#include <cstdint>
#include <functional>

namespace xr::test {

struct LossyPath {
  int packets = 2000; // PSNs to deliver
  int window = 64;    // most that are not acknowledged
  int ack_every = 8;
  int to_observer = 5, to_responder = 5, to_requester = 10; // slots of one packet each
  int timeout = 200;
  double lost_before = 0, lost_after = 0, naks_lost = 0, acks_lost = 0;
  double late = 0; // packets, by 2 to `late_by` slots
  int late_by = 8;
  bool selective = false; // the responder keeps what comes early, the requester sends the NAK's PSN
  bool silent = false;    // with `selective`: no NAKs
};

// What was lost before the observer. A packet that was lost when the last of a round, or when sent
// again alone, has no neighbour that shows it: it is hidden.
struct PathLosses {
  uint64_t before = 0, hidden = 0, after = 0, late = 0, passed = 0;
};

// Runs it; `packet` gets each packet's PSN at the observer, `nak` that of each NAK.
PathLosses run_lossy_path(const LossyPath &path, uint64_t seed,
                          const std::function<void(uint32_t psn)> &packet,
                          const std::function<void(uint32_t psn)> &nak);

} // namespace xr::test
