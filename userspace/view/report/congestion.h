// SPDX-License-Identifier: Apache-2.0
// The reports of `cc`: what there is, parameters of presets side by side, predictions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rate/control.h"
#include "rate/prediction.h"
#include "rate/steady_state.h"
#include "report/document.h"

namespace xr::report {

Document congestion_list();

// An algorithm, or a preset of one.
struct ShownControl {
  std::string name;
  std::span<const congestion::ParameterRow> rows; // none: it has no parameters
  size_t preset = 0;                              // which default of a row
};
// Their parameters, side by side.
Document parameters_report(const std::vector<ShownControl> &shown);
Document steady_state_report(const congestion::SteadyQuestion &question,
                             const congestion::SteadyState &state);
Document prediction_report(const congestion::Question &question, const congestion::Answer &answer);

} // namespace xr::report
