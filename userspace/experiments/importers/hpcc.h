// SPDX-License-Identifier: Apache-2.0
// The four files of HPCC's simulator (SIGCOMM'19; github.com/alibaba-edu/High-Precision-Congestion-
// Control), and of the simulators that were made of it, as an experiment.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "importers/lumina.h"
#include "model/experiment.h"

namespace xr::importers {

// `path` is config.txt. The files that it names are found from its directory, or from one of the
// three above; `topology` is instead of TOPOLOGY_FILE, as SimAI takes it; "": none. A key or a
// value that has no equivalent is an error that names it.
Result<ImportedExperiment> hpcc(const std::string &path, const std::string &topology = "");
// The text of a topology for them: its first word is a number.
bool is_hpcc_topology(std::string_view text);

// The texts of the files; names are for errors.
struct HpccTexts {
  std::string config, config_name;
  std::string topology, topology_name;
  std::string flows, flows_name;
};
Result<ImportedExperiment> hpcc(const HpccTexts &texts);

// The lines of fct.txt, as people's scripts read them, by time of completion; flows that did not
// end have none. Error: the flows are not those that were imported.
Result<std::string> fct_text(const ImportedExperiment &imported,
                             const ExperimentMeasurement &measured);

} // namespace xr::importers
