// SPDX-License-Identifier: Apache-2.0
#include "plot/gnuplot.h"

#include <iterator>

#include <fmt/format.h>

namespace xr::plot {
namespace {

// Inside a gnuplot string in single quotes.
std::string quoted(const std::string &text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

} // namespace

std::string gnuplot(const std::vector<Figure> &figures) {
  std::string out = "# gnuplot plot.gp: draws series.csv (xdp-roce run).\n"
                    "set terminal svg size 900,400 dynamic\nset grid\nset key outside\n"
                    "set xlabel 's'\nset format y '%.4s%c'\nset yrange [0:*]\n"
                    "if (!exists('series')) series = 'series.csv'\n";
  auto to = std::back_inserter(out);
  for (const Figure &figure : figures) {
    if (figure.column.empty())
      continue;
    fmt::format_to(to, "\nset output '{}.svg'\nset title {}\nset ylabel {}\nplot ", figure.id,
                   quoted(figure.title), quoted(figure.y_unit));
    bool first = true;
    for (size_t i = figure.summary ? 2 : 0; i < figure.curves.size(); i++) {
      const std::string name = figure.kind == "total" ? "total" : figure.curves[i].name;
      fmt::format_to(
          to,
          "{}\\\n  sprintf(\"< awk -F, '$2==\\\"{}\\\" && $3==\\\"{}\\\" && $4==\\\"{}\\\" "
          "{{print $1/1e9, $5}}' %s\", series) with lines title {}",
          first ? "" : ", ", figure.kind, name, figure.column, quoted(figure.curves[i].name));
      first = false;
    }
    for (const Level &level : figure.levels)
      fmt::format_to(to, ", \\\n  {:.9g} with lines dashtype 2 title {}", level.y,
                     quoted(level.name));
    out += "\n";
  }
  return out;
}

} // namespace xr::plot
