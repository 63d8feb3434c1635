// SPDX-License-Identifier: Apache-2.0
// An expectation of an experiment: a predicate over rows of what was measured, like
// "jain(flows.goodput_bps) >= 0.99". It is checked before the run and evaluated after it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expect/columns.h"
#include "model/experiment_result.h"

namespace xr::experiment {

struct Node;

// What an experiment will have, known before it runs.
struct Subject {
  std::vector<std::string> flows, queues, rules, jobs;
  std::vector<std::string> ranks; // JOB:RANK, by job
  const std::vector<std::string> &names(RowKind kind) const {
    switch (kind) {
    case RowKind::Flow:
      return flows;
    case RowKind::Queue:
      return queues;
    case RowKind::Job:
      return jobs;
    case RowKind::Rank:
      return ranks;
    default:
      return rules;
    }
  }
  std::map<std::string, std::string> aliases;             // of queues: bottleneck
  std::set<std::pair<RowKind, std::string_view>> sampled; // columns in series.csv
  // Columns that the place does not measure, and what they need.
  std::map<std::pair<RowKind, std::string>, std::string> absent;
  std::string no_prediction; // why there is none; "": there is one
  Error no_answers = {""};   // why the captures give no answers
  uint64_t duration_ns = 0, measure_from_ns = 0;
  bool samples = false; // a sample time is given
};

// A column of a row over time.
class SampleStore {
public:
  using Samples = std::vector<std::pair<uint64_t, double>>; // ns, value; ascending

  // Keeps samples of these columns only.
  void keep(RowKind kind, std::string_view column) { columns_.emplace(kind, column); }
  void add(RowKind kind, uint32_t row, std::string_view column, uint64_t t_ns, double value);
  const Samples *find(RowKind kind, uint32_t row, std::string_view column) const;

private:
  std::set<std::pair<RowKind, std::string>, std::less<>> columns_;
  std::map<std::tuple<RowKind, std::string, uint32_t>, Samples> samples_;
};

// What a run brought.
struct Evidence {
  const ExperimentMeasurement &measured;
  const ExperimentPrediction &prediction;
  const SampleStore &samples;
  const RunAnswers *answers = nullptr; // nullptr: there are none
};

class Expectation {
public:
  static Result<Expectation> parse(const std::string &text);
  Expectation(Expectation &&) noexcept;
  Expectation &operator=(Expectation &&) noexcept;
  ~Expectation();

  const std::string &text() const { return text_; }
  // Refuses names, columns and combinations that the experiment will not have.
  Status check(const Subject &subject) const;
  // Marks the samples that evaluate() needs.
  void keep_samples(SampleStore &store) const;
  // Whether it needs samples of such rows.
  bool needs_samples(RowKind kind) const;
  // Adds the rows that it names, one by one: a pattern is no name.
  void named_rows(const Subject &subject, RowKind kind, std::set<size_t> &rows) const;
  // Whether it names rows of the answers.
  bool needs_answers() const;
  // Only after a check() that succeeded.
  ExperimentCheck evaluate(const Subject &subject, const Evidence &evidence) const;

private:
  Expectation(std::string text, std::unique_ptr<Node> tree);

  std::string text_;
  std::unique_ptr<Node> tree_;
};

// The rows that a name or a pattern (fnmatch) selects, as indices.
std::vector<size_t> select_rows(const Subject &subject, RowKind kind, const std::string &pattern);

// The types of an expression, for a whole expectation.
Status check_expression(const Node &tree, const Subject &subject);
// What a comparison compares; Any: numbers without a unit.
Dimension compared_dimension(const Node &comparison, const Subject &subject);
ExperimentCheck evaluate_expression(const Node &tree, const Subject &subject,
                                    const Evidence &evidence);

} // namespace xr::experiment
