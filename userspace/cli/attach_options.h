// SPDX-License-Identifier: Apache-2.0
// Options of every command that attaches the program.
#pragma once

#include <CLI/CLI.hpp>

#include "datapath/attach.h"

namespace xr::cli {

void add_attach_options(CLI::App &command, datapath::AttachOptions &options);

} // namespace xr::cli
