// SPDX-License-Identifier: Apache-2.0
// Frames of a capture once more: with their own timing, faster or slower, at a rate, or as fast as
// it goes; with other addresses, and the iCRC mended.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "congestion/pacer.h"
#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

// As words: `replay FILE [speed X | rate R [l1|l2]] [loop N] [for DURATION] [map IP=IP]...
// [src-mac M] [dst-mac M]`.
struct Replay {
  std::string file;
  uint64_t duration_ns = 0;                             // 0: until its loops are over
  double speed = 1;                                     // of its own timing; 0: see rate
  congestion::Rate rate;                                // Top: as fast as it goes
  uint64_t loops = 1;                                   // 0: no end
  std::map<packet::Address, packet::Address> addresses; // IP addresses, old to new
  std::optional<packet::Mac> src_mac, dst_mac;
};
Result<Replay> parse_replay(const std::vector<std::string> &words);

// Rewrites a RoCE frame; other frames get their MACs only. Checksums and the iCRC fit afterwards;
// an iCRC that was wrong stays wrong. True when an address was changed.
bool rewrite(std::span<uint8_t> frame, const Replay &how, uint16_t udp_port);

class ReplaySource : public Requester {
public:
  struct Frame {
    uint64_t time_ns = 0; // of any epoch
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
  std::vector<Frame> frames_; // times from 0 on
  double speed_;
  uint64_t loops_;
  uint64_t duration_ns_;
  congestion::Pacer pacer_;
  size_t at_ = 0;
  uint64_t loop_ = 0;
  uint64_t end_ = packet::kNever;
  bool over_ = false;
  uint64_t start_ = 0;     // of this loop; 0: not begun
  uint64_t length_ns_ = 0; // of a loop
  SendCounts counts_;
};

} // namespace xr::requester
