// SPDX-License-Identifier: Apache-2.0
// Which sequence numbers of one stream have arrived, among the last kSequences.
#pragma once

#include <array>
#include <cstdint>

namespace xr::stamps {

class SequenceWindow {
public:
  static constexpr uint64_t kSequences = 2048; // a power of two

  enum class Verdict : uint8_t {
    InOrder,   // larger than all before
    Reordered, // new, but smaller than one before (RFC 4737, 3.3)
    Duplicate,
    TooOld, // older than the window: late or a duplicate, which one is unknown
  };
  Verdict add(uint64_t sequence);

  uint64_t lowest() const { return lowest_; }
  uint64_t highest() const { return highest_; }

private:
  bool test_and_set(uint64_t sequence);
  void clear(uint64_t from, uint64_t to); // from <= to

  std::array<uint64_t, kSequences / 64> seen_{};
  uint64_t lowest_ = 0, highest_ = 0;
  bool any_ = false;
};

} // namespace xr::stamps
