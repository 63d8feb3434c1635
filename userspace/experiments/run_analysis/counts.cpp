// SPDX-License-Identifier: Apache-2.0
// Counters of the run against its captures, and what these do not have.
#include <algorithm>
#include <initializer_list>
#include <numeric>

#include <fmt/format.h>

#include "run_analysis/answers.h"

namespace xr::run_analysis {

namespace {

class Checker {
public:
  explicit Checker(const Question &question)
      : q_(question), measured_(q_.measured), left_(q_.trace.counts[kLeft]),
        right_(q_.trace.counts[kRight]) {}

  std::vector<CountCheck> make() {
    uint64_t queue_marks = 0, queue_drops = 0;
    for (const ExperimentQueue &queue : measured_.queues) {
      queue_marks += queue.marked;
      queue_drops += queue.dropped;
    }
    const uint64_t frames = left_.frames + right_.frames;
    if (q_.counts_before_rules)
      add("frames that entered the ports", frames, "packets", measured_.packets);
    else
      add("frames that rules let pass", frames - left_.gone - right_.gone, "packets",
          measured_.packets);
    add("sent - received: requests that rules dropped", left_.lost, "drops",
        sum(&ExperimentFlowCounts::drops),
        queue_drops ? "queues drop after the capture" : std::string());
    add("requests sent again", left_.again, "retransmitted",
        sum(&ExperimentFlowCounts::retransmitted));
    add("NAKs", right_.naks, "naks", sum(&ExperimentFlowCounts::naks));
    add("requests with CE", left_.marked, "marked", sum(&ExperimentFlowCounts::marked),
        queue_marks ? "queues mark after the capture" : std::string());
    add("CNPs", right_.cnps, "cnps", sum(&ExperimentFlowCounts::cnps) + measured_.other_cnps);
    rules();
    return std::move(rows_);
  }

private:
  uint64_t sum(uint64_t ExperimentFlowCounts::*column) const {
    return std::accumulate(
        measured_.flows.begin(), measured_.flows.end(), uint64_t{0},
        [&](uint64_t all, const ExperimentFlow &flow) { return all + flow.whole.*column; });
  }

  void add(const char *what, uint64_t captured, const char *counter, uint64_t counted,
           std::string why = {}) {
    CountCheck &row = rows_.emplace_back();
    row.what = what;
    row.captured = captured;
    row.counter = counter;
    row.why = std::move(why);
    if (!measured_.unmeasured.contains(counter))
      row.counted = counted;
  }

  void rules() {
    for (const Port port : {kLeft, kRight})
      for (size_t i = 0; i < q_.rules[port].size(); i++) {
        const std::string &name = q_.rules[port][i];
        const auto at = std::ranges::find(measured_.rules, name, &ExperimentRule::name);
        if (at == measured_.rules.end())
          continue;
        const auto &seen = q_.trace.by_rule[port];
        const auto hits = seen.find(static_cast<uint32_t>(i + 1));
        add("packets that a rule changed", hits == seen.end() ? 0 : hits->second, "acted",
            at->whole.acted);
        rows_.back().counter = fmt::format("rule('{}').acted", name);
      }
  }

  const Question &q_;
  const ExperimentMeasurement &measured_;
  const Trace::Counts &left_, &right_;
  std::vector<CountCheck> rows_;
};

} // namespace

std::vector<CountCheck> check_counts(const Question &question) { return Checker(question).make(); }

void note_losses(const Trace &trace, const Episodes &episodes, uint64_t dropped, RunAnswers &into) {
  using enum AnswerTable;
  const auto lost = [&](uint64_t count, const char *what,
                        std::initializer_list<AnswerTable> tables) {
    if (!count)
      return;
    into.lost.push_back(fmt::format("{} {}", count, what));
    for (const AnswerTable table : tables)
      if (std::string &first = into.incomplete[static_cast<size_t>(table)]; first.empty())
        first = into.lost.back();
  };
  lost(dropped + episodes.episodes_dropped, "further retransmissions", {Retransmissions, GoBackN});
  lost(trace.hits_dropped, "further packets on which rules acted", {Events, Retransmissions});
  lost(trace.cnps_dropped, "further CNPs: no delay until the CNP is known after them",
       {Events, Cnps});
  lost(trace.unknown, "frames whose outcome was lost: they count as passed",
       {Events, GoBackN, Retransmissions, Findings, Cnps, Counts});
  lost(episodes.findings_dropped, "further findings", {Findings, GoBackN});
  lost(episodes.pairs_full, "packets of QP pairs that were not followed",
       {GoBackN, Retransmissions, Findings, Cnps});
  lost(episodes.holes_forgotten, "gaps beyond 16 at a time", {GoBackN, Retransmissions});
  lost(episodes.cnps_forgotten, "CNPs to QPs beyond 65,536: no intervals", {Cnps});
  lost(episodes.unpaired, "answers whose requests are not known",
       {GoBackN, Retransmissions, Findings});
}

} // namespace xr::run_analysis
