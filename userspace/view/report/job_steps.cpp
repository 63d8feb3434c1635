// SPDX-License-Identifier: Apache-2.0
#include "report/job_steps.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/cells.h"
#include "report/experiment_tables.h"
#include "report/phrases.h"

namespace xr::report {

namespace {

using Step = ExperimentJob::Step;
using Why = ExperimentJob::Why;

// What the steps took, ascending; without those that did not end.
std::vector<uint64_t> times_of(const ExperimentJob &job) {
  std::vector<uint64_t> times;
  for (const Step &step : job.steps)
    if (step.end_ns)
      times.push_back(*step.end_ns - step.start_ns);
  std::sort(times.begin(), times.end());
  return times;
}

uint64_t at_share(const std::vector<uint64_t> &sorted, double share) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

// The reason and rank of most steps; Nothing: most waited for nothing, or there are none.
struct Reason {
  Why why = Why::Nothing;
  uint32_t rank = 0;
  std::string where;
  bool has_rank = false;
  uint64_t steps = 0, most_ns = 0;
};
Reason reason_of(const ExperimentJob &job) {
  std::map<std::pair<Why, uint32_t>, Reason> all;
  for (const Step &step : job.steps) {
    if (step.why == Why::Nothing)
      continue;
    Reason &reason = all[{step.why, step.rank.value_or(0)}];
    reason.why = step.why;
    reason.rank = step.rank.value_or(0);
    reason.has_rank = step.rank.has_value();
    reason.steps++;
    if (step.excess_ns >= reason.most_ns) {
      reason.most_ns = step.excess_ns;
      reason.where = step.where;
    }
  }
  Reason most;
  for (const auto &[key, reason] : all)
    if (reason.steps > most.steps)
      most = reason;
  return most;
}

std::string reason_words(const Reason &reason) {
  if (!reason.has_rank)
    return fmt::format("{} (all are used alike)", job_why_name(reason.why));
  const std::string rank = fmt::format("rank {}", reason.rank);
  const std::string name = job_why_name(reason.why);
  return reason.where.empty() ? fmt::format("{} ({})", rank, name)
                              : fmt::format("{} ({})", reason.where, name);
}

Section jobs_section(const std::vector<ExperimentJob> &jobs) {
  using enum Format;
  Rows rows;
  for (const ExperimentJob &job : jobs) {
    const std::vector<uint64_t> times = times_of(job);
    const auto time = [&](double share) {
      return times.empty() ? Value{} : Value{at_share(times, share)};
    };
    const auto incast = [&](double share) {
      return job.incast ? Value{job.incast_ranks.quantile(share)} : Value{};
    };
    const auto late = late_rank(job);
    const Reason reason = reason_of(job);
    const bool none = reason.why == Why::Nothing;
    rows.push_back({job.name,
                    job.kind,
                    uint64_t{job.ranks.size()},
                    uint64_t{times.size()},
                    time(0),
                    time(0.5),
                    time(0.99),
                    time(1),
                    job.algbw_bps,
                    job.busbw_bps,
                    job.overlap,
                    job.messages,
                    job.bytes,
                    job.operations,
                    job.left,
                    uint64_t{job.incast},
                    job.incast ? Value{uint64_t{job.incast_rank}} : Value{},
                    incast(0.5),
                    incast(0.99),
                    late ? Value{uint64_t{late->rank}} : Value{},
                    late ? uint64_t{late->steps} : uint64_t{0},
                    reason.has_rank ? Value{uint64_t{reason.rank}} : Value{},
                    none ? Value{} : Value{std::string(job_why_name(reason.why))},
                    none ? Value{} : Value{reason_words(reason)}});
  }
  return {"jobs", "",
          make_table({{"name", "JOB"},
                      {"kind", "KIND"},
                      {"ranks", "RANKS", Count},
                      {"steps", "STEPS", Count},
                      json_only("step_ns.min"),
                      {"step_ns.p50", "STEP ns\np50", Count},
                      json_only("step_ns.p99"),
                      {"step_ns.max", "\nmax", Count},
                      {"algbw_bps", "ALGBW\nbit/s", Scaled, Hide::Zero},
                      {"busbw_bps", "BUSBW\nbit/s", Scaled, Hide::Zero},
                      {"overlap", "OVERLAP", Number, Hide::Zero},
                      {"messages", "MESSAGES", Count},
                      json_only("bytes"),
                      json_only("operations"),
                      {"left", "NOT DONE", Count, Hide::Zero, Tone::Alarm},
                      {"incast", "INCAST", Count},
                      json_only("incast_rank"),
                      json_only("incast_p50"),
                      json_only("incast_p99"),
                      json_only("late_rank"),
                      json_only("late_steps"),
                      json_only("slowest"),
                      json_only("why"),
                      {"reason", "WAITED FOR", Text, Hide::Zero}},
                     std::move(rows))};
}

Section steps_section(const std::vector<ExperimentJob> &jobs, Where where, size_t most) {
  using enum Format;
  Rows rows;
  for (const ExperimentJob &job : jobs)
    for (const Step &step : job.steps) {
      if (rows.size() == most)
        break;
      rows.push_back({job.name, step.name, step.start_ns, maybe(step.end_ns),
                      step.end_ns ? Value{*step.end_ns - step.start_ns} : Value{}, step.compute_ns,
                      step.exchange_ns, step.overlap, step.algbw_bps, step.busbw_bps,
                      std::string(job_why_name(step.why)), step.excess_ns, maybe(step.rank),
                      known(step.where)});
    }
  return {where == Where::Json ? "steps" : "steps_text", "",
          make_table({{"job", "JOB"},
                      {"name", "STEP"},
                      {"start_ns", "START\nns", Count},
                      json_only("end_ns"),
                      {"time_ns", "TIME\nns", Count},
                      {"compute_ns", "COMPUTE\nns", Count, Hide::Zero},
                      {"exchange_ns", "EXCHANGE\nns", Count},
                      json_only("overlap"),
                      json_only("algbw_bps"),
                      {"busbw_bps", "BUSBW\nbit/s", Scaled, Hide::Zero},
                      {"why", "WAITED FOR"},
                      {"excess_ns", "\nns", Count, Hide::Zero},
                      {"rank", "RANK", Count},
                      {"where", "WHERE", Text, Hide::Zero}},
                     std::move(rows)),
          where};
}

Section ranks_section(const std::vector<ExperimentJob> &jobs, Where where, size_t most) {
  using enum Format;
  Rows rows;
  for (const ExperimentJob &job : jobs)
    for (size_t i = 0; i < job.ranks.size() && rows.size() < most; i++) {
      const ExperimentJob::Rank &rank = job.ranks[i];
      rows.push_back({job.name, uint64_t{i}, rank.host, rank.compute_ns, rank.exchange_ns,
                      rank.wait_ns, rank.cts_to_data_ns, rank.data_to_cts_ns,
                      uint64_t{rank.slowest}});
    }
  return {where == Where::Json ? "ranks" : "ranks_text", "",
          make_table({{"job", "JOB"},
                      {"rank", "RANK", Count},
                      {"host", "HOST"},
                      {"compute_ns", "COMPUTE\nns", Count, Hide::Zero},
                      {"exchange_ns", "EXCHANGE\nns", Count},
                      {"wait_ns", "WAITED\nns", Count, Hide::Zero},
                      {"cts_to_data_ns", "CTS TO DATA\nns", Count, Hide::Zero},
                      {"data_to_cts_ns", "DATA TO CTS\nns", Count, Hide::Zero},
                      {"slowest", "SLOWEST\nsteps", Count, Hide::Zero}},
                     std::move(rows)),
          where};
}

} // namespace

std::vector<Section> job_sections(const std::vector<ExperimentJob> &jobs, size_t most) {
  if (jobs.empty())
    return {};
  return {jobs_section(jobs), steps_section(jobs, Where::Json, SIZE_MAX),
          ranks_section(jobs, Where::Json, SIZE_MAX), steps_section(jobs, Where::Text, most),
          ranks_section(jobs, Where::Text, most)};
}

std::string job_sentence(const ExperimentJob &job) {
  const std::vector<uint64_t> times = times_of(job);
  std::string text = job.name + ": ";
  if (job.left)
    text += fmt::format("it did not end, {} of {} {} left; ", job.left,
                        counted(job.operations, "operation"), verb(job.left, "is", "are"));
  if (times.empty())
    return text + "no step is complete.";
  text += counted(times.size(), "step");
  text += fmt::format(", {} in the median", time_words(at_share(times, 0.5)));
  if (times.back() != times.front())
    text += fmt::format(" ({} to {})", time_words(times.front()), time_words(times.back()));
  if (job.busbw_bps > 0)
    text += fmt::format(", bus bandwidth {}", rate_words(job.busbw_bps));
  const Reason reason = reason_of(job);
  if (reason.why != Why::Nothing)
    text += times.size() == 1 ? fmt::format("; it waited for {}, {}", reason_words(reason),
                                            time_words(reason.most_ns))
                              : fmt::format("; {} of them waited for {}, up to {}", reason.steps,
                                            reason_words(reason), time_words(reason.most_ns));
  return text + ".";
}

} // namespace xr::report
