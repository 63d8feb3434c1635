// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace xr::cli {

// A progress line on stderr, if stderr is a terminal. The destructor erases it.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // `total` 0: unknown, no bar is shown. `text` follows the bar.
  void update(uint64_t done, uint64_t total, const std::string &text);
  double seconds() const; // since the constructor

private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point started_, next_;
};

} // namespace xr::cli
