// SPDX-License-Identifier: Apache-2.0
// Which requester a queue of `send` runs, and the capture that one replays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/port_facts.h"
#include "endpoint/send.h"
#include "requester/replay.h"

namespace xr::endpoint {

// `part`: of the total rate. `request` and `port` live as long as the source.
std::unique_ptr<requester::Requester> make_source(const SendRequest &request, const PortFacts &port,
                                                  std::vector<flow::Flow> flows, double part);

struct ReplayFile {
  std::vector<uint8_t> bytes;
  std::vector<requester::ReplaySource::Frame> frames;
  uint64_t cut = 0;       // frames left out because they are truncated
  uint64_t too_long = 0;  // frames left out because they are longer than `longest`
  uint64_t rewritten = 0; // frames whose addresses were changed
};

// Reads a whole capture file into memory and rewrites its frames as `how` says. `udp_port`: of
// RoCEv2. `longest`: bytes of the longest frame that the port can send, FCS not included.
Result<ReplayFile> load_replay_file(const requester::Replay &how, uint16_t udp_port,
                                    uint32_t longest);

} // namespace xr::endpoint
