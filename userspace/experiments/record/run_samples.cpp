// SPDX-License-Identifier: Apache-2.0
#include "record/run_samples.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "record/run_plots.h"
#include "report/experiment.h"
#include "results/files.h"

namespace xr::record {

namespace {

using SampleKind = ExperimentSample::Kind;

} // namespace

report::SampleLimits sample_limits(const experiment::Experiment &experiment) {
  report::SampleLimits limits;
  if (experiment.sample_flows == experiment::kSampleAllFlows)
    return limits;
  const size_t least = limits.flows;
  limits.flows = experiment.sample_flows;
  limits.cells *= std::max<size_t>(limits.flows / least, 1);
  if (experiment.subject.samples) // as often as the file says
    limits.cells = limits.held;
  limits.held = std::max(limits.held, 2 * limits.cells);
  return limits;
}

RunSamples::RunSamples(const experiment::Experiment &experiment, std::string out)
    : experiment_(experiment), out_(std::move(out)),
      all_(experiment.sample_flows == experiment::kSampleAllFlows),
      limits_(sample_limits(experiment)), kept_(limits_), recorder_(plot_recorder(experiment)) {}

Result<std::unique_ptr<RunSamples>> RunSamples::make(const experiment::Experiment &experiment,
                                                     const std::string &out) {
  std::unique_ptr<RunSamples> samples(new RunSamples(experiment, out));
  if (out.empty())
    return samples;
  const std::string path = out + "/series.csv";
  errno = 0;
  samples->series_.open(path, std::ios::binary);
  samples->series_ << report::series_header() << std::flush;
  if (!samples->series_)
    return errno_error(errno, "cannot write " + path);
  samples->table_ = XR_TRY(SampleTable::make(out));
  return samples;
}

// What an expectation names is kept.
void RunSamples::begin(const experiment::Subject &subject) {
  begun_ = true;
  flows_ = subject.flows;
  queues_ = subject.queues;
  choose_ = !all_ && (flows_.size() > limits_.flows || queues_.size() > limits_.queues);
  using experiment::RowKind;
  for (const auto &[rows, kind] :
       {std::pair(RowKind::Flow, SampleKind::Flow), std::pair(RowKind::Queue, SampleKind::Queue)}) {
    std::set<size_t> named;
    for (const experiment::Expectation &expectation : experiment_.expectations)
      expectation.named_rows(subject, rows, named);
    for (const auto &[alias, name] : subject.aliases)
      if (rows == RowKind::Queue)
        for (const size_t row : select_rows(subject, rows, name))
          named.insert(row);
    for (const size_t row : named)
      kept_.name(kind, static_cast<uint32_t>(row));
  }
}

Status RunSamples::write_lines(const std::vector<ExperimentSample> &samples) {
  errno = 0;
  series_ << report::series_lines(samples, flows_, queues_) << std::flush;
  return series_ ? Status() : Status(errno_error(errno, "cannot write " + out_ + "/series.csv"));
}

Status RunSamples::add(const std::vector<ExperimentSample> &samples,
                       const experiment::Subject &subject) {
  if (!begun_)
    begin(subject);
  if (!all_)
    kept_.add(samples);
  if (!choose_)
    recorder_.add(samples);
  if (out_.empty())
    return {};
  if (all_)
    table_->add(samples, flows_, queues_);
  lines_ += samples.size();
  whole_ = whole_ && !choose_ && (all_ || lines_ <= limits_.cells);
  return whole_ ? write_lines(samples) : Status();
}

Status RunSamples::write_series() {
  series_.close();
  return write_whole(out_ + "/series.csv", [this](std::ostream &file) {
    file << report::series_header();
    kept_.each(
        [&](const auto &samples) { file << report::series_lines(samples, flows_, queues_); });
    return Status();
  });
}

Status RunSamples::finish(ExperimentResult &result) {
  if (all_)
    return out_.empty() ? Status() : table_->write();
  if (choose_) // the statistics of the plots are over all
    kept_.each([this](std::vector<ExperimentSample> samples) {
      std::erase_if(samples, [](const ExperimentSample &sample) {
        return !plot::is_drawn(sample.kind, sample.column);
      });
      recorder_.add(samples);
    });
  const ExperimentSamples chosen = kept_.choose();
  const bool fewer = chosen.flows_left_out || chosen.queues_left_out || chosen.thinned;
  if (fewer || (begun_ && experiment_.scenario.flow_sample_every > 1))
    result.samples = chosen;
  if (out_.empty())
    return {};
  if (!whole_)
    XR_TRY(write_series());
  kept_.each([this](const auto &samples) { table_->add(samples, flows_, queues_); });
  return table_->write();
}

plot::HasCurve RunSamples::has_curve() const {
  if (!choose_)
    return {};
  return [this](SampleKind kind, uint32_t row) { return kept_.has(kind, row); };
}

} // namespace xr::record
