// SPDX-License-Identifier: Apache-2.0
#include "record/run_plots.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/ranges.h>

#include "base/counted.h"
#include "plot/figures.h"
#include "plot/gnuplot.h"
#include "plot/page.h"
#include "plot/svg.h"
#include "plot/sweep_figure.h"
#include "plot/timeline.h"
#include "record/page_network.h"
#include "record/run_samples.h"
#include "report/job_steps.h"
#include "report/run_answers.h"
#include "report/run_facts.h"
#include "report/summary.h"
#include "report/text.h"
#include "results/files.h"
#include "results/provenance.h"

namespace xr::record {
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
    case simulate::Event::Kind::Down:
      word = "link down";
      break;
    case simulate::Event::Kind::Up:
      word = "link up";
      break;
    }
    moments.push_back(
        {static_cast<double>(event.at_ns) / 1e9, fmt::format("{} {}", word, event.target)});
  }
  return moments;
}

struct SweepPlot {
  const char *id, *title, *unit;
  std::optional<double> (*value)(const sweep::SweepNumbers &);
};
template <typename T> std::optional<double> some(T value) { return static_cast<double>(value); }
constexpr SweepPlot kSweepPlots[] = {
    {"rate", "Sum of the flows' goodput", "bit/s", [](const auto &n) { return some(n.rate); }},
    {"jain", "Jain's index of the flows", "", [](const auto &n) { return n.jain; }},
    {"queue_mean", "Mean backlog of the longest queue", "bytes",
     [](const auto &n) { return some(n.queue_mean); }},
    {"queue_p99", "99th percentile of its backlog", "bytes",
     [](const auto &n) { return some(n.queue_p99); }},
    {"utilisation", "Its utilisation", "", [](const auto &n) { return some(n.utilisation); }},
    {"cnps", "CNPs", "packets", [](const auto &n) { return some(n.cnps); }},
    {"drops", "Drops", "packets", [](const auto &n) { return some(n.drops); }},
};

std::string in_one_line(std::string heading) {
  for (size_t at = 0; (at = heading.find('\n', at)) != std::string::npos;)
    if (at && heading[at - 1] == '-') // a word in two lines
      heading.erase(--at, 2);
    else
      heading[at] = ' ';
  return heading;
}

constexpr std::string_view kMicroseconds = " us";

// A text in us as seconds. Those of a column `at` are since the run's start, as all times of the
// page.
std::optional<double> seconds_of(const report::Value &value, double from_s) {
  const auto *text = std::get_if<std::string>(&value);
  double number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
    return {};
  return number / 1e6 + from_s;
}

// Why a run passes though a capture and a counter differ.
constexpr const char *kNotExpected = "no expectation needs them equal";

// `from_ns`: when the answers' times begin, since the run's start.
plot::PageTable section_table(const report::Section &section, const report::Table &table,
                              uint64_t from_ns, bool passed) {
  plot::PageTable page{section.title, {}, {}};
  std::vector<std::optional<double>> from_s; // of the columns in us
  for (const report::Column &column : table.columns) {
    std::string &heading = page.columns.emplace_back(in_one_line(column.heading));
    const bool timed = heading.ends_with(kMicroseconds);
    from_s.push_back(
        timed ? std::optional(column.key == "at" ? static_cast<double>(from_ns) / 1e9 : 0)
              : std::nullopt);
    if (timed)
      heading.replace(heading.size() - kMicroseconds.size(), kMicroseconds.size(), " s");
  }
  for (size_t row = 0; row < table.rows; row++) {
    auto &cells = page.rows.emplace_back();
    bool differs = false;
    for (size_t i = 0; i < table.columns.size(); i++) {
      const report::Value value = table.cell(row, i);
      const report::Format format = table.columns[i].format;
      const auto *number = std::get_if<uint64_t>(&value);
      const auto seconds = from_s[i] ? seconds_of(value, *from_s[i]) : std::nullopt;
      const auto *text = std::get_if<std::string>(&value);
      differs = differs || (passed && table.columns[i].key == "equal" && text && *text == "NO");
      if (seconds)
        cells.emplace_back(*seconds);
      else if (differs && table.columns[i].key == "why" && report::is_zero(value))
        cells.emplace_back(kNotExpected);
      else if (number && format == report::Format::Count)
        cells.emplace_back(static_cast<double>(*number));
      else if (std::holds_alternative<std::monostate>(value))
        cells.emplace_back();
      else
        cells.emplace_back(report::format_value(value, format));
    }
  }
  return page;
}

