// SPDX-License-Identifier: Apache-2.0
// The command line of `run`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "experiment/experiment.h"
#include "record/run_files.h"

namespace xr::cli {

struct RunArgs {
  std::vector<std::string> files; // FILE; or `merge` or `compare` and directories
  std::vector<std::string> place; // empty: virtual
  std::string out, plots, junit, seed, scale, import, share;
  std::string export_format; // "": it runs
  std::vector<std::string> settings;
  experiment::FindWords find;
  unsigned jobs = 0, threads = 0; // 0: not given
  bool list = false, tap = false;
  std::string role, at; // of --on ports
  uint64_t at_ns = 0;   // CLOCK_REALTIME; 0: when ready
  std::string netns;    // of the ports
  bool quiet = false;   // without notes
};

void describe_run(Command command, RunArgs &args);
int run_files(RunArgs args, const Globals &globals); // the command

Status check_place(const RunArgs &args);
Status check_scale(const RunArgs &args);
bool in_namespaces(const RunArgs &args);
// Processes for the points of a sweep. In namespaces one: the frames of two would share the
// machine.
unsigned jobs_of(const RunArgs &args);
Result<experiment::Settings> settings_of(const RunArgs &args);
// --on, --scale and read_ports() were checked. `at_once`: runs at the same time.
record::RunPlace place_of(const RunArgs &args, unsigned at_once = 1);

} // namespace xr::cli
