// SPDX-License-Identifier: Apache-2.0
#include "plot/overlay.h"

#include <algorithm>
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

// Thresholds that both runs have are drawn once.
void join_levels(Figure &to, const Figure &from, const std::string &text) {
  for (const Level &level : from.levels)
    if (std::none_of(to.levels.begin(), to.levels.end(), [&](const Level &other) {
          return other.name == level.name && other.y == level.y;
        }))
      to.levels.push_back({fmt::format("{}: {}", text, level.name), level.y});
}

// Statistics stay in front; the curves of a run without them are shown beside those.
void join(Figure &to, Figure from) {
  const size_t front = to.summary && from.summary ? kStatistics : to.curves.size();
  to.curves.insert(to.curves.begin() + static_cast<ptrdiff_t>(front),
                   std::make_move_iterator(from.curves.begin()),
                   std::make_move_iterator(from.curves.end()));
  to.summary = to.summary || from.summary;
}

} // namespace

std::vector<Figure> overlay(LabelledFigures first, LabelledFigures second) {
  std::vector<Figure> figures = std::move(first.figures);
  for (Figure &figure : figures)
    label(figure, first.label, 0);
  for (Figure &figure : second.figures) {
    label(figure, second.label, 1);
    const auto same = std::find_if(figures.begin(), figures.end(),
                                   [&](const Figure &item) { return item.id == figure.id; });
    if (same == figures.end()) {
      figures.push_back(std::move(figure));
      continue;
    }
    join_levels(*same, figure, second.label);
    join(*same, std::move(figure));
  }
  return figures;
}

} // namespace xr::plot
