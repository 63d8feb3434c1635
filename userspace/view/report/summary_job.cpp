// SPDX-License-Identifier: Apache-2.0
// What the traffic says about the training job: late ranks and retry storms.
#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"
#include "report/job.h"
#include "report/phrases.h"
#include "report/summary.h"

namespace xr::report {

namespace {

constexpr size_t kNamed = 3; // ranks

// The predicate of a sentence about the rank.
const char *late_words(JobCause cause) {
  switch (cause) {
  case JobCause::LateSender:
    return "is a late sender";
  case JobCause::LateReceiver:
    return "is a late receiver";
  case JobCause::LateStart:
    break;
  }
  return "starts late";
}

} // namespace

void add_job(Summary &summary, const JobTraffic &job) {
  if (job.is_job()) {
    if (!job.stragglers.empty()) {
      const JobStraggler &one = *std::ranges::max_element(
          job.stragglers, {}, [](const JobStraggler &of) { return of.late_ns * of.steps; });
      const size_t more = job.stragglers.size() - 1;
      summary.sentences.push_back(fmt::format(
          "{} {}, by {} in {} of {} from step {}{}.", names::address(job.ranks[one.rank].data()),
          late_words(one.cause), time_words(one.late_ns), number_words(one.steps),
          counted(job.steps.size(), "step"), one.first_step + 1,
          more ? "; " + counted(more, "more case") : ""));
    }
    if (!job.silent.empty()) {
      std::vector<std::string> names;
      for (const uint32_t rank : job.silent)
        names.push_back(names::address(job.ranks[rank].data()));
      const bool many = names.size() > kNamed;
      names.resize(std::min(names.size(), kNamed));
      summary.sentences.push_back(
          fmt::format("{}{} sent nothing in the last step, and nobody sends new data for {} after "
                      "it: {} or what {} for.",
                      listed(names), many ? " and others" : "", time_words(job.silent_ns),
                      job.silent.size() == 1 ? "it hangs," : "they hang,",
                      job.silent.size() == 1 ? "it waits" : "they wait"));
    }
    summary.fact("silent_ranks", uint64_t{job.silent.size()}, "");
    summary.fact("job_steps", uint64_t{job.steps.size()}, "steps");
    summary.fact("job_period", job.period_ns, "ns");
    summary.fact("stragglers", uint64_t{job.stragglers.size()}, "");
  }
  if (!job.storms.empty()) {
    const JobStorm &most = *std::ranges::max_element(job.storms, {}, &JobStorm::qps);
    summary.sentences.push_back(fmt::format(
        "Retry storm: {} went back {} within {}{}.", counted(most.qps, "stream"),
        counted(most.rewinds, "time"), time_words(most.last_ns - most.first_ns),
        job.storms.size() > 1 ? ", the largest of " + number_words(job.storms.size()) : ""));
    summary.fact("retry_storms", uint64_t{job.storms.size()}, "");
  }
}

} // namespace xr::report
