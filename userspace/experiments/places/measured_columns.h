// SPDX-License-Identifier: Apache-2.0
// Which columns a process of a run on ports measures, by the ports that it has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "expect/columns.h"
#include "places/run_ports.h"

namespace xr::places {

// Bits: what a process has.
enum Having : uint8_t {
  kHasSender = 1,
  kHasWire = 2,
  kHasReceiver = 4,
  kFlowsAreOurs = 8, // sent by this tool, here or elsewhere
};
uint8_t having(const RunPorts &ports, bool ours);

// Columns that are not measured, and what they need, in words.
std::map<std::pair<experiment::RowKind, std::string>, std::string> absent_columns(uint8_t having);

} // namespace xr::places
