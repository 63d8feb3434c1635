// SPDX-License-Identifier: Apache-2.0
// Traces of delivery opportunities as Mahimahi records them (mm-link(1)): each line is a time in ms
// at which 1500 bytes can be delivered. After the last line the trace begins again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::wire {

// Bytes of IP packets that an opportunity delivers; a packet may use several, and several packets
// one.
inline constexpr uint64_t kOpportunityBytes = 1500;

// In ns, ascending, not empty; the last one is the length of the trace and not 0.
using DeliveryTrace = std::vector<uint64_t>;

// The contents of a trace file. Error: which line is wrong; a hint.
Result<DeliveryTrace> parse_trace(std::string_view text);

// The next opportunity of a trace that began at some time.
class TraceCursor {
public:
  void start(std::shared_ptr<const DeliveryTrace> trace, uint64_t now);
  explicit operator bool() const { return trace_ != nullptr; }
  uint64_t next() const { return lap_ + (*trace_)[at_]; }
  void advance();
  // Passes over all opportunities up to `now`, and returns their number.
  uint64_t skip(uint64_t now);

private:
  std::shared_ptr<const DeliveryTrace> trace_;
  uint64_t lap_ = 0; // when this repetition began
  size_t at_ = 0;
};

} // namespace xr::wire
