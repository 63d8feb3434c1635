// SPDX-License-Identifier: Apache-2.0
// A first pass over a capture: the time that it covers, and a sample of its packets. The samples of
// two places have the same packets, as a packet's own bytes decide whether it is in: so they show
// how the two clocks differ and which way packets travel, whatever the clocks are set to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capture/reader.h"
#include "compare/stream_numbers.h"
#include "model/comparison.h"

namespace xr::compare {

struct Span {
  uint64_t first_ns = 0, last_ns = 0; // of all frames, RoCE or not
};

class Survey {
public:
  static constexpr size_t kSample = 1 << 16; // the most packets of it

  struct Anchor {
    uint64_t hash;
    uint64_t time_ns;
    uint32_t ends; // index in ends()
    uint8_t ttl;
  };

  // Reads a whole capture. A truncated one is read as far as it goes.
  void read(Reader &reader, uint16_t udp_port, const std::function<bool()> &stop);

  const Span &span() const { return span_; }
  void set_span(const Span &span) { span_ = span; }
  const std::vector<Anchor> &anchors() const { return anchors_; }
  const Ends &ends(uint32_t index) const { return ends_[index]; }
  uint64_t threshold() const { return threshold_; } // packets with a larger hash are not in

private:
  void add(const CapturedFrame &frame, const roce_packet &packet);

  Span span_;
  bool any_ = false;
  uint64_t threshold_ = UINT64_MAX;
  std::vector<Anchor> anchors_;
  std::vector<Ends> ends_;
  std::unordered_map<Ends, uint32_t, EndsHash> index_;
};

} // namespace xr::compare
