// SPDX-License-Identifier: Apache-2.0
// The events of the live page: the keys and numbers of the reports, in few bytes.
#include <gtest/gtest.h>

#include <utility>

#include <arpa/inet.h>

#include <nlohmann/json.hpp>

#include "live/event.h"
#include "live/page.h"
#include "report/json.h"
#include "report/live_job.h"
#include "snapshots.h"

namespace xr::live::live_test {
namespace {

using nlohmann::json;

Reading reading_of(const Snapshot &snapshot) {
  Reading reading;
  reading.snapshot = snapshot;
  reading.realtime_ns = kTime + snapshot.time_ns;
  return reading;
}

Port read_twice(const Snapshot &first) {
  return {"eth1", "", reading_of(a_second_later(first)), reading_of(first)};
}

PassiveLatency round_trips(uint64_t fast, uint64_t slow) {
  PassiveLatency latency;
  latency.histogram = {{ROCE_LATENCY_ACK, false, 1000, 1999, fast},
                       {ROCE_LATENCY_ACK, false, 50'000, 59'999, slow},
                       {ROCE_LATENCY_READ, false, 7, 8, 1000}};
  return latency;
}

TEST(LiveEvent, HasWhatCountersAndStreamsSay) {
  const Port port = read_twice(busy_port());
  const Reading &now = *port.now;
  const std::string text = event({port}, {"packets", 3});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json shown = json::parse(text).at("ports").at(0);
  const json counters =
      json::parse(to_json(report::counters_report({now.snapshot, nullptr, now.realtime_ns})));
  for (const auto &[key, value] : counters.items())
    EXPECT_EQ(shown.at(key), value) << key;
  const report::Moment second{now.snapshot, &port.before->snapshot, now.realtime_ns};
  const json streams = json::parse(to_json(report::streams_report(second, {"packets", 10})));
  EXPECT_EQ(shown.at("streams"), streams.at("streams"));
  EXPECT_EQ(shown.at("rates"), json::parse(to_json(report::counters_report(second))).at("rates"));
  EXPECT_TRUE(shown.at("lost").is_null());
}

TEST(LiveEvent, SortsByRates) {
  const Port port = read_twice(busy_port());
  for (const char *key : {"packets_per_s", "bits_per_s"}) {
    const json shown = json::parse(event({port}, {key, 50}));
    double last = 1e18;
    for (const json &stream : shown.at("ports").at(0).at("streams"))
      EXPECT_LE(stream.at(key).get<double>(), std::exchange(last, stream.at(key).get<double>()));
  }
}

TEST(LiveEvent, RoundTripsAreThoseBetweenTwoReadings) {
  Port port = read_twice(busy_port());
  port.before->latency = std::make_shared<const PassiveLatency>(round_trips(1000, 1000));
  port.now->latency = std::make_shared<const PassiveLatency>(round_trips(1100, 1002));
  json shown = json::parse(event({port}, {})).at("ports").at(0).at("rtt");
  EXPECT_EQ(shown, (json{{"count", 102}, {"p50_ns", 1999}, {"p99_ns", 59'999}}));
  port.now->latency = port.before->latency;
  shown = json::parse(event({port}, {})).at("ports").at(0).at("rtt");
  EXPECT_EQ(shown, (json{{"count", 0}, {"p50_ns", nullptr}, {"p99_ns", nullptr}}));
}

TEST(LiveEvent, HasTheQueueOfALink) {
  Port port = read_twice(busy_port());
  port.now->wire = std::make_shared<const WirePortCounts>(busy_wire());
  const json shown = json::parse(event({port}, {})).at("ports").at(0);
  EXPECT_EQ(shown.at("queue").at("backlog_bytes"), port.now->wire->link.total().backlog_bytes);
  EXPECT_TRUE(shown.contains("drops"));
}

LiveJob ring_of_three(size_t steps) {
  LiveJob live;
  live.steps_before = 1000;
  JobTraffic &job = live.job;
  for (const uint32_t rank : {1, 2, 3})
    job.ranks.push_back({0, 0, htonl(0xffff), htonl(0x0a000000 + rank)});
  job.pattern = JobPattern::Ring;
  job.exchanging = 3;
  job.repeats = true;
  job.period_ns = 20'000'000;
  job.duty = 0.5;
  for (uint64_t i = 0; i < steps; i++) {
    JobStep &step = job.steps.emplace_back();
    step.first_ns = i * job.period_ns;
    step.last_ns = step.first_ns + 10'000'000;
    if (i % 10 == 9) { // of a rank each, but the 20th and so on of none
      step.last_ns += 5'000'000;
      step.late_rank = i % 20 == 9 ? 2 : JobStep::kNoRank;
      step.late_ns = 4'000'000;
    }
  }
  return live;
}

TEST(LiveEvent, HasTheTrainingJob) {
  Port port = read_twice(busy_port());
  json shown = json::parse(event({port}, {})).at("ports").at(0);
  EXPECT_TRUE(shown.at("job").is_null());
  const auto live = std::make_shared<const LiveJob>(ring_of_three(201));
  port.now->job = live;
  shown = json::parse(event({port}, {})).at("ports").at(0).at("job");
  EXPECT_EQ(shown.at("sentence"), report::live_job_sentence(*live));
  EXPECT_EQ(shown.at("ranks"), 3);
  EXPECT_EQ(shown.at("steps"), 1201);
  EXPECT_EQ(shown.at("period_ns"), 20'000'000);
  EXPECT_EQ(shown.at("duty"), 0.5);
  const json &times = shown.at("step_ns");
  ASSERT_EQ(times.size(), 120U);
  EXPECT_EQ(times.back(), 15'000'000); // step 1200: the last one may not be over
  EXPECT_EQ(times.at(118), 10'000'000);
  const json &late = shown.at("late_steps");
  ASSERT_EQ(late.size(), 10U); // of 20, the newest first
  EXPECT_EQ(
      late.at(0),
      (json{{"number", 1200}, {"step_ns", 15'000'000}, {"rank", nullptr}, {"late_ns", nullptr}}));
  EXPECT_EQ(late.at(1), (json{{"number", 1190},
                              {"step_ns", 15'000'000},
                              {"rank", "10.0.0.3"},
                              {"late_ns", 4'000'000}}));
}

TEST(LiveEvent, BurstsOfNoJobHaveASentenceOnly) {
  Port port = read_twice(busy_port());
  port.now->job = std::make_shared<const LiveJob>();
  const json shown = json::parse(event({port}, {})).at("ports").at(0).at("job");
  EXPECT_EQ(shown.at("sentence"), "no training job: no data passed");
  EXPECT_EQ(shown.at("ranks"), 0);
  EXPECT_TRUE(shown.at("period_ns").is_null());
  EXPECT_TRUE(shown.at("step_ns").empty());
  EXPECT_TRUE(shown.at("late_steps").empty());
}

TEST(LiveEvent, APortThatIsGoneKeepsItsCounts) {
  Port port = read_twice(busy_port());
  port.lost = "it was detached";
  json shown = json::parse(event({port}, {})).at("ports").at(0);
  EXPECT_EQ(shown.at("lost"), "it was detached");
  EXPECT_TRUE(shown.contains("frames"));
  EXPECT_FALSE(shown.contains("rates"));
  shown = json::parse(event({{"eth2", "no such interface"}}, {})).at("ports").at(0);
  EXPECT_EQ(shown.at("source").at("name"), "eth2");
}

TEST(LiveEvent, AThousandStreamsAreFewBytes) {
  Snapshot snapshot = busy_port();
  const auto made = snapshot.streams;
  snapshot.qp_numbers.clear();
  while (snapshot.streams.size() < 1000) {
    snapshot.streams.push_back(made[snapshot.streams.size() % made.size()]);
    snapshot.streams.back().key.qp_kind += static_cast<uint32_t>(snapshot.streams.size()) << 3;
  }
  const std::string text = event({read_twice(snapshot)}, {"trouble", 50});
  RecordProperty("bytes", static_cast<int>(text.size()));
  EXPECT_LE(text.size(), 100'000U);
  EXPECT_EQ(json::parse(text).at("ports").at(0).at("streams").size(), 50U);
}

TEST(LivePage, NeedsNoOtherFile) {
  const std::string text = page();
  for (const char *needs :
       {"<script src", "<link rel=\"stylesheet", "href=\"http", "@import", "url("})
    EXPECT_EQ(text.find(needs), std::string::npos) << needs;
  const json columns = json::parse(stream_columns()).at("columns");
  EXPECT_EQ(columns.at(0).at("key"), "src");
  EXPECT_EQ(columns.back().at("key"), "bits_per_s");
}

} // namespace
} // namespace xr::live::live_test
