// SPDX-License-Identifier: Apache-2.0
// Replays the frames of a capture: with their own timing, scaled, at a rate or unpaced; optionally
// with other addresses and a corrected iCRC.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "congestion/pacer.h"
#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

// Words: `replay FILE [speed X | rate R [l1|l2]] [loop N] [for DURATION] [map IP=IP]... [src-mac M]
// [dst-mac M]`.
struct Replay {
  std::string file;
  uint64_t duration_ns = 0; // 0: until all loops are done
  double speed = 1;         // factor on the timing of the capture; 0: see rate
  congestion::Rate rate;    // Top: unpaced
  uint64_t loops = 1;       // 0: unlimited
  std::map<packet::Address, packet::Address> addresses; // IP addresses, old to new
  std::optional<packet::Mac> src_mac, dst_mac;
};
Result<Replay> parse_replay(const std::vector<std::string> &words);
std::string replay_usage(); // "[speed X] [rate RATE] ...": what follows the file

// Rewrites a RoCE frame; for other frames, only the MACs. Corrects checksums and iCRC; a wrong iCRC
// stays wrong. True: an address was changed.
bool rewrite(std::span<uint8_t> frame, const Replay &how, uint16_t udp_port);

class ReplaySource : public Requester {
public:
  struct Frame {
    uint64_t time_ns = 0; // any epoch
    size_t offset = 0;    // in `bytes`
    uint32_t length = 0;
  };
  ReplaySource(std::vector<uint8_t> bytes, std::vector<Frame> frames, const Replay &how,
               double line_bits);

  void receive(uint64_t, std::span<const uint8_t>, roce_class, const roce_packet &) override {}
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return over_ || at_ == frames_.size(); }

  const SendCounts &counts() const override { return counts_; }
  double asked_pps() const override;
  uint64_t expected() const override { return loops_ * frames_.size(); }

private:
  uint64_t due() const;
  void advance(uint64_t now, uint32_t length);

  std::vector<uint8_t> bytes_;
  std::vector<Frame> frames_; // times start at 0
  double speed_;
  uint64_t loops_;
  uint64_t duration_ns_;
  congestion::Pacer pacer_;
  size_t at_ = 0;
  uint64_t loop_ = 0;
  uint64_t end_ = kNever;
  bool over_ = false;
  uint64_t start_ = 0;     // start of this loop; 0: not begun
  uint64_t length_ns_ = 0; // duration of a loop
  SendCounts counts_;
};

} // namespace xr::requester
