// SPDX-License-Identifier: Apache-2.0
#include "cli/reading.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "datapath/attached_port.h"

namespace xr::cli {

namespace {

using datapath::AttachedPort;

std::string context(const Reading &reading) { return reading.command + " " + reading.ifname; }

Result<Snapshot> take(const Reading &reading, const AttachedPort &port) {
  auto now = port.snapshot(reading.with_streams);
  if (reading.taken)
    reading.taken();
  return now;
}

int read_once(const Reading &reading, const AttachedPort &port, Output &output) {
  auto now = take(reading, port);
  if (!now)
    return fail(context(reading), now.error());
  output.print(reading.report({*now, nullptr, realtime_ns()}));
  return output.finish();
}

int read_again_and_again(const Reading &reading, const AttachedPort &port, Output &output) {
  const Interrupt interrupt;
  const auto interval = std::chrono::duration_cast<Interrupt::Clock::duration>(
      std::chrono::duration<double>(reading.repeat.interval));
  auto before = take(reading, port);
  if (!before)
    return fail(context(reading), before.error());
  auto due = Interrupt::Clock::now();
  for (uint64_t done = 0; !reading.repeat.count || done < reading.repeat.count; done++) {
    // No burst of reports after a pause (SIGSTOP, a full pipe).
    due = std::max(due + interval, Interrupt::Clock::now());
    const bool last = !interrupt.sleep_until(due);
    auto alive = port.alive();
    auto now = take(reading, port);
    if (!now)
      return fail(context(reading), now.error());
    const bool more = output.print_next(reading.report({*now, &*before, realtime_ns()}));
    if (alive && !*alive)
      return fail(context(reading), {"it was detached, or the interface is gone"});
    if (last || !more)
      break;
    before = std::move(now);
  }
  return output.finish();
}

} // namespace

int read_port(const Reading &reading, const Globals &globals) {
  auto port = AttachedPort::open(reading.ifname, globals.netns);
  if (!port)
    return fail(context(reading), port.error());
  Output output(globals.json);
  return reading.repeat.interval > 0 ? read_again_and_again(reading, *port, output)
                                     : read_once(reading, *port, output);
}

} // namespace xr::cli
