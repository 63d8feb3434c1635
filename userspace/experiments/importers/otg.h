// SPDX-License-Identifier: Apache-2.0
// The RoCEv2 part of an Open Traffic Generator configuration (JSON or YAML) as an experiment:
// devices with QPs, stateful flows, CNPs, retransmission and DCQCN of the ports.
#pragma once

#include <string>

#include "base/result.h"
#include "importers/lumina.h"

namespace xr::importers {

// A key or a value that has no equivalent is an error that names it, and all errors are in one. All
// ports have the same options here, as an experiment has one notification point and one timer.
Result<ImportedExperiment> otg(const std::string &text, const std::string &name);

} // namespace xr::importers
