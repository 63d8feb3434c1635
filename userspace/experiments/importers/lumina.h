// SPDX-License-Identifier: Apache-2.0
// A configuration of Lumina (SIGCOMM'23; github.com/lumina-test/lumina) as an experiment: its
// traffic, and its events at exact packets as rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xr::importers {

// A flow as HPCC's simulator reports it in fct.txt, without what a run measures.
struct FctFlow {
  uint32_t src_ip = 0, dst_ip = 0;
  uint16_t src_port = 0, dst_port = 0;
  uint64_t bytes = 0, standalone_ns = 0; // the time without other traffic
};

struct ImportedExperiment {
  std::string yaml;                    // of `run FILE`
  std::vector<std::string> notes;      // what was read and means nothing here, and why
  std::vector<FctFlow> fct_flows = {}; // in the order of the experiment's flows; empty: no fct.txt
  uint64_t begins_ns = 0;              // the time there at which the experiment begins
};

// `text` is the YAML of its orchestrator; `name` names it in errors. A key or a value that has no
// equivalent is an error that names it.
Result<ImportedExperiment> lumina(const std::string &text, const std::string &name);

} // namespace xr::importers
