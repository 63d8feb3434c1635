// SPDX-License-Identifier: Apache-2.0
#include "cli/run_compare.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/provenance.h"
#include "cli/run_files.h"
#include "cli/run_plots.h"
#include "parse/yaml.h"
#include "plot/figures.h"
#include "plot/overlay.h"
#include "plot/page.h"
#include "report/run_facts.h"
#include "sweep/stored_run.h"

namespace xr::cli {

namespace {

using Labels = std::pair<std::string, std::string>;

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

// The place distinguishes the runs, or else the name of the directory.
Labels labels_of(const std::vector<std::string> &directories, const sweep::StoredRun &first,
                 const sweep::StoredRun &second) {
  if (first.result.place != second.result.place)
    return {first.result.place, second.result.place};
  const auto name = [](const std::string &directory) {
    const auto path = std::filesystem::path(directory + "/").lexically_normal().parent_path();
    return path.filename().string();
  };
  Labels labels{name(directories[0]), name(directories[1])};
  return labels.first == labels.second ? Labels(directories[0], directories[1]) : labels;
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

// Both with the intervals of the longer run and its rarer samples.
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
                                             const Labels &labels, const sweep::StoredRun &first,
                                             const sweep::StoredRun &second) {
  const sweep::StoredRun *runs[] = {&first, &second};
  Intervals intervals;
  for (size_t i = 0; i < std::size(runs); i++) {
    const auto sample = XR_TRY(sample_interval(directories[i], *runs[i]));
    intervals.sample_ns = std::max(intervals.sample_ns, sample);
    intervals.duration_ns = std::max(intervals.duration_ns, runs[i]->result.measured.duration_ns);
    intervals.rows += runs[i]->rows.size();
  }
  plot::LabelledFigures both[] = {{labels.first, {}}, {labels.second, {}}};
  for (size_t i = 0; i < std::size(runs); i++)
    XR_TRY(add_figures(directories[i], *runs[i], intervals, both[i]));
  return plot::overlay(std::move(both[0]), std::move(both[1]));
}

Status write_files(const std::string &out, const Labels &labels, const sweep::StoredRun &first,
                   const sweep::StoredRun &second, const sweep::RunComparison &comparison,
                   const report::Document &document, std::vector<plot::Figure> figures) {
  if (Status s = make_directory(out); !s)
    return s;
  plot::ComparisonPage page;
  page.title = fmt::format("{} and {}", labels.first, labels.second);
  page.runs = {{{labels.first, first.result}, {labels.second, second.result}}};
  for (const sweep::RunDifference &run_difference : comparison.all)
    page.rows.push_back({run_difference.name, run_difference.column, run_difference.first,
                         run_difference.second, run_difference.relative()});
  page.figures = std::move(figures);
  if (const auto facts = recorded_run())
    page.provenance = report::run_lines(*facts);
  if (Status s = write_whole(out + "/compare.json", json_file(document)); !s)
    return s;
  return write_whole(out + "/report.html", plot::html(page));
}

} // namespace

int compare_stored_runs(const std::vector<std::string> &directories, const std::string &out,
                        const std::string &plots, const Globals &globals) {
  if (directories.size() != 2)
    return refuse("run compare", {"two directories are required",
                                  "xdp-roce run compare A B, of `run FILE --out DIR`"});
  const auto first = read_run(directories[0]), second = read_run(directories[1]);
  for (const auto *run : {&first, &second})
    if (!*run)
      return fail("run compare", run->error());
  const Labels labels = labels_of(directories, first.get(), second.get());
  const sweep::RunComparison comparison = sweep::compare_runs(first.get(), second.get());
  const report::Document document =
      sweep::comparison_report(labels, first.get(), second.get(), comparison);
  if (!out.empty() || !plots.empty()) {
    auto figures = figures_of(directories, labels, first.get(), second.get());
    if (!figures)
      return fail("run compare", figures.error());
    if (!plots.empty())
      if (Status s = write_svgs(plots, *figures); !s)
        return fail("run compare", s.error());
    if (!out.empty())
      if (Status s = write_files(out, labels, first.get(), second.get(), comparison, document,
                                 std::move(*figures));
          !s)
        return fail("run compare", s.error());
  }
  Output output(globals.json);
  output.print(document);
  return output.finish();
}

} // namespace xr::cli
