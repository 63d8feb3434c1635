// SPDX-License-Identifier: Apache-2.0
// All that an analysis says, as one text to compare.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "checks/setup.h"
#include "report/checks.h"
#include "report/connections.h"
#include "report/episodes.h"
#include "report/frame_times.h"
#include "report/job.h"
#include "report/json.h"
#include "report/latency.h"
#include "report/microbursts.h"
#include "report/passive_latency.h"
#include "report/reports.h"

namespace xr::test {

// The whole report, and the troubles.
inline std::string report_of(const std::vector<std::string> &paths, const AnalyzeRun &run) {
  Result<Analysis> done = analyze(paths, run);
  if (!done)
    return done.error().message;
  EXPECT_EQ(done->processor_ns.size(), run.jobs);
  const Episodes *episodes = run.options.episodes ? &done->episodes : nullptr;
  const JobTraffic *job = run.options.job ? &done->job : nullptr;
  std::vector<SetupCheck> verdicts;
  if (run.options.traffic && run.options.episodes)
    verdicts = checks::check_setup(
        {done->snapshot, &done->episodes, &done->passive, 0, 0, checks::DscpMap::unknown()});
  report::Document document = report::analyze_report(done->snapshot, {}, episodes, verdicts, job);
  if (job)
    report::add_job(document, *job, done->first_ns);
  report::add_frame_times(document, done->frame_times);
  report::add_microbursts(document, done->microbursts);
  report::add_latency(document, done->latency);
  report::add_episodes(document, done->episodes);
  report::add_passive_latency(document, done->passive);
  report::add_connections(document, done->connections);
  report::add_checks(document, verdicts, done->snapshot.files);
  std::string out = report::to_json(document);
  for (const Error &trouble : done->troubles)
    out += trouble.message + "\n";
  return out;
}

} // namespace xr::test
