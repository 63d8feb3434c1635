// SPDX-License-Identifier: Apache-2.0
// The frames that a port received, kept in memory until somebody takes them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "packet/bit_match.h"

namespace xr::station {

struct RecordOptions {
  uint32_t snaplen = 0;           // bytes of each frame; 0: all
  uint64_t most_bytes = 64 << 20; // of all frames
  bool overwrite = true;          // when there is no room, the oldest frames go; else the newest
  // All of one filter must hold. None at all: all frames are recorded.
  std::vector<std::vector<packet::BitMatch>> filters = {};
};

struct RecordedFrame {
  uint64_t time_ns = 0; // of the caller's clock
  uint32_t length = 0;  // without FCS
  std::vector<uint8_t> bytes;
};

class FrameRecord {
public:
  explicit FrameRecord(RecordOptions options) : options_(std::move(options)) {}

  void add(uint64_t now, std::span<const uint8_t> frame);
  const std::deque<RecordedFrame> &frames() const { return frames_; }
  uint64_t received() const { return received_; } // matching or not
  uint64_t matched() const { return matched_; }
  uint64_t lost() const { return lost_; } // matched, without room

private:
  RecordOptions options_;
  std::deque<RecordedFrame> frames_;
  uint64_t bytes_ = 0, received_ = 0, matched_ = 0, lost_ = 0;
};

} // namespace xr::station
