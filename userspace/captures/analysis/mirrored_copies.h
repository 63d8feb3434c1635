// SPDX-License-Identifier: Apache-2.0
// Frames that a mirror of several ports or directions gives twice: the same packet, but for what
// routers and switches change on the way (MACs, tags, TTL, DSCP and ECN).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/reader.h"
#include "native/native_datapath.h"

namespace xr {

// What to do with such copies. Auto: they are left out if a capture begins with them.
enum class Copies { Keep, LeaveOut, Auto };

class MirroredCopies {
public:
  static constexpr uint64_t kLongest = 10'000'000; // ns between a packet and its copy
  static constexpr uint64_t kShortest = 100'000;   // the least window
  // A mirror's copy follows its packet closely; what a sender replays comes after all others.
  static constexpr uint64_t kPackets = 64;

  explicit MirroredCopies(uint64_t window_ns) : window_ns_(window_ns) {}

  // Whether the packet passed within the window and kPackets before, and that one had no copy yet.
  // Frames come in order of time.
  bool is_copy(const NativeDatapath::FrameView &frame, const roce_packet &packet);
  uint64_t copies() const { return copies_; }
  uint64_t longest_ns() const { return longest_ns_; } // between a packet and its copy

private:
  struct Seen {
    uint64_t ns, number;
  };
  uint64_t window_ns_, longest_ns_ = 0, copies_ = 0, packets_ = 0;
  std::unordered_map<uint64_t, Seen> seen_; // by hash: packets without a copy
};

// Looks at the first frames of the captures. If nearly every RoCE packet comes twice, returns the
// window in which copies come; retransmissions and copies made by the network are fewer. Nothing
// for standard input, or if the captures cannot be read.
std::optional<uint64_t> find_copies(const std::vector<std::string> &paths,
                                    const NativeDatapath::Options &datapath,
                                    const ReadOptions &options);

} // namespace xr
