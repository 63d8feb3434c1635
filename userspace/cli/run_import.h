// SPDX-License-Identifier: Apache-2.0
// `run --import`: prints what others' options and files are here, or makes experiments of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "importers/lumina.h"

namespace xr::cli {

// Files of these are experiments, which can also run: lumina, otg, hpcc, cm. Others are words
// of rules and links.
bool imports_experiments(const std::string &kind);
// The files of each experiment: one, and a .topo after one of cm.
std::vector<std::vector<std::string>> files_of_experiments(const std::string &kind,
                                                           const std::vector<std::string> &paths);
// The experiment of its files; the error names the file.
Result<importers::ImportedExperiment> import_experiment(const std::string &kind,
                                                        const std::vector<std::string> &files);

// `from`: netem's options, or the names of files. The exit status.
int print_imported(const std::string &kind, const std::vector<std::string> &from,
                   const Globals &globals);

} // namespace xr::cli
