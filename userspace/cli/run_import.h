// SPDX-License-Identifier: Apache-2.0
// `run --import`: prints what others' options and files are here, or makes experiments of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "importers/lumina.h"

namespace xr::cli {

// Files of these are experiments, which can also run: lumina, otg, hpcc. Others are words of
// rules and links.
bool imports_experiments(const std::string &kind);
// The experiment of a file; the error names it.
Result<importers::ImportedExperiment> import_experiment(const std::string &kind,
                                                        const std::string &path);

// `from`: netem's options, or the names of files. The exit status.
int print_imported(const std::string &kind, const std::vector<std::string> &from,
                   const Globals &globals);

} // namespace xr::cli
