// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "requester/replay.h"

namespace xr::endpoint {

struct Capture {
  std::vector<uint8_t> bytes;
  std::vector<requester::ReplaySource::Frame> frames;
  uint64_t cut = 0;       // frames that are not whole: left out
  uint64_t too_long = 0;  // for the port: left out
  uint64_t rewritten = 0; // frames with another address than before
};

// All of a capture in memory, rewritten as `how` says. `longest` bytes of a frame fit the port.
Result<Capture> load_capture(const requester::Replay &how, uint16_t udp_port, uint32_t longest);

} // namespace xr::endpoint
