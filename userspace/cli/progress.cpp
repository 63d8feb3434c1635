// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace xr::cli {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(500); // what is done by then needs no line
constexpr auto kRefresh = std::chrono::milliseconds(100);
constexpr size_t kBar = 30;

} // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO)), started_(Clock::now()),
      next_(started_ + kPatience) {}

Progress::~Progress() {
  if (drawn_)
    fputs("\r\033[K", stderr);
}

void Progress::update(uint64_t done, uint64_t total) {
  const auto now = Clock::now();
  if (!terminal_ || now < next_)
    return;
  next_ = now + kRefresh;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double megabytes = static_cast<double>(done) / 1e6;
  std::string bar;
  if (total) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto full = static_cast<size_t>(part * kBar);
    bar = fmt::format("[{:=<{}}{: <{}}] {:3.0f} %  ", "", full, "", kBar - full, part * 100);
  }
  fputs(fmt::format("\r\033[K{}  {}{:.0f} MB, {:.0f} MB/s", what_, bar, megabytes,
                    megabytes / seconds)
            .c_str(),
        stderr);
  fflush(stderr);
}

} // namespace xr::cli
