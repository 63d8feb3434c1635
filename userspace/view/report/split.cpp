// SPDX-License-Identifier: Apache-2.0
#include "report/split.h"

namespace xr::report {

void add_split(Document &document, const SplitReport &report) {
  document.sections.push_back(
      {"split", "Split",
       Group{{{"directory", "directory"}, report.directory},
             count("files", "files", report.files, Hide::Never),
             count("frames", "frames", report.frames, Hide::Never),
             lost("left_out", "frames left out: too many files", report.left_out)}});
}

} // namespace xr::report
