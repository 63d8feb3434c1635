// SPDX-License-Identifier: Apache-2.0
// The last values of a rate, and how they look in one line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xr::watch {

class History {
public:
  static constexpr size_t kKept = 240; // as many as a wide screen has room for

  void add(double value);
  void clear();
  size_t size() const { return count_; }
  // `back` 0 is the newest.
  double at(size_t back) const;

private:
  std::vector<double> ring_ = std::vector<double>(kKept);
  size_t next_ = 0, count_ = 0;
};

// The newest at the right end, the largest of those shown full height, nothing a space. Always
// `columns` wide. Blocks (U+2581..2588), or ASCII.
std::string sparkline(const History &history, size_t columns, bool unicode);

} // namespace xr::watch
