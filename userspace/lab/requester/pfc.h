// SPDX-License-Identifier: Apache-2.0
// Sends PFC or PAUSE frames: at an interval, or as a storm that keeps the peer paused. At the end
// it sends one with quanta 0 (XON).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "congestion/pacer.h"
#include "model/run_reports.h"
#include "packet/pause.h"
#include "requester/requester.h"

namespace xr::requester {

// What follows `pfc PRIORITIES|global`; pfc_usage() has the words.
struct Pfc {
  std::vector<unsigned> priorities; // empty: PAUSE, for all
  std::vector<uint16_t> quanta;     // of each priority; of PAUSE the first
  std::optional<uint16_t> enable;   // unset: the bits of the priorities
  uint64_t every_ns = 0;            // 0: a storm
  uint64_t line_bits = 0;           // bits per second; 0: the port's speed
  std::optional<packet::Mac> src_mac;
  bool xon = true;
  uint64_t count = 0;       // frames; 0: unlimited
  uint64_t duration_ns = 0; // 0: unlimited
};
Result<Pfc> parse_pfc(const std::vector<std::string> &words);
std::string pfc_usage(); // "[quanta N[,N]] [every T] ..."
// Error for a storm at a line rate that is not known, or that nothing can keep up.
Status check_pfc(const Pfc &pfc);

class PfcSource : public Requester {
public:
  // `pfc` must pass check_pfc() and have src_mac.
  explicit PfcSource(const Pfc &pfc);

  void receive(uint64_t, std::span<const uint8_t>, roce_class, const roce_packet &) override {}
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return over_; }
  void flushed(uint64_t now) override;
  size_t last(std::span<packet::Outgoing> out) override;

  const SendCounts &counts() const override { return counts_; }
  double asked_pps() const override { return 1e9 / static_cast<double>(report_.interval_ns); }
  uint64_t expected() const override { return count_; }
  const PfcReport &report() const { return report_; }

private:
  std::vector<uint8_t> frame_, xon_;
  bool storm_;
  uint64_t count_, duration_ns_;
  congestion::Pacer pacer_;
  uint64_t end_ = kNever;
  bool started_ = false, over_ = false, unflushed_ = false;
  uint64_t flushed_ = 0; // time of the last frame; 0: none
  SendCounts counts_;
  PfcReport report_;
};

} // namespace xr::requester