// FCT by flow size, and the answers as the summary shows them, with all rows.
std::vector<plot::PageTable> more_tables(const ExperimentResult &result) {
  std::vector<plot::PageTable> tables;
  for (const report::Section &section : report::job_sections(result.measured.jobs, SIZE_MAX))
    if (section.where != report::Where::Json)
      tables.push_back(section_table(section, std::get<report::Table>(section.body), 0, true));
  if (const auto by_size = report::fct_by_size(result.measured))
    tables.push_back(section_table(*by_size, std::get<report::Table>(by_size->body), 0, true));
  if (!result.answers)
    return tables;
  for (const report::Section &section : report::answer_sections(*result.answers, SIZE_MAX))
    if (const auto *table = std::get_if<report::Table>(&section.body);
        table && section.where == report::Where::Text)
      tables.push_back(
          section_table(section, *table, result.answers->from_ns, result.verdict == Verdict::Pass));
  return tables;
}

} // namespace

plot::Recorder plot_recorder(const experiment::Experiment &experiment) {
  const simulate::Scenario &scenario = experiment.scenario;
  return {scenario.duration_ns, scenario.sample_ns * scenario.flow_sample_every,
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
                   const RunSamples &samples) {
  plot::Page page{experiment.text, moments_of(experiment),
                  plot::figures(result, samples.recorder(), levels_of(experiment.scenario),
                                samples.has_curve()),
                  more_tables(result)};
  page.network = page_network(experiment, result);
  for (const ExperimentJob &job : result.measured.jobs)
    if (std::string drawn = plot::timeline(job); !drawn.empty()) {
      if (!plots.empty()) {
        XR_TRY(make_directory(plots));
        XR_TRY(write_whole(fmt::format("{}/ranks-{}.svg", plots, job.name), drawn));
      }
      page.drawings.push_back(std::move(drawn));
    }
  page.headline = fmt::format("{}", fmt::join(report::experiment_summary(result).sentences, " "));
  if (const auto facts = recorded_run())
    page.provenance = report::run_lines(*facts);
  if (!plots.empty()) {
    if (Status s = write_svgs(plots, page.figures); !s)
      return s;
    if (Status s = write_whole(plots + "/plot.gp", plot::gnuplot(page.figures)); !s)
      return s;
  }
  return out.empty() ? Status() : write_whole(out + "/report.html", plot::html(result, page));
}

namespace {

std::vector<plot::Figure> sweep_figures(const std::vector<sweep::SweepPoint> &points) {
  std::vector<plot::Figure> figures;
  for (const SweepPlot &plot : kSweepPlots) {
    std::vector<plot::SweepValue> values;
    for (const sweep::SweepPoint &point : points)
      if (const auto value = is_measured(point) ? plot.value(point.numbers) : std::nullopt)
        values.push_back({point.settings, *value});
    if (!values.empty())
      figures.push_back(plot::sweep_figure(plot.id, plot.title, plot.unit, values));
  }
  return figures;
}

plot::PageTable points_table(const std::vector<sweep::SweepPoint> &points) {
  plot::PageTable table{"Points",
                        {"point", "verdict", "goodput bit/s", "Jain's index", "longest queue",
                         "mean bytes", "p99 bytes", "utilisation", "CNPs", "drops", "seed", "why"},
                        {},
                        {}};
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  for (const sweep::SweepPoint &point : points) {
    const sweep::SweepNumbers &n = point.numbers;
    auto &cells = table.rows.emplace_back();
    cells.emplace_back(
        fmt::format("{} {}", point.number, sweep::settings_text(point.settings, "")));
    cells.emplace_back(std::string(verdict_name(point.result.verdict)));
    if (is_measured(point))
      cells.insert(cells.end(), {n.rate,
                                 n.jain ? decltype(table.rows)::value_type::value_type{*n.jain}
                                        : std::monostate(),
                                 n.queue, n.queue_mean, count(n.queue_p99), n.utilisation,
                                 count(n.cnps), count(n.drops)});
    cells.resize(table.columns.size() - 2);
    cells.emplace_back(count(point.seed));
    cells.emplace_back(point.failure);
    const std::filesystem::path directory = point.directory;
    std::error_code error;
    table.links.push_back(std::filesystem::exists(directory / "report.html", error)
                              ? (directory.filename() / "report.html").string()
                              : "");
  }
  return table;
}

std::string sweep_headline(const std::vector<sweep::SweepPoint> &points, Verdict verdict) {
  const auto with = [&](Verdict wanted) {
    return static_cast<uint64_t>(std::ranges::count_if(
        points, [&](const sweep::SweepPoint &point) { return point.result.verdict == wanted; }));
  };
  const uint64_t pass = with(Verdict::Pass), fail = with(Verdict::Fail), none = with(Verdict::Void);
  return fmt::format("{}: of {}, {} {}, {} {} and {} {} void", verdict_name(verdict),
                     counted(points.size(), "point"), pass, verb(pass, "passes", "pass"), fail,
                     verb(fail, "fails", "fail"), none, verb(none, "is", "are"));
}

} // namespace

Status write_sweep_plots(const std::string &plots, const std::vector<sweep::SweepPoint> &points) {
  const std::vector<plot::Figure> figures = sweep_figures(points);
  if (figures.empty())
    return Error{"there is no point to draw"};
  return write_svgs(plots, figures);
}

Status write_sweep_page(const std::string &out, const std::string &name, Verdict verdict,
                        const std::vector<sweep::SweepPoint> &points) {
  plot::SweepPage page{.title = name,
                       .verdict = verdict_name(verdict),
                       .headline = sweep_headline(points, verdict),
                       .figures = sweep_figures(points),
                       .points = points_table(points)};
  if (const auto facts = recorded_run())
    page.provenance = report::run_lines(*facts);
  return write_whole(out + "/report.html", plot::html(page));
}

void sample_for_plots(experiment::Experiment &experiment) {
  constexpr uint64_t kSamples = 500, kFewest = 50, kLeast = 1000; // ns, as in experiment files
  // A flow's values cost some 2 us, which is most of the time of a sample with many flows.
  constexpr uint64_t kOfFlows = 64'000;
  simulate::Scenario &scenario = experiment.scenario;
  const uint64_t flows = experiment.subject.flows.size();
  const bool many = flows > experiment.sample_flows;
  const bool open_end = scenario.until_done && scenario.duration_ns == experiment::kLongestRun;
  if (!scenario.sample_ns && !open_end) {
    const report::SampleLimits limits = sample_limits(experiment);
    constexpr size_t kOfAQueue = 4, kOfAFlow = 6; // columns of DCQCN's
    const uint64_t queues = experiment.subject.queues.size();
    const uint64_t columns = queues * kOfAQueue + limits.flows * kOfAFlow;
    const uint64_t samples =
        many || queues > limits.queues
            ? std::clamp(limits.cells / std::max<uint64_t>(columns, 1), kFewest, kSamples)
            : kSamples;
    scenario.sample_ns = std::max(scenario.duration_ns / samples, kLeast);
  }
  if (!scenario.sample_ns || !many ||
      std::ranges::any_of(experiment.expectations, [](const experiment::Expectation &one) {
        return one.needs_samples(experiment::RowKind::Flow);
      }))
    return;
  const uint64_t samples = std::max<uint64_t>(scenario.duration_ns / scenario.sample_ns, 1);
  scenario.flow_sample_every =
      std::clamp<uint64_t>((samples * flows + kOfFlows - 1) / kOfFlows, 1, samples);
}

} // namespace xr::record
