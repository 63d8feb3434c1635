// SPDX-License-Identifier: Apache-2.0
// Common to `send` and `respond`: options, and the reports of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"

#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "endpoint/send.h"

namespace xr::cli {

// Adds --cpus: the processors of `threads`.
void add_cpus(Command command, std::vector<uint32_t> &cpus, const std::string &threads);
// Adds --queue, --queues, --steer, --cpus, --copy and --zero-copy.
void add_queue_options(Command command, endpoint::QueueOptions &options, const char *description);
// Adds --steer, for a command with --queues.
Option add_steer(Command command, bool &steer);
// Error: rules of a NIC lead to one queue, and there are more.
Status check_steer(bool steer, uint32_t queues);
// Adds an option with a duration ("10s"), stored in nanoseconds.
void add_duration(Command command, const std::string &name, uint64_t &ns,
                  const std::string &description);
// Adds --no-cnp, --cnp-interval, --cnp-scope, --cnp-mode and --cnp-dscp; `what` is marked CE.
void add_cnp_options(Command command, bool &no_cnp, congestion::CnpPacing &pacing, uint8_t &dscp,
                     const std::string &what);

// Adds --ignore-pfc and --pfc-line.
void add_pfc_options(Command command, bool &obey, uint64_t &line_bits);

// Adds --retransmit go-back-n|selective.
Option add_retransmit(Command command, bool &selective, const std::string &description);

// Runs `run`. Prints a report every `interval` seconds (0: a progress line on a terminal), and the
// final report at the end, also after an interrupt. `document`, `line` and `amount` convert what
// Run::report() returns.
template <typename Run, typename Document, typename Line, typename Amount>
int watch_run(Run &run, const Interrupt &interrupt, const std::string &context, bool json,
              double interval, Document document, Line line, Amount amount) {
  Output output(json);
  size_t printed = tell_notes(context, run.notes());
  auto before = run.report();
  bool first = true;
  const bool every = interval > 0;
  const auto period =
      std::chrono::nanoseconds(static_cast<int64_t>((every ? interval : 0.25) * 1e9));
  Status status;
  {
    Progress progress(context);
    status = run.run(interrupt.flag(), period, [&](const auto &now) {
      printed = tell_notes(context, run.notes(), printed);
      const auto *last = first ? nullptr : &before;
      bool read = true;
      if (every)
        read = json ? output.print_next(document(now)) : output.print_line(line(now, last));
      else
        progress.update(amount(now).first, amount(now).second, line(now, last));
      before = now;
      first = false;
      return read;
    });
  }
  const auto final = run.report();
  const Status closed = run.close();
  tell_notes(context, run.notes(), printed);
  if (every)
    output.print_next(document(final));
  else
    output.print(document(final));
  if (!status)
    return output.finish(fail(context, status.error()));
  return output.finish(closed ? 0 : fail(context, closed.error()));
}

} // namespace xr::cli
