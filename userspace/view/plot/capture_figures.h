// SPDX-License-Identifier: Apache-2.0
// The plots of a capture: rate and PSNs of each stream, losses, CE and CNPs, pauses, heat maps of
// RTT and completion, microbursts. A plot without data is left out.
#pragma once

#include <string>
#include <vector>

#include "model/capture_series.h"
#include "model/episodes.h"
#include "model/microburst.h"
#include "plot/figure.h"

namespace xr::plot {

// `pairs` say to which requests a NAK belongs.
std::vector<Figure> capture_figures(const CaptureSeries &series, const Microbursts &bursts,
                                    const std::vector<PairRow> &pairs);

// "192.0.2.1 to 192.0.2.2 QP 0x12", of answers and CNPs with the word.
std::string stream_name(const roce_key &key);

// What the plots leave out, in words; empty: nothing.
std::vector<std::string> left_out(const CaptureSeries &series);

} // namespace xr::plot
