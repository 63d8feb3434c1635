// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "plot/page.h"
#include "plot/sweep_figure.h"
#include "record/find.h"
#include "record/run_plots.h"
#include "record/run_tables.h"
#include "report/experiment.h"
#include "report/run_facts.h"
#include "results/files.h"
#include "results/provenance.h"

namespace xr::record {

namespace {

using find::Found;
using find::Tried;

std::string name_of(const Found &found) {
  const std::string settings = sweep::settings_text(found.settings, "");
  return settings.empty() ? found.key : settings;
}

const char *unit_of(parse::UnitKind kind) {
  constexpr const char *kUnits[] = {"", "s", "bytes", "bit/s", "packets/s", ""};
  return kUnits[static_cast<size_t>(kind)];
}

float x_of(const parse::Quantity &quantity) {
  constexpr double kSecond = 1e9;
  return static_cast<float>(quantity.kind == parse::UnitKind::Time ? quantity.value / kSecond
                                                                   : quantity.value);
}

// A result of the trials over the values that were tried; a curve for each search.
plot::Figure over_values(const std::vector<Found> &all, const char *id, const char *title,
                         const char *unit, double (*value)(const sweep::SweepNumbers &)) {
  plot::Figure figure;
  figure.id = id;
  figure.title = title;
  figure.y_unit = unit;
  figure.time = false;
  figure.shape = plot::Shape::Points;
  for (const Found &found : all) {
    std::vector<std::pair<float, float>> points;
    const auto add = [&](const Tried &tried) {
      figure.x_unit = unit_of(tried.quantity.kind);
      if (tried.numbers.sent)
        points.emplace_back(x_of(tried.quantity), static_cast<float>(value(tried.numbers)));
    };
    std::ranges::for_each(found.tried, add);
    for (const auto &[share, tried] : found.at)
      add(tried);
    std::ranges::sort(points);
    plot::Curve curve;
    curve.name = name_of(found);
    for (const auto &[x, y] : points) {
      curve.x.push_back(x);
      curve.y.push_back(y);
    }
    if (!curve.x.empty())
      figure.curves.push_back(std::move(curve));
  }
  return figure;
}

// The values found, and frames a second beside those of the line (RFC 2544, section 26.1), over the
// first key of the sweep.
std::vector<plot::Figure> over_sweep(const std::vector<Found> &all) {
  std::vector<plot::SweepValue> frames, values;
  for (const Found &found : all)
    for (const find::Finding &finding : found.findings) {
      if (!finding.holds || found.settings.empty())
        continue;
      const Tried &tried = found.tried[*finding.holds];
      auto settings = found.settings;
      settings.emplace_back("goal", finding.goal);
      values.push_back({settings, tried.quantity.value});
      const auto line = find::line_frames(found, tried);
      if (!line)
        continue;
      settings.back().second = finding.goal.empty() ? "found" : finding.goal;
      frames.push_back({settings, find::frames_of(found, tried.numbers)});
      settings.back().second = "the line";
      if (&finding == &found.findings.front())
        frames.push_back({settings, *line});
    }
  std::vector<plot::Figure> figures;
  if (!values.empty())
    figures.push_back(
        plot::sweep_figure("found", fmt::format("{} found", all.front().key), "", values));
  if (!frames.empty())
    figures.push_back(plot::sweep_figure("frames", "Frames a second", "frames/s", frames));
  return figures;
}

std::vector<plot::Figure> figures_of(const std::vector<Found> &all) {
  std::vector<plot::Figure> figures = over_sweep(all);
  figures.push_back(over_values(all, "loss", "Lost over what was tried", "%", [](const auto &n) {
    return static_cast<double>(n.lost) / static_cast<double>(n.sent) * 100;
  }));
  figures.push_back(over_values(all, "passed", "Passed over what was tried", "bit/s",
                                [](const auto &n) { return n.wire; }));
  figures.push_back(over_values(all, "backlog",
                                "Longest queue over what was tried, 99th percentile", "bytes",
                                [](const auto &n) { return static_cast<double>(n.queue_p99); }));
  std::erase_if(figures, [](const plot::Figure &figure) {
    return figure.curves.empty() ||
           (figure.id == "backlog" && std::ranges::all_of(figure.curves, plot::flat_zero));
  });
  return figures;
}

using Cell = decltype(plot::PageTable::rows)::value_type::value_type;

Cell cell_of(const report::Value &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  if (const auto *number = std::get_if<double>(&value))
    return *number;
  if (const auto *count = std::get_if<uint64_t>(&value))
    return static_cast<double>(*count);
  if (const auto *truth = std::get_if<bool>(&value))
    return std::string(*truth ? "yes" : "");
  return {};
}

plot::PageTable page_table(const char *title, const report::Table &table) {
  plot::PageTable made{.title = title, .columns = {}, .rows = {}};
  for (const report::Column &column : table.columns)
    made.columns.push_back(column.key.starts_with("settings.") ? column.heading : column.key);
  for (size_t row = 0; row < table.rows; row++) {
    auto &cells = made.rows.emplace_back();
    for (size_t column = 0; column < table.columns.size(); column++)
      cells.push_back(cell_of(table.cell(row, column)));
  }
  return made;
}

} // namespace

Status write_find(const std::string &out, const std::string &name, const std::string &file,
                  const std::vector<Found> &all,
                  const std::vector<const ExperimentResult *> &results) {
  XR_TRY(make_directory(out));
  XR_TRY(write_whole(out + "/find.json", json_file(find::document(name, all))));
  XR_TRY(write_table(out + "/find.csv", find::findings_table(all)));
  XR_TRY(write_table(out + "/trials.csv", find::trials_table(all)));
  XR_TRY(write_whole(out + "/junit.xml", report::junit_xml(results)));
  plot::SweepPage page{.title = name,
                       .verdict = verdict_name(find::verdict_of(all)),
                       .headline = fmt::format("{}", fmt::join(find::summary(all).sentences, " ")),
                       .figures = figures_of(all),
                       .points = page_table("Found", find::findings_table(all))};
  page.more = {page_table("Trials", find::trials_table(all))};
  page.file = file;
  if (const auto facts = recorded_run())
    page.provenance = report::run_lines(*facts);
  return write_whole(out + "/report.html", plot::html(page));
}

Status write_find_plots(const std::string &plots, const std::vector<Found> &all) {
  return write_svgs(plots, figures_of(all));
}

} // namespace xr::record
