// SPDX-License-Identifier: Apache-2.0
#include "plot/csv.h"

#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace xr::plot {
namespace {

// RFC 4180.
std::string cell(const std::string &text) {
  if (text.find_first_of(",\"\n") == std::string::npos)
    return text;
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string cell(float value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string named(const char *axis, const std::string &unit) {
  return unit.empty() ? axis : fmt::format("{} [{}]", axis, unit);
}

std::string of_cells(const Figure &figure) {
  std::string out = cell(named("x", figure.x_unit)) + "," + cell(named("from", figure.y_unit)) +
                    "," + cell(named("to", figure.y_unit)) + ",count\r\n";
  const size_t rows = figure.cells.rows();
  for (size_t i = 0; i < figure.cells.counts.size(); i++)
    if (figure.cells.counts[i] > 0)
      fmt::format_to(std::back_inserter(out), "{},{},{},{}\r\n", figure.x[i / rows],
                     figure.cells.bounds[i % rows], figure.cells.bounds[i % rows + 1],
                     figure.cells.counts[i]);
  return out;
}

void add_points(std::string &out, const std::string &name, const std::vector<float> &x,
                const std::vector<float> &y, const std::string &mark) {
  for (size_t i = 0; i < x.size(); i++)
    fmt::format_to(std::back_inserter(out), "{},{},{},{}\r\n", cell(name), x[i],
                   i < y.size() ? cell(y[i]) : "", cell(mark));
}

std::string by_points(const Figure &figure) {
  std::string out = "name," + cell(named("x", figure.x_unit)) + "," +
                    cell(named("y", figure.y_unit)) + ",mark\r\n";
  for (const Curve &curve : figure.curves)
    add_points(out, curve.name, curve.x.empty() ? figure.x : curve.x, curve.y, "");
  for (const Marks &of : figure.marks)
    add_points(out, of.curve ? figure.curves.at(*of.curve).name : "", of.x, of.y, of.name);
  return out;
}

} // namespace

std::string csv(const Figure &figure) {
  if (!figure.cells.counts.empty())
    return of_cells(figure);
  if (figure.choose)
    return by_points(figure);
  std::string out = cell(named("x", figure.x_unit));
  for (const Curve &curve : figure.curves)
    out += "," + cell(curve.name);
  out += figure.marks.empty() ? "\r\n" : ",mark\r\n";
  std::map<float, std::vector<float>> rows;
  for (size_t i = 0; i < figure.curves.size(); i++) {
    const Curve &curve = figure.curves[i];
    const std::vector<float> &x = curve.x.empty() ? figure.x : curve.x;
    for (size_t k = 0; k < curve.y.size(); k++) {
      auto &row = rows[x[k]];
      row.resize(figure.curves.size(), NAN);
      row[i] = curve.y[k];
    }
  }
  for (const auto &[x, row] : rows) {
    out += cell(x);
    for (const float value : row)
      out += "," + cell(value);
    out += figure.marks.empty() ? "\r\n" : ",\r\n";
  }
  const std::string none(figure.curves.size(), ',');
  for (const Marks &of : figure.marks)
    for (const float x : of.x)
      out += cell(x) + none + "," + cell(of.name) + "\r\n";
  return out;
}

} // namespace xr::plot
