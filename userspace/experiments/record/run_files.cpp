// SPDX-License-Identifier: Apache-2.0
#include "record/run_files.h"

#include <memory>
#include <optional>

#include "record/run_plots.h"
#include "record/run_samples.h"
#include "record/run_tables.h"
#include "record/scratch_directory.h"
#include "report/experiment.h"
#include "results/files.h"
#include "results/provenance.h"
#include "run_analysis/captures.h"

namespace xr::record {

namespace {

void record_result(const ExperimentResult &result) {
  record_seed(result.seed);
  record_clock(result.place == "virtual" ? "virtual" : "realtime");
}

Status write_result(const std::string &out, const ExperimentResult &result) {
  return write_whole(out + "/result.json", json_file(report::experiment_report(result)));
}

} // namespace

Result<ExperimentResult>
run_experiment(const experiment::Experiment &experiment, const RunFiles &files,
               const std::function<bool(const places::RunProgress &)> &progress,
               const RunPlace &place) {
  places::RunHooks hooks{.progress = progress, .samples = {}, .partial = {}};
  const std::string &out = files.out;
  std::optional<ScratchDirectory> scratch; // of captures that are for the answers only
  if (out.empty() && experiment.only_for_answers) {
    scratch.emplace(XR_TRY(ScratchDirectory::make()));
  }
  const std::string &captures = scratch ? scratch->path() : out;
  hooks.answers = [&](const ExperimentResult &result) {
    return run_analysis::from_captures(experiment, result, captures);
  };
  std::unique_ptr<RunSamples> samples;
  Fd owner;
  if (!out.empty())
    owner = XR_TRY(own_directory(out));
  if (!out.empty() || !files.plots.empty()) {
    samples = XR_TRY(RunSamples::make(experiment, out));
    hooks.samples = [&](const std::vector<ExperimentSample> &some,
                        const experiment::Subject &subject) { return samples->add(some, subject); };
  }
  if (!out.empty())
    hooks.partial = [&](ExperimentResult partial) {
      partial.version = XR_VERSION;
      record_result(partial);
      return write_result(out, partial);
    };
  auto result = place(experiment, hooks, captures);
  if (!result)
    return result;
  result->version = XR_VERSION;
  record_result(result.get());
  if (!samples)
    return result;
  XR_TRY(samples->finish(result.get()));
  XR_TRY(write_plots(out, files.plots, experiment, result.get(), *samples));
  if (out.empty())
    return result;
  XR_TRY(write_result(out, result.get()));
  XR_TRY(write_run_tables(out, result.get()));
  XR_TRY(write_whole(out + "/junit.xml", report::junit_xml({&result.get()})));
  return result;
}

} // namespace xr::record
