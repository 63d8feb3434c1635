// SPDX-License-Identifier: Apache-2.0
// The samples of a run, as series.csv and samples.csv, and for its plots.
#pragma once

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "plot/figures.h"
#include "plot/recorder.h"
#include "record/run_tables.h"
#include "report/kept_samples.h"

namespace xr::record {

// What the files have; of `sample-flows: all`: as without it.
report::SampleLimits sample_limits(const experiment::Experiment &experiment);

class RunSamples {
public:
  // `out`: the directory of the files; "": none. `experiment` must outlive it.
  static Result<std::unique_ptr<RunSamples>> make(const experiment::Experiment &experiment,
                                                  const std::string &out);

  // series.csv is written meanwhile if all flows and queues will be in it, as long as it is small.
  Status add(const std::vector<ExperimentSample> &samples, const experiment::Subject &subject);
  // Chooses the samples of the files, writes them, and says in the result what they do not have.
  Status finish(ExperimentResult &result);

  const plot::Recorder &recorder() const { return recorder_; }
  plot::HasCurve has_curve() const;

private:
  RunSamples(const experiment::Experiment &experiment, std::string out);
  void begin(const experiment::Subject &subject);
  Status write_lines(const std::vector<ExperimentSample> &samples);
  Status write_series();

  const experiment::Experiment &experiment_;
  std::string out_;
  bool all_ = false;    // sample-flows: all
  bool choose_ = false; // there are more flows or queues than the files will have
  std::vector<std::string> flows_, queues_; // names
  report::SampleLimits limits_;
  report::KeptSamples kept_;
  plot::Recorder recorder_;
  std::ofstream series_;
  size_t lines_ = 0; // in series_
  bool begun_ = false, whole_ = true;
  std::unique_ptr<SampleTable> table_;
};

} // namespace xr::record
