// SPDX-License-Identifier: Apache-2.0
// A plot as data: what page.h draws in a browser, svg.h as SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace xr::plot {

inline constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();

// Points of one line, at the x values of its figure, or at its own. kNoValue: none there.
struct Curve {
  std::string name;
  std::vector<float> y;
  std::vector<float> low, high; // least and largest value of each interval; empty: as y
  std::vector<float> x;         // empty: the figure's
  bool shown = true;            // at first; all can be switched on and off
  unsigned run = 0;             // of runs over one another: which
  bool left_out = false;        // it is only in the statistics over all curves
};

// No value but 0.
inline bool flat_zero(const Curve &curve) {
  return std::ranges::all_of(curve.y, [](float value) { return std::isnan(value) || value == 0; });
}

// A horizontal line: a threshold or a prediction.
struct Level {
  std::string name;
  double y = 0;
};

// Something that happened at a time.
struct Moment {
  double t_s = 0;
  std::string text;
};

// Events of one kind. y empty: at the upper edge of the plot.
struct Marks {
  std::string name;
  std::vector<float> x, y;
  std::optional<size_t> curve; // belongs to; shown with it only
};

// A heat map: counts by column, of which the figure's x are the middles, and row.
struct Cells {
  double width = 0;           // of a column
  std::vector<double> bounds; // of rows, from below: one more than there are rows; in the y unit
  std::vector<float> counts;  // column after column
  size_t rows() const { return bounds.empty() ? 0 : bounds.size() - 1; }
};

enum class Shape : uint8_t { Line, Bars, Points, Heat };

struct Figure {
  std::string id; // of the file with --plots: "rate"
  std::string title;
  std::string x_unit, y_unit; // "s", "bit/s", "bytes", ""
  std::string kind, column;   // of series.csv: "flow", "goodput_bps"; "": from elsewhere
  bool time = true;           // x is the time of the experiment: figures zoom together
  bool summary = false;       // the first curves are statistics over all others
  std::vector<float> x;
  std::vector<Curve> curves;
  std::vector<Level> levels;
  Shape shape = Shape::Line;
  std::vector<std::string> names = {}; // of the x values 1, 2, 3 ...: a tick for each
  bool choose = false;                 // one curve at a time, which the reader chooses
  std::vector<Marks> marks = {};
  Cells cells = {}; // of Shape::Heat; the curves' y are rows
};

} // namespace xr::plot
