// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plots.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cli/run_files.h"
#include "plot/figures.h"
#include "plot/gnuplot.h"
#include "plot/page.h"
#include "plot/svg.h"
#include "plot/sweep_figure.h"
#include "report/run_answers.h"
#include "report/text.h"

namespace xr::cli {
namespace {

std::vector<plot::Level> levels_of(const LinkAqm &aqm, const std::string &where) {
  switch (aqm.kind) {
  case LinkAqm::Kind::Red:
    return {{"Kmin" + where, static_cast<double>(aqm.low)},
            {"Kmax" + where, static_cast<double>(aqm.high)}};
  case LinkAqm::Kind::Step:
    return {{"K" + where, static_cast<double>(aqm.low)}};
  default:
    return {};
  }
}

std::vector<plot::QueueLevels> levels_of(const simulate::Scenario &scenario) {
  std::vector<plot::QueueLevels> all = {{"", levels_of(scenario.queue.aqm, "")}};
  for (const auto &[name, spec] : scenario.queues)
    if (!(spec.aqm == scenario.queue.aqm))
      all.push_back({name, levels_of(spec.aqm, " of " + name)});
  return all;
}

const char *word_of(experiment::RuleChange::Kind kind) {
  constexpr const char *kWords[] = {"add", "delete", "enable", "disable", "clear"};
  return kWords[static_cast<size_t>(kind)];
}

std::vector<plot::Moment> moments_of(const experiment::Experiment &experiment) {
  std::vector<plot::Moment> moments;
  for (const experiment::RuleChange &change : experiment.rules.changes)
    moments.push_back({static_cast<double>(change.at_ns) / 1e9,
                       fmt::format("{} {}", word_of(change.kind),
                                   change.kind == experiment::RuleChange::Kind::Clear
                                       ? "all rules"
                                       : experiment.rules.all[change.rule].name)});
  for (const simulate::Event &event : experiment.scenario.schedule) {
    const char *word = "";
    switch (event.kind) {
    case simulate::Event::Kind::Start:
      word = "start";
      break;
    case simulate::Event::Kind::Stop:
      word = "stop";
      break;
    case simulate::Event::Kind::Link:
      word = "link";
      break;
    case simulate::Event::Kind::Flap:
      word = "flap";
      break;
    case simulate::Event::Kind::Pause:
      word = "pfc";
      break;
    }
    moments.push_back(
        {static_cast<double>(event.at_ns) / 1e9, fmt::format("{} {}", word, event.target)});
  }
  return moments;
}

struct SweepPlot {
  const char *id, *title, *unit;
  double (*value)(const sweep::SweepNumbers &);
};
constexpr SweepPlot kSweepPlots[] = {
    {"rate", "Sum of the flows' goodput", "bit/s", [](const auto &n) { return n.rate; }},
    {"jain", "Jain's index of the flows", "", [](const auto &n) { return n.jain; }},
    {"queue_mean", "Mean backlog of the longest queue", "bytes",
     [](const auto &n) { return n.queue_mean; }},
    {"queue_p99", "99th percentile of its backlog", "bytes",
     [](const auto &n) { return static_cast<double>(n.queue_p99); }},
    {"utilisation", "Its utilisation", "", [](const auto &n) { return n.utilisation; }},
    {"cnps", "CNPs", "packets", [](const auto &n) { return static_cast<double>(n.cnps); }},
    {"drops", "Drops", "packets", [](const auto &n) { return static_cast<double>(n.drops); }},
};

plot::PageTable page_table(const report::Section &section, const report::Table &table) {
  plot::PageTable page{section.title, {}, {}};
  for (const report::Column &column : table.columns) {
    std::string &heading = page.columns.emplace_back(column.heading);
    for (size_t at = 0; (at = heading.find('\n', at)) != std::string::npos;)
      if (at && heading[at - 1] == '-') // a word in two lines
        heading.erase(--at, 2);
      else
        heading[at] = ' ';
  }
  for (size_t row = 0; row < table.rows; row++) {
    auto &cells = page.rows.emplace_back();
    for (size_t i = 0; i < table.columns.size(); i++) {
      const report::Value value = table.cell(row, i);
      const report::Format format = table.columns[i].format;
      const auto *number = std::get_if<uint64_t>(&value);
      if (number && format == report::Format::Count)
        cells.emplace_back(static_cast<double>(*number));
      else if (std::holds_alternative<std::monostate>(value))
        cells.emplace_back();
      else
        cells.emplace_back(report::format_value(value, format));
    }
  }
  return page;
}

// The answers as the summary shows them, with all rows.
std::vector<plot::PageTable> answer_tables(const ExperimentResult &result) {
  std::vector<plot::PageTable> tables;
  if (!result.answers)
    return tables;
  for (const report::Section &section : report::answer_sections(*result.answers, SIZE_MAX))
    if (const auto *table = std::get_if<report::Table>(&section.body);
        table && section.where == report::Where::Text)
      tables.push_back(page_table(section, *table));
  return tables;
}

} // namespace

plot::Recorder plot_recorder(const experiment::Experiment &experiment) {
  return {experiment.scenario.duration_ns, experiment.scenario.sample_ns,
          experiment.subject.flows.size() + experiment.subject.queues.size()};
}

Status write_svgs(const std::string &plots, const std::vector<plot::Figure> &figures) {
  if (Status s = make_directory(plots); !s)
    return s;
  for (const plot::Figure &figure : figures)
    if (Status s = write_whole(fmt::format("{}/{}.svg", plots, figure.id), plot::svg(figure)); !s)
      return s;
  return {};
}

Status write_plots(const std::string &out, const std::string &plots,
                   const experiment::Experiment &experiment, const ExperimentResult &result,
                   const plot::Recorder &recorder) {
  plot::Page page{experiment.text, moments_of(experiment),
                  plot::figures(result, recorder, levels_of(experiment.scenario)),
                  answer_tables(result)};
  if (!plots.empty()) {
    if (Status s = write_svgs(plots, page.figures); !s)
      return s;
    if (Status s = write_whole(plots + "/plot.gp", plot::gnuplot(page.figures)); !s)
      return s;
  }
  return out.empty() ? Status() : write_whole(out + "/report.html", plot::html(result, page));
}

Status write_sweep_plots(const std::string &plots, const std::vector<sweep::SweepPoint> &points) {
  if (Status s = make_directory(plots); !s)
    return s;
  for (const SweepPlot &plot : kSweepPlots) {
    std::vector<plot::SweepValue> values;
    for (const sweep::SweepPoint &point : points)
      if (point.failure.empty() && point.result.verdict != Verdict::Void)
        values.push_back({point.settings, plot.value(point.numbers)});
    if (values.empty())
      return Error{"there is no point to draw"};
    const plot::Figure figure = plot::sweep_figure(plot.id, plot.title, plot.unit, values);
    if (Status s = write_whole(fmt::format("{}/{}.svg", plots, plot.id), plot::svg(figure)); !s)
      return s;
  }
  return {};
}

} // namespace xr::cli
