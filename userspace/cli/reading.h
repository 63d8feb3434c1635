// SPDX-License-Identifier: Apache-2.0
// Common to `counters` and `streams`: prints one report of an attached port, or one every interval.
#pragma once

#include <functional>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/reports.h"

namespace xr::cli {

struct Reading {
  std::string command;
  std::string ifname;
  Repeat repeat;
  bool with_streams = false;
  std::function<report::Document(const report::Moment &)> report;
  std::function<void()> taken = {}; // called immediately after each snapshot
};

int read_port(const Reading &reading, const Globals &globals);

} // namespace xr::cli
