// SPDX-License-Identifier: Apache-2.0
// For this folder only: the files of HPCC's simulator as an experiment.
#pragma once

#include "base/result.h"
#include "importers/hpcc_config.h"
#include "importers/hpcc_network.h"
#include "importers/lumina.h"

namespace xr::importers {

Result<ImportedExperiment> hpcc_experiment(HpccConfig config, HpccNetwork network, HpccFlows flows);

} // namespace xr::importers
