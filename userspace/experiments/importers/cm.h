// SPDX-License-Identifier: Apache-2.0
// The connection matrix of htsim (github.com/Broadcom/csg-htsim, ultraethernet/uet-htsim), a .cm
// file, and its .topo as an experiment.
#pragma once

#include <string>

#include "base/result.h"
#include "importers/lumina.h"

namespace xr::importers {

// The texts of the files; names are for errors. Without a topology (""): a fat tree that is large
// enough.
struct CmTexts {
  std::string matrix, matrix_name;
  std::string topology, topology_name;
};
// A word that has no equivalent is an error with its line.
Result<ImportedExperiment> cm(const CmTexts &texts);

} // namespace xr::importers
