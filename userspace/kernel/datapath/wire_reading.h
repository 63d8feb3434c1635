// SPDX-License-Identifier: Apache-2.0
// What other commands read of a bridge's port whose frames a process may hold, and of that process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/status.h"
#include "model/wire_counts.h"

namespace xr::datapath {

// The words of a port's link. `changes` rises with every change; 0: never given.
struct LinkWords {
  std::string text; // "": no link
  uint64_t changes = 0;
  uint64_t since_ns = 0; // CLOCK_MONOTONIC of the last change
};

// Errors: no port of a bridge.
Result<LinkWords> read_link_words(const PortName &port);
LinkWords link_words_in(int map);

// What the process that holds the port's frames counted last, and whether there is one. If there is
// none, lost_when_killed includes what the last one lost.
struct WireReading {
  std::shared_ptr<const WirePortCounts> counts; // null: no process of this version ever did
  bool running = false;                         // it takes frames
};
Result<WireReading> read_wire(const PortName &port);

// Frames that the program of these `totals` has handed over.
Result<uint64_t> read_handed_over(int totals);

Error no_bridge(const PortStatus &port);

} // namespace xr::datapath
