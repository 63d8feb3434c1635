// SPDX-License-Identifier: Apache-2.0
#include "report/live_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"
#include "report/job.h"
#include "report/phrases.h"

namespace xr::report {

namespace {

uint64_t took(const JobStep &step) { return step.last_ns - step.first_ns; }

} // namespace

std::vector<uint64_t> live_step_times(const LiveJob &live) {
  std::vector<uint64_t> times;
  for (size_t i = 0; i + 1 < live.job.steps.size(); i++)
    times.push_back(took(live.job.steps[i]));
  return times;
}

std::string live_job_sentence(const LiveJob &live) {
  const JobTraffic &job = live.job;
  if (!job.is_job())
    return job.edges.empty() ? "no training job: no data passed"
                             : "no training job: what passed has no steps that repeat";
  std::string text = fmt::format("{} of {}, {}: one each {}, {:.0f} % of it exchange",
                                 job_pattern_name(job.pattern), counted(job.ranks.size(), "rank"),
                                 counted(live.steps_before + job.steps.size(), "step"),
                                 time_words(job.period_ns), job.duty * 100);
  if (!job.stragglers.empty()) {
    const JobStraggler &last = job.stragglers.back();
    text += fmt::format("; {} is late ({}), by {} in {} from step {}",
                        names::address(job.ranks[last.rank].data()), job_cause_name(last.cause),
                        time_words(last.late_ns), counted(last.steps, "step"),
                        live.steps_before + last.first_step + 1);
  }
  return text;
}

bool is_late(const JobStep &step, uint64_t median_ns) {
  return step.late_rank != JobStep::kNoRank || took(step) > median_ns + median_ns / 4;
}

Document late_step_event(const LiveJob &live, size_t step, uint64_t median_ns,
                         uint64_t realtime_offset_ns) {
  const JobStep &late = live.job.steps[step];
  const bool known = late.late_rank != JobStep::kNoRank;
  const uint64_t ns = late.last_ns + realtime_offset_ns;
  const uint64_t number = live.steps_before + step + 1;
  const std::string rank = known ? names::address(live.job.ranks[late.late_rank].data()) : "";
  std::string text = fmt::format("step {} took {}, {} in the median", number,
                                 time_words(took(late)), time_words(median_ns));
  text += known ? fmt::format("; {} was late by {}", rank, time_words(late.late_ns))
                : "; no rank is an outlier";
  Document made;
  const auto add = [&made](const char *name, Value value) {
    made.sections.push_back({name, "", std::move(value), Where::Json});
  };
  add("schema", uint64_t{1});
  add("time", names::utc_time(ns));
  add("type", std::string("late_step"));
  add("step", number);
  add("step_ns", took(late));
  add("median_ns", median_ns);
  add("rank", known ? Value{rank} : Value{});
  add("late_ns", known ? Value{late.late_ns} : Value{});
  made.sections.push_back(
      {"", "", Value{fmt::format("{}  {:<10}  {}", names::local_time(ns), "late step", text)},
       Where::Text});
  return made;
}

} // namespace xr::report
