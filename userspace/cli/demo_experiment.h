// SPDX-License-Identifier: Apache-2.0
// The experiment of `demo`, for a program without its share/ directory.
#pragma once

namespace xr::cli {

extern const char *const kDemoExperiment; // tools/experiments/dcqcn-eight.yaml

} // namespace xr::cli
