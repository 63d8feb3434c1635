// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace xr::cli {

// The line of a terminal with so many columns, at most one less than these wide: where it is too
// narrow the bar shrinks first, then the text is cut. `total` 0: unknown, without a bar.
std::string progress_line(size_t columns, const std::string &what, uint64_t done, uint64_t total,
                          const std::string &text);

// "12 s left", of work that took so long for `done` of `total`; empty while it is unknown.
std::string time_left(double seconds, uint64_t done, uint64_t total);

// "1.24 GB, 3.1 GB/s", of what was read in so many seconds.
std::string bytes_and_rate(uint64_t bytes, double seconds);

// A progress line on stderr, if stderr is a terminal. The destructor erases it.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // `total` 0: unknown, neither a bar nor the time left is shown. `text` follows these.
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
