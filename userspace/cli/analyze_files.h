// SPDX-License-Identifier: Apache-2.0
// `analyze --out DIR`: the picture of a capture as files.
#pragma once

#include <optional>
#include <string>

#include "analysis/analyzer.h"
#include "base/result.h"
#include "capture/splitter.h"
#include "cli/options.h"
#include "report/document.h"

namespace xr::cli {

// Writes report.html, report.json (the document as --json prints it), and ID.svg and ID.csv of each
// plot. Makes the directory. The analysis must have its series and episodes.
Status write_analysis(const std::string &out, const Analysis &analysis,
                      const report::Document &document);

struct SplitArgs {
  std::string by, to, every;
  uint64_t every_ns = 0; // by check_split()
};

void add_split_options(Command command, SplitArgs &args);

// Reads the options; no file is touched.
Status check_split(SplitArgs &args);

// nullopt: not asked for.
Result<std::optional<Splitter>> open_splitter(const SplitArgs &args);

} // namespace xr::cli
