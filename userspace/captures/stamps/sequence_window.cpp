// SPDX-License-Identifier: Apache-2.0
#include "stamps/sequence_window.h"

#include <algorithm>

namespace xr::stamps {

bool SequenceWindow::test_and_set(uint64_t sequence) {
  uint64_t &word = seen_[(sequence / 64) % seen_.size()];
  const uint64_t bit = uint64_t{1} << sequence % 64;
  const bool was = word & bit;
  word |= bit;
  return was;
}

void SequenceWindow::clear(uint64_t from, uint64_t to) {
  if (to - from >= kSequences - 1) {
    seen_.fill(0);
    return;
  }
  for (uint64_t sequence = from; sequence <= to; sequence++)
    seen_[(sequence / 64) % seen_.size()] &= ~(uint64_t{1} << sequence % 64);
}

SequenceWindow::Verdict SequenceWindow::add(uint64_t sequence) {
  if (!any_ || sequence > highest_) {
    if (any_)
      clear(highest_ + 1, sequence);
    else
      lowest_ = sequence;
    any_ = true;
    highest_ = sequence;
    test_and_set(sequence);
    return Verdict::InOrder;
  }
  if (highest_ - sequence >= kSequences)
    return Verdict::TooOld;
  if (test_and_set(sequence))
    return Verdict::Duplicate;
  lowest_ = std::min(lowest_, sequence);
  return Verdict::Reordered;
}

} // namespace xr::stamps
