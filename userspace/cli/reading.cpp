// SPDX-License-Identifier: Apache-2.0
#include "cli/reading.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace xr::cli {

namespace {

using datapath::AttachedPort;

std::string reading_context(const Reading &reading) {
  return reading.command + " " + reading.ifname;
}

Result<Snapshot> take(const Reading &reading, const AttachedPort &port) {
  auto now = port.snapshot();
  if (reading.taken)
    reading.taken();
  return now;
}

int read_once(const Reading &reading, const AttachedPort &port, Output &output) {
  auto now = take(reading, port);
  if (!now)
    return fail(reading_context(reading), now.error());
  output.print(reading.report({*now, nullptr, realtime_ns()}));
  return output.finish();
}

int read_again_and_again(const Reading &reading, const AttachedPort &port, Output &output) {
  const Interrupt interrupt;
  auto before = take(reading, port);
  if (!before)
    return fail(reading_context(reading), before.error());
  return every_interval(
      reading_context(reading), reading.repeat, interrupt, port, output, [&]() -> Result<bool> {
        auto now = take(reading, port);
        if (!now)
          return now.error();
        const bool more = output.print_next(reading.report({*now, &*before, realtime_ns()}));
        before = std::move(now);
        return more;
      });
}

} // namespace

int every_interval(const std::string &reading_context, const Repeat &repeat,
                   const Interrupt &interrupt, const AttachedPort &port, const Output &output,
                   const std::function<Result<bool>()> &report) {
  const auto interval = std::chrono::duration_cast<Interrupt::Clock::duration>(
      std::chrono::duration<double>(repeat.interval));
  auto due = Interrupt::Clock::now();
  for (uint64_t done = 0; !repeat.count || done < repeat.count; done++) {
    // No burst of reports after a pause (SIGSTOP, a full pipe).
    due = std::max(due + interval, Interrupt::Clock::now());
    const bool last = !interrupt.sleep_until(due);
    auto alive = port.alive();
    auto more = report();
    if (!more.ok())
      return fail(reading_context, more.error());
    if (alive.ok() && !*alive)
      return fail(reading_context, {"it was detached, or the interface is gone"});
    if (last || !*more)
      break;
  }
  return output.finish();
}

int read_port(const Reading &reading, const Globals &globals) {
  auto port = AttachedPort::open({reading.ifname, globals.netns});
  if (!port)
    return fail(reading_context(reading), port.error());
  Output output(globals.json);
  return reading.repeat.interval > 0 ? read_again_and_again(reading, *port, output)
                                     : read_once(reading, *port, output);
}

} // namespace xr::cli
