// SPDX-License-Identifier: Apache-2.0
// The answer with which a report begins: one to three sentences, and the facts they are made of.
// What a sentence says is decided in summary_*.cpp and nowhere else.
#pragma once

#include <string>
#include <vector>

#include "model/comparison.h"
#include "model/episodes.h"
#include "model/experiment_result.h"
#include "model/job_traffic.h"
#include "model/run_reports.h"
#include "model/setup_check.h"
#include "model/wire_counts.h"
#include "report/reports.h"

namespace xr::report {

// A number of the sentences under a fixed name.
struct Fact {
  std::string name; // "lost"
  Value value;
  Value of = {}; // the whole of which it is a part; unknown: none
  std::string unit;
};

struct Summary {
  StringList sentences; // each ends with a full stop
  std::vector<Fact> facts;

  void fact(const char *name, Value value, const char *unit, Value of = {}) {
    facts.push_back({name, std::move(value), std::move(of), unit});
  }
};

// What passed a port or was captured: losses before it, what was sent again, marks and pauses. With
// `before`, what happened between the two. `episodes`: of the same capture or port; null: not
// followed.
// `checks`: of the set-up; empty: it was not checked.
Summary traffic_summary(const Moment &moment, const Episodes *episodes = nullptr,
                        const std::vector<SetupCheck> &checks = {});
// Late ranks and retry storms, as a sentence each.
void add_job(Summary &summary, const JobTraffic &job);
// The verdict on the set-up.
Summary checks_summary(const std::vector<SetupCheck> &checks);
// What following QP pairs found.
Summary episodes_summary(const Episodes &episodes);
// What was lost and changed between places.
Summary compare_summary(const Comparison &comparison);
// The verdict, and what was measured.
Summary experiment_summary(const ExperimentResult &result);
Summary send_summary(const SendReport &report);
Summary respond_summary(const RespondReport &report);
// What a port's link did to the frames that left by it.
Summary link_summary(const WirePortReport &port);

// Sets the document's sentences, and appends its key "summary": {"text", "facts"}.
void add_summary(Document &document, Summary summary);

// The longest time from a loss until what was lost had been sent again; null: none is known.
struct LongestRecovery {
  const EpisodeRow *row = nullptr;
  uint64_t ns = 0;
};
LongestRecovery longest_recovery(const Episodes &episodes);
// From the first sign of the episode until it was over; 0: not known.
uint64_t recovery_ns(const roce_episode &episode);

} // namespace xr::report
