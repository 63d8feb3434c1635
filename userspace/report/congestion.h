// SPDX-License-Identifier: Apache-2.0
// The reports of `cc`: what there is, parameters of presets side by side, predictions.
#pragma once

#include <span>

#include "congestion/prediction.h"
#include "congestion/timely_parameters.h"
#include "report/document.h"

namespace xr::report {

Document congestion_list();
// Presets of DCQCN by their numbers.
Document dcqcn_presets_report(const std::vector<size_t> &presets);
Document timely_report();
Document prediction_report(const congestion::Question &question, const congestion::Answer &answer);

} // namespace xr::report
