// SPDX-License-Identifier: Apache-2.0
#include "watch/rates_panel.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/text.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

std::string bits_per_second(double rate) { return report::scaled_words(rate, "bit/s"); }

} // namespace

std::vector<Line> rates_lines(const State &state, size_t width) {
  const auto &rates = state.view().rates();
  if (!rates)
    return {};
  const QpRate total = rates->total();
  Line line(width);
  line.add("RATES ", Style::Bold);
  line.add(
      fmt::format("{}  {} ", rates->responder ? "respond" : "send", xr::counted(total.qps, "QP")));
  line.add(bits_per_second(total.rate), Style::Bold);
  if (rates->qps.size() > 1) {
    const auto [least, most] =
        std::minmax_element(rates->qps.begin(), rates->qps.end(),
                            [](const QpRate &a, const QpRate &b) { return a.rate < b.rate; });
    line.add(fmt::format(" ({} to {})", bits_per_second(least->rate), bits_per_second(most->rate)));
  }
  line.add(fmt::format("  alpha {:.3f}  Jain {:.3f}  CNPs {}  cuts {}", total.alpha, rates->jain,
                       counted(total.cnps), counted(total.cuts)));
  if (width > line.used() + 1)
    line.add(" " + sparkline(state.view().rate_history(), width - line.used() - 1,
                             state.options.unicode));
  return {line};
}

} // namespace xr::watch
