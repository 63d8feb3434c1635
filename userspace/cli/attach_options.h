// SPDX-License-Identifier: Apache-2.0
// What `attach` and `bridge` can be told alike.
#pragma once

#include <CLI/CLI.hpp>

#include "datapath/attach.h"

namespace xr::cli {

void add_attach_options(CLI::App &command, datapath::AttachOptions &options);

} // namespace xr::cli
