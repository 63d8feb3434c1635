// SPDX-License-Identifier: Apache-2.0
// Faults of drivers that lose frames without a word, found by tests/kernels/nics.sh.
#pragma once

#include <optional>
#include <string>

namespace xr::host {

// A sentence: what `driver` does to a native XDP program, without its name; none: no fault known.
std::optional<std::string> native_fault(const std::string &driver);

} // namespace xr::host
