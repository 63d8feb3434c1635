// SPDX-License-Identifier: Apache-2.0
#include "cli/run_compare.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "parse/yaml.h"
#include "plot/figures.h"
#include "plot/overlay.h"
#include "plot/page.h"
#include "record/run_plots.h"
#include "report/run_facts.h"
#include "results/files.h"
#include "results/provenance.h"
#include "sweep/stored_run.h"

namespace xr::cli {

namespace {

using Labels = std::vector<std::string>;
using Runs = std::vector<sweep::StoredRun>;

Result<sweep::StoredRun> read_run(const std::string &directory) {
  const std::string path = directory + "/result.json";
  auto text = parse::read_file(path);
  if (!text)
    return Error{text.error().message, "a directory of `xdp-roce run FILE --out DIR`"};
  auto run = sweep::read_stored_run(*text);
  if (!run)
    return Error{fmt::format("{}: {}", path, run.error().message),
                 "a directory of `xdp-roce run FILE --out DIR`, not of a sweep"};
  return run;
}

bool are_distinct(const Labels &labels) {
  return std::set<std::string>(labels.begin(), labels.end()).size() == labels.size();
}

// The places distinguish the runs, or else the names of the directories.
Labels labels_of(const std::vector<std::string> &directories, const Runs &runs) {
  Labels places, names;
  for (size_t i = 0; i < runs.size(); i++) {
    places.push_back(runs[i].result.place);
    const auto path = std::filesystem::path(directories[i] + "/").lexically_normal().parent_path();
    names.push_back(path.filename().string());
  }
  return are_distinct(places) ? places : are_distinct(names) ? names : directories;
}

// ns between two samples of a row; 0: there are none.
Result<uint64_t> sample_interval(const std::string &directory, const sweep::StoredRun &run) {
  auto reader = XR_TRY(sweep::SeriesReader::open(directory + "/series.csv", run));
  uint64_t first = 0;
  for (;;) {
    auto samples = XR_TRY(reader.next());
    if (samples.empty())
      return 0;
    for (const ExperimentSample &sample : samples) {
      if (first && sample.t_ns > first)
        return sample.t_ns - first;
      first = sample.t_ns;
    }
  }
}

// All with the intervals of the longest run and the rarest samples.
struct Intervals {
  uint64_t duration_ns = 0, sample_ns = 0;
  size_t rows = 0;
};

Status add_figures(const std::string &directory, const sweep::StoredRun &run,
                   const Intervals &intervals, plot::LabelledFigures &to) {
  auto reader = XR_TRY(sweep::SeriesReader::open(directory + "/series.csv", run));
  plot::Recorder recorder(intervals.duration_ns, intervals.sample_ns, intervals.rows);
  for (;;) {
    const auto samples = XR_TRY(reader.next());
    if (samples.empty())
      break;
    recorder.add(samples);
  }
  to.figures = plot::figures(run.result, recorder, {});
  return {};
}

Result<std::vector<plot::Figure>> figures_of(const std::vector<std::string> &directories,
                                             const Labels &labels, const Runs &runs) {
  Intervals intervals;
  for (size_t i = 0; i < runs.size(); i++) {
    const auto sample = XR_TRY(sample_interval(directories[i], runs[i]));
    intervals.sample_ns = std::max(intervals.sample_ns, sample);
    intervals.duration_ns = std::max(intervals.duration_ns, runs[i].result.measured.duration_ns);
    intervals.rows += runs[i].rows.size();
  }
  std::vector<plot::LabelledFigures> all;
  for (size_t i = 0; i < runs.size(); i++) {
    all.push_back({labels[i], {}});
    XR_TRY(add_figures(directories[i], runs[i], intervals, all.back()));
  }
  return plot::overlay(std::move(all));
}

Status write_files(const std::string &out, const Labels &labels, const Runs &runs,
                   const sweep::RunComparison &comparison, const report::Document &document,
                   std::vector<plot::Figure> figures) {
  if (Status s = record::make_directory(out); !s)
    return s;
  plot::ComparisonPage page;
  page.title = labels.size() == 2 ? fmt::format("{} and {}", labels[0], labels[1])
                                  : fmt::format("{}", fmt::join(labels, ", "));
  for (size_t i = 0; i < runs.size(); i++)
    page.runs.emplace_back(labels[i], runs[i].result);
  for (const sweep::RunDifference &run_difference : comparison.all) {
    page.rows.push_back({run_difference.name, run_difference.column, run_difference.values, {}});
    for (size_t i = 1; i < runs.size(); i++)
      page.rows.back().relative.push_back(run_difference.relative(i));
  }
  page.figures = std::move(figures);
  if (const auto facts = record::recorded_run())
    page.provenance = report::run_lines(*facts);
  if (Status s = record::write_whole(out + "/compare.json", record::json_file(document)); !s)
    return s;
  return record::write_whole(out + "/report.html", plot::html(page));
}

} // namespace

int compare_stored_runs(const std::vector<std::string> &directories, const std::string &out,
                        const std::string &plots, const Globals &globals) {
  if (directories.size() < 2)
    return refuse("run compare", {"two or more directories are required",
                                  "xdp-roce run compare A B, of `run FILE --out DIR`"});
  Runs runs;
  for (const std::string &directory : directories) {
    auto run = read_run(directory);
    if (!run)
      return fail("run compare", run.error());
    runs.push_back(std::move(run).get());
  }
  const Labels labels = labels_of(directories, runs);
  const sweep::RunComparison comparison = sweep::compare_runs(runs);
  const report::Document document = sweep::comparison_report(labels, runs, comparison);
  if (!out.empty() || !plots.empty()) {
    auto figures = figures_of(directories, labels, runs);
    if (!figures)
      return fail("run compare", figures.error());
    if (!plots.empty())
      if (Status s = record::write_svgs(plots, *figures); !s)
        return fail("run compare", s.error());
    if (!out.empty())
      if (Status s = write_files(out, labels, runs, comparison, document, std::move(*figures)); !s)
        return fail("run compare", s.error());
  }
  Output output(globals.json);
  output.print(document);
  return output.finish();
}

} // namespace xr::cli
