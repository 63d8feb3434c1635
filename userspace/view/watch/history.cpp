// SPDX-License-Identifier: Apache-2.0
#include "watch/history.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace xr::watch {

namespace {

constexpr size_t kLevels = 8;
constexpr std::array<const char *, kLevels> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char *, kLevels> kAscii = {".", ":", "-", "=", "+", "*", "%", "#"};

} // namespace

void History::add(double value) {
  ring_[next_] = value;
  next_ = (next_ + 1) % kKept;
  count_ = std::min(count_ + 1, kKept);
}

void History::clear() { count_ = 0; }

double History::at(size_t back) const { return ring_[(next_ + 2 * kKept - 1 - back) % kKept]; }

std::string sparkline(const History &history, size_t columns, bool unicode) {
  const size_t shown = std::min(history.size(), columns);
  double most = 0;
  for (size_t i = 0; i < shown; i++)
    most = std::max(most, history.at(i));
  std::string out(columns - shown, ' ');
  for (size_t i = shown; i-- > 0;) {
    const double value = history.at(i);
    if (value <= 0) {
      out += ' ';
      continue;
    }
    const double level = std::ceil(value / most * kLevels) - 1;
    const size_t step = std::min(static_cast<size_t>(std::max(level, 0.0)), kLevels - 1);
    out += unicode ? kBlocks[step] : kAscii[step];
  }
  return out;
}

} // namespace xr::watch
