// SPDX-License-Identifier: Apache-2.0
// The result of an experiment: what was predicted, what was measured, and whether the expectations
// hold. Rates are bits per second, times ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "model/run_answers.h"

namespace xr {

// What the theory says. Unset: it says nothing about such an experiment.
struct ExperimentPrediction {
  std::optional<double> mark_probability = {}, queue_bytes = {}, alpha = {}, share_bps = {},
                        convergence_ns = {};
  std::optional<bool> stable = {};
  std::string applies = "none"; // "fixed point", "kmax" or "none"
  std::string why = {};         // why there is none; "" if there is one
};

struct ExperimentCheck {
  enum class Outcome : uint8_t { Holds, Fails, Unmeasured };
  std::string text = {}; // as in the file
  Outcome outcome = Outcome::Unmeasured;
  std::optional<double> value = {}, bound = {}; // of the comparison that decided
  std::string row = {};                         // the flow or queue that decided; "": none
  std::optional<uint64_t> t_ns = {};            // when, since the start; unset: unknown
  std::string why = {};                         // why it was not measured
  std::string value_text = {}, bound_text = {}; // of texts, instead of value and bound
  std::string capture = {};                     // the frame that decided is in CAPTURE.pcapng
  uint64_t frame = 0;                           // its number there; 0: none
  bool left_out = false; // not measured, as the row has no such value: `where` leaves it out
  std::string unit = {}; // of value and bound: "ns", "bytes", "bit/s"; "": a number
};

// The samples that series.csv and samples.csv do not have.
struct ExperimentSamples {
  uint64_t flows = 0;                               // that have samples
  uint64_t flows_left_out = 0, queues_left_out = 0; // were sampled, and have none in the files
  uint64_t thinned = 0;                             // of the others: joined with the next one
  uint64_t sample_ns = 0, flow_sample_ns = 0; // distances in the files: of all; of those of flows
};

enum class Verdict : uint8_t { Pass, Fail, Void };
const char *verdict_name(Verdict verdict); // "pass", "fail", "void"

struct ExperimentResult {
  std::string name = {}, place = {}, version = {};
  double scale = 1; // of the run's rates; what is reported is of the experiment's
  uint64_t seed = 0;
  ExperimentMeasurement measured = {}; // its why_void has all reasons
  ExperimentPrediction prediction = {};
  std::vector<ExperimentCheck> checks = {};
  Verdict verdict = Verdict::Void;
  std::optional<RunAnswers> answers = {};        // of its captures, with `analyze:`
  std::optional<ExperimentSamples> samples = {}; // unset: all are in the files, or there are none
};

} // namespace xr
