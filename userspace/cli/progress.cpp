// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace xr::cli {

namespace {

constexpr auto kUnshown = std::chrono::milliseconds(500); // shorter work shows no line
constexpr auto kRefresh = std::chrono::milliseconds(100);
constexpr size_t kBar = 30;

} // namespace

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
  std::string bar;
  if (total) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto full = static_cast<size_t>(part * kBar);
    bar = fmt::format("[{:=<{}}{: <{}}] {:3.0f} %  ", "", full, "", kBar - full, part * 100);
  }
  fputs(fmt::format("\r\033[K{}  {}{}", what_, bar, text).c_str(), stderr);
  fflush(stderr);
}

} // namespace xr::cli
