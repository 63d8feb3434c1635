// SPDX-License-Identifier: Apache-2.0
#include "plot/svg.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/xml.h"
#include "names/quantity.h"
#include "plot/strokes.h"
#include "plot/ticks.h"

namespace xr::plot {
namespace {

constexpr double kWidth = 900, kHeight = 360, kLeft = 70, kRight = 200, kTop = 36, kBottom = 48;

constexpr double kLetter = 6.8; // about as wide

struct Frame {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0; // limits of the data

  double x(double value) const {
    return kLeft + (value - x0) / (x1 - x0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - (value - y0) / (y1 - y0) * (kHeight - kTop - kBottom);
  }
};

const std::vector<float> &xs(const Figure &figure, const Curve &curve) {
  return curve.x.empty() ? figure.x : curve.x;
}

// A level far above all data would leave most of the plot empty: only its name is there.
bool is_in_sight(double level, double data) { return !(data > 0) || level <= 1.5 * data; }

Frame frame_of(const Figure &figure) {
  const bool zero = figure.shape != Shape::Points;
  double least = zero ? 0 : HUGE_VAL, most = zero ? 0 : -HUGE_VAL;
  double from = HUGE_VAL, to = -HUGE_VAL;
  for (const Curve &curve : figure.curves) {
    if (!curve.shown)
      continue;
    // The axis ends where the data ends.
    const std::vector<float> &x = xs(figure, curve);
    for (size_t i = 0; i < std::min(x.size(), curve.y.size()); i++)
      if (!std::isnan(curve.y[i])) {
        from = std::min(from, static_cast<double>(x[i]));
        to = std::max(to, static_cast<double>(x[i]));
      }
    for (const float y : curve.high.empty() ? curve.y : curve.high)
      if (!std::isnan(y)) {
        most = std::max(most, static_cast<double>(y));
        least = std::min(least, static_cast<double>(y));
      }
  }
  const double data = most;
  for (const Level &level : figure.levels)
    if (is_in_sight(level.y, data))
      most = std::max(most, level.y);
  if (!(to > from)) {
    from = std::isfinite(from) ? std::min(from, 0.0) : 0;
    to = from + 1;
  }
  if (!std::isfinite(least))
    least = 0;
  if (!(most > least))
    most = least + 1;
  if (figure.cells.rows())
    return {0, to + figure.cells.width / 2, 0, static_cast<double>(figure.cells.rows())};
  if (!figure.names.empty())
    return {0.5, static_cast<double>(figure.names.size()) + 0.5, least,
            most + (most - least) * 0.04};
  return {figure.time ? 0 : from, to, least, most + (most - least) * 0.04};
}

// Rows of a heat map are of equal height.
double y_of(const Figure &figure, double value) {
  const std::vector<double> &bounds = figure.cells.bounds;
  if (bounds.empty())
    return value;
  return bounds[std::min(static_cast<size_t>(std::max(value, 0.0)), bounds.size() - 1)];
}

// The unit is beside the axis; of other units "12k" is short enough.
std::string axis_number(double value, const std::string &unit, const AxisUnit &axis) {
  return axis.name == unit && axis.scale == 1 && unit != "s"
             ? names::si(value, unit)
             : fmt::format("{:.6g}", value / axis.scale);
}

// The height that names of ticks need where they are turned.
double room_below(const Figure &figure) {
  size_t longest = 0;
  for (const std::string &name : figure.names)
    longest = std::max(longest, name.size());
  const double width = kLetter * static_cast<double>(longest);
  const double room =
      (kWidth - kRight - kLeft) / static_cast<double>(std::max<size_t>(1, figure.names.size()));
  return width > room ? width / 2 : 0;
}

void draw_axes(std::string &out, const Figure &figure, const Frame &frame, double below) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  auto to = std::back_inserter(out);
  const AxisUnit across =
      axis_unit(std::max(std::fabs(frame.x0), std::fabs(frame.x1)), figure.x_unit);
  // Rows of a heat map may be of any size: their bounds have units of their own.
  const bool rows = figure.cells.rows() > 0;
  const AxisUnit up =
      rows ? AxisUnit{}
           : axis_unit(std::max(std::fabs(frame.y0), std::fabs(frame.y1)), figure.y_unit);
  for (const double value : ticks(frame.y0, frame.y1, 6))
    fmt::format_to(
        to,
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, right, frame.y(value), kLeft - 6, frame.y(value) + 4,
        rows ? names::quantity(y_of(figure, value), figure.y_unit)
             : axis_number(value, figure.y_unit, up));
  const double room =
      (right - kLeft) / static_cast<double>(std::max<size_t>(1, figure.names.size()));
  for (size_t i = 0; i < figure.names.size(); i++) {
    const double x = frame.x(static_cast<double>(i + 1));
    const bool turned = kLetter * static_cast<double>(figure.names[i].size()) > room;
    fmt::format_to(
        to,
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" transform=\"translate({0:.1f},{3:.1f}){4}\" "
        "text-anchor=\"{5}\">{6}</text>\n",
        x, kTop, bottom, bottom + (turned ? 10 : 16), turned ? " rotate(-30)" : "",
        turned ? "end" : "middle", xml_escaped(figure.names[i]));
  }
  for (const double value :
       figure.names.empty() ? ticks(frame.x0, frame.x1, 8) : std::vector<double>())
    fmt::format_to(
        to,
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
        frame.x(value), kTop, bottom, bottom + 16, axis_number(value, figure.x_unit, across));
  fmt::format_to(
      to,
      "<rect class=\"axis\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n"
      "<text class=\"title\" x=\"{:.1f}\" y=\"20\">{}</text>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16,{:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kLeft, kTop, right - kLeft, bottom - kTop, kLeft, xml_escaped(figure.title),
      (kLeft + right) / 2, kHeight + below - 10, xml_escaped(across.name), (kTop + bottom) / 2,
      xml_escaped(up.name));
}

void draw_band(std::string &out, const Figure &figure, const Curve &curve, const Frame &frame,
               const std::string &colour) {
  const auto &x = xs(figure, curve);
  auto to = std::back_inserter(out);
  std::string up, down;
  for (size_t i = 0; i < curve.low.size(); i++) {
    if (std::isnan(curve.low[i]))
      continue;
    fmt::format_to(std::back_inserter(up), "{:.1f},{:.1f} ", frame.x(x[i]), frame.y(curve.high[i]));
    down.insert(0, fmt::format("{:.1f},{:.1f} ", frame.x(x[i]), frame.y(curve.low[i])));
  }
  if (!up.empty())
    fmt::format_to(to, "<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", up, down,
                   colour);
}

void draw_cells(std::string &out, const Figure &figure, const Frame &frame) {
  const Cells &cells = figure.cells;
  const size_t rows = cells.rows();
  float most = 1;
  for (const float count : cells.counts)
    most = std::max(most, count);
  for (size_t i = 0; i < cells.counts.size(); i++) {
    if (!(cells.counts[i] > 0))
      continue;
    const auto x = static_cast<double>(figure.x[i / rows]), row = static_cast<double>(i % rows);
    const double left = frame.x(x - cells.width / 2), top = frame.y(row + 1);
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                   "fill=\"#0072b2\" fill-opacity=\"{:.3f}\"/>\n",
                   left, top, frame.x(x + cells.width / 2) - left, frame.y(row) - top,
                   0.15 + 0.85 * std::log1p(cells.counts[i]) / std::log1p(most));
  }
}

const char *mark_colour(const std::string &name) {
  return name == "go-back"   ? "#9467bd"
         : name == "NAK"     ? "#e69f00"
         : name == "RNR NAK" ? "#8c564b"
                             : "#d62728";
}

bool is_shown(const Figure &figure, const Marks &marks) {
  return !marks.curve || figure.curves.at(*marks.curve).shown;
}

// Marks without y are at the upper edge. Of marks at one place the first is drawn.
void draw_marks(std::string &out, const Figure &figure, const Frame &frame) {
  double row = kTop + 6;
  for (const Marks &marks : figure.marks) {
    if (!is_shown(figure, marks))
      continue;
    std::pair<int, int> last{-1, -1};
    for (size_t i = 0; i < marks.x.size(); i++) {
      const double x = frame.x(static_cast<double>(marks.x[i]));
      const double y = marks.y.empty() ? row : frame.y(static_cast<double>(marks.y[i]));
      const std::pair<int, int> pixel{static_cast<int>(x), static_cast<int>(y)};
      if (pixel == last || y < kTop || y > kHeight - kBottom)
        continue;
      last = pixel;
      fmt::format_to(std::back_inserter(out), "<path d=\"M{:.1f},{:.1f}h8l-4,8z\" fill=\"{}\"/>\n",
                     x - 4, y - 4, mark_colour(marks.name));
    }
    row += 9;
  }
}

std::string stroke_text(const Stroke &stroke) {
  return fmt::format(
      " stroke=\"{}\"{}", stroke.colour,
      stroke.dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash_text(stroke)));
}

