// SPDX-License-Identifier: Apache-2.0
#include "plot/overlay.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace xr::plot {
namespace {

constexpr size_t kStatistics = 2; // mean and median, in front of the curves of a summary

void label(Figure &figure, const std::string &text, unsigned run) {
  for (Curve &curve : figure.curves) {
    curve.run = run;
    curve.name = fmt::format("{}: {}", text, curve.name);
  }
}

// Thresholds that runs have in common are drawn once.
void join_levels(Figure &to, const Figure &from, const std::string &text) {
  for (const Level &level : from.levels)
    if (std::none_of(to.levels.begin(), to.levels.end(), [&](const Level &other) {
          return other.name == level.name && other.y == level.y;
        }))
      to.levels.push_back({fmt::format("{}: {}", text, level.name), level.y});
}

// Statistics of all runs stay in front; the curves of a run without them are shown beside those.
void join(Figure &to, Figure from) {
  std::set<unsigned> runs;
  for (const Curve &curve : to.curves)
    runs.insert(curve.run);
  const size_t front = to.summary && from.summary
                           ? std::min(runs.size() * kStatistics, to.curves.size())
                           : to.curves.size();
  to.curves.insert(to.curves.begin() + static_cast<ptrdiff_t>(front),
                   std::make_move_iterator(from.curves.begin()),
                   std::make_move_iterator(from.curves.end()));
  to.summary = to.summary || from.summary;
}

} // namespace

std::vector<Figure> overlay(std::vector<LabelledFigures> runs) {
  std::vector<Figure> figures;
  for (unsigned run = 0; run < runs.size(); run++)
    for (Figure &figure : runs[run].figures) {
      label(figure, runs[run].label, run);
      const auto same = std::ranges::find(figures, figure.id, &Figure::id);
      if (same == figures.end()) {
        figures.push_back(std::move(figure));
        continue;
      }
      join_levels(*same, figure, runs[run].label);
      join(*same, std::move(figure));
    }
  return figures;
}

} // namespace xr::plot
