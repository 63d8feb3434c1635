// SPDX-License-Identifier: Apache-2.0
// Options of every command that attaches the program.
#pragma once

#include "cli/command_line.h"

#include "datapath/attach.h"

namespace xr::cli {

void add_attach_options(Command command, datapath::AttachOptions &options);

} // namespace xr::cli
