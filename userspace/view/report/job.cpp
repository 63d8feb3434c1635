// SPDX-License-Identifier: Apache-2.0
#include "report/job.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "names/names.h"

namespace xr::report {

namespace {

constexpr std::array kPatterns = {"other",      "ring",  "bidirectional ring", "pairs", "tree",
                                  "all-to-all", "incast"};
constexpr std::array kJobCauses = {"late sender", "late receiver", "late start"};

uint64_t since_first(uint64_t ns, uint64_t first_ns) { return ns - std::min(ns, first_ns); }

std::string host(const JobTraffic &job, uint32_t rank) {
  return names::address(job.ranks[rank].data());
}

Section job_section(const JobTraffic &job, uint64_t first_ns) {
  std::vector<uint64_t> times;
  for (const JobStep &step : job.steps)
    times.push_back(step.last_ns - step.first_ns);
  std::ranges::sort(times);
  const auto at = [&times](size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  return {"job", "TRAINING JOB",
          Group{{{"pattern", "pattern"}, std::string(job_pattern_name(job.pattern))},
                count("ranks", "ranks", job.ranks.size(), Hide::Never),
                count("steps", "steps", job.steps.size(), Hide::Never),
                count("first_ns", "ns from the first frame to the first step",
                      since_first(job.steps[0].first_ns, first_ns), Hide::Never),
                count("period_ns", "ns from step to step, median", job.period_ns, Hide::Never),
                count("exchange_p50_ns", "ns of exchange, median", at(50), Hide::Never),
                count("exchange_p99_ns", "ns of exchange, 99th percentile", at(99), Hide::Never),
                count("exchange_max_ns", "ns of exchange, most", times.back(), Hide::Never),
                {{"duty", "exchange / period", Format::Number}, std::round(job.duty * 1000) / 1000},
                count("silence_ns", "ns of silence that end a step", job.silence_ns, Hide::Never),
                {{"cts", "clear-to-sends seen"}, job.cts}}};
}

Section edges(const JobTraffic &job) {
  Rows rows;
  for (const JobEdge &edge : job.edges)
    if (edge.bytes)
      rows.push_back({host(job, edge.from), host(job, edge.to), edge.bytes, edge.messages, edge.cts,
                      edge.bulk});
  return {"job_edges", "WHO SENDS TO WHOM",
          make_table({{"src", "SRC"},
                      {"dst", "DST"},
                      {"bytes", "BYTES", Format::Count},
                      {"messages", "MESSAGES", Format::Count},
                      {"cts", "CTS", Format::Count},
                      {"bulk", "BULK"}},
                     std::move(rows))};
}

Section stragglers(const JobTraffic &job) {
  Rows rows;
  for (const JobStraggler &one : job.stragglers)
    rows.push_back({host(job, one.rank), std::string(job_cause_name(one.cause)),
                    uint64_t{one.first_step + 1}, uint64_t{one.steps}, one.late_ns});
  Section section{"job_stragglers", "LATE RANKS",
                  make_table({{"rank", "RANK"},
                              {"cause", "CAUSE"},
                              {"first_step", "FROM STEP", Format::Number},
                              {"steps", "STEPS", Format::Count},
                              {"late_ns", "LATE ns", Format::Count}},
                             std::move(rows))};
  section.hide = Hide::Zero;
  section.tone = Tone::Alarm;
  return section;
}

Section incast(const JobTraffic &job, uint64_t first_ns) {
  Rows rows;
  for (const JobIncast &most : job.incast)
    if (most.senders)
      rows.push_back({most.window_ns / 1000, uint64_t{most.senders}, host(job, most.to),
                      since_first(most.at_ns, first_ns)});
  return {"job_incast", "MOST SENDERS TO ONE RECEIVER IN ANY",
          make_table({{"window_us", "us", Format::Count},
                      {"senders", "SENDERS", Format::Count},
                      {"dst", "DST"},
                      {"at_ns", "AT ns", Format::Count}},
                     std::move(rows))};
}

Section reordering(const JobTraffic &job) {
  Rows rows;
  for (size_t i = 0; i < job.reordered.size(); i++)
    if (job.reordered[i])
      rows.push_back({uint64_t{1} << i, (uint64_t{2} << i) - 1, job.reordered[i]});
  Section section{"job_reordering", "PACKETS LATE BY SO MANY PACKETS",
                  make_table({{"from", "FROM", Format::Count},
                              {"to", "TO", Format::Count},
                              {"packets", "PACKETS", Format::Count}},
                             std::move(rows))};
  section.hide = Hide::Zero;
  return section;
}

Section losses(const JobTraffic &job) {
  Section section{
      "job_losses", "NOT IN THE JOB",
      Group{lost("ranks_full", "packets of hosts above the limit", job.ranks_full),
            lost("samples_full", "messages above the limit: not searched for late ranks",
                 job.samples_full),
            lost("rewinds_full", "go-backs above the limit: in no storm", job.rewinds_full),
            lost("extents_unknown", "packets late by an unknown extent", job.extents_unknown),
            lost("untimed", "packets without a time", job.untimed)}};
  section.hide = Hide::Zero;
  return section;
}

Section storms(const JobTraffic &job, uint64_t first_ns) {
  Rows rows;
  for (const JobStorm &storm : job.storms)
    rows.push_back({since_first(storm.first_ns, first_ns), storm.last_ns - storm.first_ns,
                    uint64_t{storm.qps}, storm.rewinds});
  Section section{"job_storms", "RETRY STORMS",
                  make_table({{"at_ns", "AT ns", Format::Count},
                              {"time_ns", "ns", Format::Count},
                              {"streams", "STREAMS", Format::Count},
                              {"go_backs", "GO-BACKS", Format::Count}},
                             std::move(rows))};
  section.tone = Tone::Alarm;
  return section;
}

} // namespace

const char *job_pattern_name(JobPattern pattern) { return kPatterns[static_cast<size_t>(pattern)]; }

const char *job_cause_name(JobCause cause) { return kJobCauses[static_cast<size_t>(cause)]; }

void add_job(Document &document, const JobTraffic &job, uint64_t first_ns) {
  if (job.is_job()) {
    document.sections.push_back(job_section(job, first_ns));
    document.sections.push_back(edges(job));
    document.sections.push_back(stragglers(job));
    document.sections.push_back(incast(job, first_ns));
    document.sections.push_back(reordering(job));
    document.sections.push_back(losses(job));
  }
  if (!job.storms.empty())
    document.sections.push_back(storms(job, first_ns));
}

} // namespace xr::report
