// SPDX-License-Identifier: Apache-2.0
// Common to the commands that read an attached port: one report, or one every interval.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/attached_port.h"
#include "report/reports.h"

namespace xr::cli {

struct Reading {
  std::string command;
  std::string ifname;
  Repeat repeat;
  std::function<report::Document(const report::Moment &)> report;
  std::function<void()> taken = {}; // called immediately after each snapshot
};

// `counters` and `streams`.
int read_port(const Reading &reading, const Globals &globals);

// Calls `report` every interval: it prints to `output`, and returns whether there may be more. Ends
// when it is not, after the last of `repeat.count`, after an interrupt, or when the port was
// detached. Returns the exit status.
int every_interval(const std::string &context, const Repeat &repeat, const Interrupt &interrupt,
                   const datapath::AttachedPort &port, const Output &output,
                   const std::function<Result<bool>()> &report);

} // namespace xr::cli
