// SPDX-License-Identifier: Apache-2.0
// The recent values of a rate, and their sparkline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xr::watch {

class History {
public:
  static constexpr size_t kKept = 240; // enough for a wide screen

  void add(double value);
  void clear();
  size_t size() const { return count_; }
  // back == 0: the newest value.
  double at(size_t back) const;

private:
  std::vector<double> ring_ = std::vector<double>(kKept);
  size_t next_ = 0, count_ = 0;
};

// One character per value, newest at the right; the largest value has full height, 0 is a space.
// Always `columns` wide. Block elements (U+2581..2588), or ASCII.
std::string sparkline(const History &history, size_t columns, bool unicode);

} // namespace xr::watch
