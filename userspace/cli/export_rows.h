// SPDX-License-Identifier: Apache-2.0
// `export --rows`: the streams of ports as NDJSON on standard output, for Vector or Fluent Bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"

namespace xr::cli {

struct RowsOptions {
  bool wanted = false;
  uint64_t interval_ns = 10'000'000'000;
};

// Adds --rows and --interval. After --listen and the options of metrics, which --rows excludes.
void add_rows_options(Command command, RowsOptions &options);

// Prints a row for each stream of `interfaces` (empty: of all attached ports), every interval until
// the reader is gone or an interrupt comes; with `once` one round. Returns the exit status.
int export_rows(const std::vector<std::string> &interfaces, const RowsOptions &options, bool once,
                const Globals &globals);

} // namespace xr::cli
