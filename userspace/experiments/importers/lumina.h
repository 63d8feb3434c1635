// SPDX-License-Identifier: Apache-2.0
// A configuration of Lumina (SIGCOMM'23; github.com/lumina-test/lumina) as an experiment: its
// traffic, and its events at exact packets as rules.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::importers {

struct ImportedExperiment {
  std::string yaml;               // of `run FILE`
  std::vector<std::string> notes; // what was read and means nothing here, and why
};

// `text` is the YAML of its orchestrator; `name` names it in errors. A key or a value that has no
// equivalent is an error that names it.
Result<ImportedExperiment> lumina(const std::string &text, const std::string &name);

} // namespace xr::importers
