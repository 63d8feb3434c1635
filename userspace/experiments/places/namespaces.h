// SPDX-License-Identifier: Apache-2.0
// Runs an experiment in real time, with frames: in network namespaces of this machine, with
// requesters, wire and responders of this process.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "places/run.h"

namespace xr::places {

struct NamespacesOptions {
  double scale = 1;                                   // see scale.h
  std::string out = {};                               // a directory for captures; "": none
  std::function<void(const std::string &)> note = {}; // sentences for the user
};

// What is reported is in the time and the rates of the experiment, whatever the scale. Errors come
// before anything is made; namespaces, ports and programs are gone when it returns. A run that
// could not measure is void.
// Whether it is possible there, at some scale.
bool runs_in_namespaces(const experiment::Experiment &experiment);

Result<ExperimentResult> run_in_namespaces(const experiment::Experiment &experiment,
                                           const NamespacesOptions &options, const RunHooks &hooks);

} // namespace xr::places
