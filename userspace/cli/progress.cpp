// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/output.h"
#include "watch/text_width.h"

namespace xr::cli {

namespace {

constexpr auto kUnshown = std::chrono::milliseconds(500); // shorter work shows no line
constexpr auto kRefresh = std::chrono::milliseconds(100);
constexpr size_t kLongestBar = 30, kShortestBar = 4;

// Asked each time: the user may resize it.
size_t columns_of_terminal() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return number_in("COLUMNS", 80);
}

// With so many significant digits, and at most three after the point: "12", "0.42".
std::string rounded(double value, int digits) {
  constexpr int kMostDecimals = 3;
  const int before = value > 0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  return fmt::format("{:.{}f}", value, std::clamp(digits - before, 0, kMostDecimals));
}

} // namespace

std::string progress_line(size_t columns, const std::string &what, uint64_t done, uint64_t total,
                          const std::string &text) {
  const size_t width = std::max<size_t>(columns, 1) - 1; // the cursor is in the last column
  // A name may be the path of a file, or longer than the line.
  const std::string name = watch::cut_middle(watch::drawable(what, true), width / 2);
  if (!total)
    return watch::cut(fmt::format("{}  {}", name, text), width);
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string rest = fmt::format("{:3.0f} %  {}", part * 100, text);
  const size_t others = watch::columns_of(name) + watch::columns_of(rest) + 5; // "  [] "
  const size_t bar = std::min(width > others ? width - others : 0, kLongestBar);
  if (bar < kShortestBar)
    return watch::cut(fmt::format("{}  {}", name, rest), width);
  const auto full = static_cast<size_t>(part * static_cast<double>(bar));
  return fmt::format("{}  [{:=<{}}{: <{}}] {}", name, "", full, "", bar - full, rest);
}

std::string time_left(double seconds, uint64_t done, uint64_t total) {
  if (!done || done > total)
    return "";
  const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
  constexpr double kMinute = 60, kHour = 3600;
  return left < 2 * kMinute ? fmt::format("{:.0f} s left", left)
         : left < 2 * kHour ? fmt::format("{:.0f} min left", left / kMinute)
                            : fmt::format("{:.1f} h left", left / kHour);
}

std::string bytes_and_rate(uint64_t bytes, double seconds) {
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  return fmt::format("{} GB, {} GB/s", rounded(gigabytes, 3),
                     rounded(seconds > 0 ? gigabytes / seconds : 0, 2));
}

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO)), started_(Clock::now()),
      next_(started_ + kUnshown) {}

Progress::~Progress() {
  if (drawn_)
    fputs("\r\033[K", stderr);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Progress::update(uint64_t done, uint64_t total, const std::string &text) {
  const auto now = Clock::now();
  if (!terminal_ || now < next_)
    return;
  next_ = now + kRefresh;
  drawn_ = true;
  const std::string left = time_left(seconds(), done, total);
  fputs(fmt::format("\r\033[K{}", progress_line(columns_of_terminal(), what_, done, total,
                                                left.empty() ? text : left + ", " + text))
            .c_str(),
        stderr);
  fflush(stderr);
}

} // namespace xr::cli
