// SPDX-License-Identifier: Apache-2.0
// `analyze --out DIR`: the picture of a capture as files.
#pragma once

#include <string>

#include "analysis/analyzer.h"
#include "base/result.h"
#include "report/document.h"

namespace xr::cli {

// Writes report.html, report.json (the document as --json prints it), and ID.svg and ID.csv of each
// plot. Makes the directory. The analysis must have its series and episodes.
Status write_analysis(const std::string &out, const Analysis &analysis,
                      const report::Document &document);

} // namespace xr::cli
