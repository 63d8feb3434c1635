// SPDX-License-Identifier: Apache-2.0
// Directories of runs, and the files in them.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace xr::record {

// Writes a file so that a reader finds the old content or the new. `write`: its error is handed on.
Status write_whole(const std::string &path, const std::string &text);
Status write_whole(const std::string &path, const std::function<Status(std::ostream &)> &write);

// Makes the directory, and those above it; it may be there.
Status make_directory(const std::string &path);

// Makes the directory and locks it until the descriptor is closed, here and in processes made after
// it. `shared`: others that share it may write too. Error: another run writes into it.
Result<Fd> own_directory(const std::string &path, bool shared = false);

} // namespace xr::record
