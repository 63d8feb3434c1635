// SPDX-License-Identifier: Apache-2.0
// The reports of `cc`: what there is, parameters of presets side by side, predictions.
#pragma once

#include "rate/control.h"
#include "rate/prediction.h"
#include "rate/steady_state.h"
#include "report/document.h"

namespace xr::report {

Document congestion_list();
// Presets of DCQCN by their numbers.
Document dcqcn_presets_report(const std::vector<size_t> &presets);
// For a control without presets.
Document control_report(const congestion::Control &control);
Document steady_state_report(const congestion::SteadyQuestion &question,
                             const congestion::SteadyState &state);
Document prediction_report(const congestion::Question &question, const congestion::Answer &answer);

} // namespace xr::report