void draw_curve(std::string &out, const Figure &figure, const Curve &curve, const Frame &frame,
                const Stroke &stroke) {
  const auto &x = xs(figure, curve);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<path class=\"curve\"{} d=\"", stroke_text(stroke));
  bool drawing = false;
  for (size_t i = 0; i < curve.y.size(); i++) {
    if (std::isnan(curve.y[i])) {
      drawing = false;
      continue;
    }
    if (figure.shape == Shape::Bars) {
      if (curve.y[i] > 0)
        fmt::format_to(to, "M{:.1f},{:.1f}V{:.1f}", frame.x(x[i]), frame.y(0), frame.y(curve.y[i]));
      continue;
    }
    fmt::format_to(to, "{}{:.1f},{:.1f}", drawing ? "L" : "M", frame.x(x[i]), frame.y(curve.y[i]));
    drawing = true;
  }
  out += "\"/>\n";
}

} // namespace

std::string svg(const Figure &figure) {
  double beside = kRight;
  for (const Curve &curve : figure.curves)
    if (curve.shown)
      beside = std::max(beside, 44 + kLetter * static_cast<double>(curve.name.size()));
  const Frame frame = frame_of(figure);
  const size_t named = static_cast<size_t>(std::ranges::count(figure.curves, true, &Curve::shown)) +
                       figure.marks.size();
  const double below =
      std::max(room_below(figure), kTop + 17.0 * static_cast<double>(named) - kHeight);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.grid{{stroke:#ddd}}.axis{{fill:none;stroke:#555}}.title{{font-size:15px;font-weight:"
      "bold}}"
      ".curve{{fill:none;stroke-width:1.4}}.level{{stroke:#555;stroke-dasharray:6 4}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth - kRight + beside, kHeight + below);
  draw_axes(out, figure, frame, below);
  draw_cells(out, figure, frame);
  double legend = kTop + 8;
  const double right = kWidth - kRight;
  const std::vector<Stroke> paints = strokes(figure);
  auto to = std::back_inserter(out);
  for (size_t i = 0; i < figure.curves.size(); i++) {
    const Curve &curve = figure.curves[i];
    if (!curve.shown)
      continue;
    draw_band(out, figure, curve, frame, paints[i].colour);
    draw_curve(out, figure, curve, frame, paints[i]);
    fmt::format_to(to,
                   "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"{3} "
                   "stroke-width=\"3\"/><text x=\"{4:.1f}\" y=\"{5:.1f}\">{6}</text>\n",
                   right + 6, right + 30, legend, stroke_text(paints[i]), right + 34, legend + 4,
                   xml_escaped(curve.name));
    legend += 17;
  }
  draw_marks(out, figure, frame);
  for (const Marks &marks : figure.marks) {
    if (!is_shown(figure, marks))
      continue;
    fmt::format_to(to,
                   "<path d=\"M{:.1f},{:.1f}h8l-4,8z\" fill=\"{}\"/><text x=\"{:.1f}\" "
                   "y=\"{:.1f}\">{}</text>\n",
                   right + 15, legend - 4, mark_colour(marks.name), right + 34, legend + 4,
                   xml_escaped(marks.name));
    legend += 17;
  }
  double above = kTop + 14;
  for (const Level &level : figure.levels) {
    if (level.y > frame.y1) {
      fmt::format_to(
          to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}, above</text>\n",
          right - 4, above, xml_escaped(level.name), names::quantity(level.y, figure.y_unit));
      above += 15;
      continue;
    }
    fmt::format_to(
        to,
        "<line class=\"level\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, right, frame.y(level.y), right - 4, frame.y(level.y) - 4, xml_escaped(level.name));
  }
  out += "</svg>\n";
  return out;
}

} // namespace xr::plot
