// SPDX-License-Identifier: Apache-2.0
// A plot as data: what page.h draws in a browser, svg.h as SVG.
#pragma once

#include <string>
#include <vector>

namespace xr::plot {

// Points of one line, at the x values of its figure, or at its own. NaN: no value there.
struct Curve {
  std::string name;
  std::vector<float> y;
  std::vector<float> low, high; // least and largest value of each interval; empty: as y
  std::vector<float> x;         // empty: the figure's
  bool shown = true;            // at first; all can be switched on and off
  unsigned run = 0;             // of two runs over one another: which
};

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
};

} // namespace xr::plot
