// SPDX-License-Identifier: Apache-2.0
// Metrics made from snapshots: names and types follow the conventions of Prometheus, the number of
// series is limited, and the values equal those of the reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <unistd.h>

#include "live_jobs.h"
#include "metrics/exporter.h"
#include "metrics/process.h"
#include "names/names.h"
#include "report/stream_columns.h"
#include "roce/config.h"
#include "snapshots.h"

namespace metrics_test {
namespace {

using namespace xr;
using namespace xr::metrics;
using prometheus::MetricFamily;
using prometheus::MetricType;

PortReading reading_of(Snapshot snapshot) {
  PortReading reading;
  reading.status.ifname = snapshot.name;
  reading.status.since_ns = kTime;
  reading.snapshot = std::move(snapshot);
  reading.rules = {{1, "opcode ack drop", "", 12, 7}, {3, "roce ce", "", 5, 0}};
  reading.rules[0].matched_bytes = 1200;
  reading.rules[0].acted_bytes = 700;
  reading.rules[0].limited = 4;
  return reading;
}

std::vector<MetricFamily> families_of(const PortReading &reading, size_t top = 10) {
  StreamTotals totals;
  PortState port;
  port.name = "eth1";
  port.reading = &reading;
  port.totals = &totals.update(*reading.snapshot, reading.status.since_ns);
  Families families;
  add_port(families, port, {"gaps", top});
  add_process(families);
  return families.take();
}

const MetricFamily *find(const std::vector<MetricFamily> &all, const std::string &name) {
  for (const MetricFamily &family : all)
    if (family.name == name)
      return &family;
  return nullptr;
}

size_t series(const std::vector<MetricFamily> &all, const std::string &name) {
  const MetricFamily *family = find(all, name);
  return family ? family->metric.size() : 0;
}

// The value of the first series with the label, or of the first at all. NaN: there is none.
double value(const std::vector<MetricFamily> &all, const std::string &name,
             const std::string &label = "") {
  const MetricFamily *family = find(all, name);
  for (const auto &metric : family ? family->metric : std::vector<prometheus::ClientMetric>())
    for (const auto &one : metric.label)
      if (label.empty() || one.value == label)
        return family->type == MetricType::Counter ? metric.counter.value : metric.gauge.value;
  return std::nan("");
}

TEST(Metrics, NamesAndTypesFollowTheConventions) {
  const std::regex name("[a-z][a-z0-9_]*"), own("(xdp_roce|process)_.*");
  std::set<std::string> names;
  for (const MetricFamily &family : families_of(reading_of(busy_port()))) {
    EXPECT_TRUE(std::regex_match(family.name, name)) << family.name;
    EXPECT_TRUE(std::regex_match(family.name, own)) << family.name;
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.type == MetricType::Counter) << family.name;
    std::set<std::vector<prometheus::ClientMetric::Label>> labels;
    for (const auto &metric : family.metric) {
      EXPECT_TRUE(labels.insert(metric.label).second) << family.name << " has a series twice";
      for (const auto &label : metric.label)
        EXPECT_TRUE(std::regex_match(label.name, name)) << family.name << " " << label.name;
    }
  }
}

TEST(Metrics, Checks) {
  PortReading reading = reading_of(busy_port());
  EXPECT_EQ(find(families_of(reading), "xdp_roce_check"), nullptr);
  reading.checks = {{"data_ect", SetupCheck::Status::Ok, "", "", "", ""},
                    {"one_class", SetupCheck::Status::Warn, "", "", "", ""},
                    {"icrc", SetupCheck::Status::Unknown, "", "", "", ""},
                    {"retries", SetupCheck::Status::Fail, "", "", "", ""}};
  const auto all = families_of(reading);
  EXPECT_EQ(series(all, "xdp_roce_check"), 3u); // what is unknown has none
  EXPECT_EQ(value(all, "xdp_roce_check", "data_ect"), 0);
  EXPECT_EQ(value(all, "xdp_roce_check", "one_class"), 1);
  EXPECT_EQ(value(all, "xdp_roce_check", "retries"), 2);
}

TEST(Metrics, EqualTheReport) {
  Snapshot port = busy_port();
  port.opcodes[ROCE_RC_SEND_FIRST] = {{1, 2, 400, 4}, 443'630};
  for (unsigned i = 0; i < ROCE_AETH_COUNTS; i++)
    port.totals.aeth[i] = 1000 + i;
  port.totals.cnps_after_nak = 21;
  port.totals.marked = 31;
  port.totals.cnps_sent = 32;
  port.totals.not_forwarded = 33;
  port.totals.frames[ROCE_CLASS_PFC] = 34;
  PortReading reading = reading_of(port);
  reading.status.streams_used = 60'000; // a bridge: the other port has streams too
  const auto all = families_of(reading);
  EXPECT_EQ(value(all, "xdp_roce_packets_total", "RC_SEND_FIRST"), 407);
  EXPECT_EQ(value(all, "xdp_roce_bytes_total", "RC_SEND_FIRST"), 443'630);
  EXPECT_EQ(value(all, "xdp_roce_ecn_packets_total", "ce"), 4);
  EXPECT_EQ(value(all, "xdp_roce_aeth_packets_total", "nak_remote_access_error"), 1004);
  EXPECT_EQ(value(all, "xdp_roce_cnps_total", "after_nak"), 21);
  EXPECT_EQ(value(all, "xdp_roce_impaired_packets_total", "marked"), 31);
  EXPECT_EQ(value(all, "xdp_roce_cnps_sent_total"), 32);
  EXPECT_EQ(value(all, "xdp_roce_not_forwarded_packets_total"), 33);
  EXPECT_EQ(value(all, "xdp_roce_frames_total", "pfc"), 34);
  EXPECT_EQ(value(all, "xdp_roce_overflow_total", "streams"), 4203);
  EXPECT_EQ(value(all, "xdp_roce_rule_acted_packets_total", "1"), 7);
  EXPECT_EQ(value(all, "xdp_roce_rule_matched_bytes_total", "1"), 1200);
  EXPECT_EQ(value(all, "xdp_roce_rule_acted_bytes_total", "1"), 700);
  EXPECT_EQ(value(all, "xdp_roce_rule_idle_packets_total", "limited"), 4);
  EXPECT_EQ(value(all, "xdp_roce_rule_idle_packets_total", "refused"), 0);
  EXPECT_EQ(value(all, "xdp_roce_streams_used"), 60'000);
  EXPECT_EQ(value(all, "xdp_roce_streams_capacity"), 65'536);
}

// 1,000 handed over before the process began, 5,360 now; by hand.
TEST(WireCounts, WhatAKilledProcessDidNotAccountFor) {
  WireIngress in;
  in.handed_before = 1'000;
  EXPECT_EQ(in.unaccounted(1'000), 0U);
  EXPECT_EQ(in.unaccounted(1'010), 10U) << "nothing was read";
  in.taken = 4'300;
  in.copies = 100;
  in.holding = 1; // of the last count, so it does not matter
  in.left = 4'000;
  in.mac_control = 3;
  in.dropped_by_rules = 20;
  in.dropped_by_link = 30;
  in.tx_dropped = 4;
  in.no_buffer = 5;
  in.ring_full = 6;
  in.refused = 7;
  EXPECT_EQ(in.unaccounted(5'360), 4'360U + 100 - 4'000 - 3 - 20 - 30 - 4 - 5 - 6 - 7);
  in.dropped_at_end = 385;
  EXPECT_EQ(in.unaccounted(5'360), 0U);
  in.left++; // counted before the kernel's count was read
  EXPECT_EQ(in.unaccounted(5'360), 0U);
}

TEST(Metrics, OfAWire) {
  PortReading reading = reading_of(busy_port());
  EXPECT_EQ(find(families_of(reading), "xdp_roce_wire_running"), nullptr);
  reading.wire = std::make_shared<WirePortCounts>(busy_wire());
  const auto all = families_of(reading);
  EXPECT_EQ(value(all, "xdp_roce_wire_running"), 0);
  EXPECT_EQ(value(all, "xdp_roce_wire_taken_frames_total"), 5000);
  EXPECT_EQ(value(all, "xdp_roce_wire_sent_frames_total"), 4700);
  EXPECT_EQ(value(all, "xdp_roce_wire_held_frames"), 200);
  EXPECT_EQ(value(all, "xdp_roce_wire_free_buffers"), 12'000);
  EXPECT_EQ(value(all, "xdp_roce_wire_lost_frames_total", "ring_full"), 7);
  EXPECT_EQ(value(all, "xdp_roce_wire_lost_frames_total", "link"), 90);
  EXPECT_EQ(value(all, "xdp_roce_wire_lost_frames_total", "tx_dropped"), 3);
  EXPECT_EQ(value(all, "xdp_roce_wire_lost_frames_total", "killed"), 31);
  EXPECT_EQ(value(all, "xdp_roce_wire_lost_frames_total", "flap"), 6);
  EXPECT_EQ(value(all, "xdp_roce_link_flaps_total"), 5);
  EXPECT_EQ(value(all, "xdp_roce_wire_matched_again_frames_total"), 70);
  EXPECT_EQ(value(all, "xdp_roce_wire_unmatched_frames_total"), 2);
  EXPECT_EQ(value(all, "xdp_roce_link_carrier_downs_total"), 4);
  EXPECT_EQ(value(all, "xdp_roce_link_held_down"), 1);
  EXPECT_NEAR(value(all, "xdp_roce_wire_late_seconds", "0.5"), 1e-6, 0.07e-6);
  EXPECT_NEAR(value(all, "xdp_roce_wire_late_seconds", "1"), 9e-6, 1e-9);
  EXPECT_EQ(value(all, "xdp_roce_link_offered_frames_total", "3"), 4000);
  EXPECT_EQ(value(all, "xdp_roce_link_sent_bytes_total", "3"), 3'891'200);
  EXPECT_EQ(value(all, "xdp_roce_link_marked_frames_total", "3"), 41);
  EXPECT_EQ(value(all, "xdp_roce_link_backlog_bytes", "3"), 20'480);
  EXPECT_EQ(value(all, "xdp_roce_link_dropped_frames_total", "buffer"), 60);
  EXPECT_EQ(value(all, "xdp_roce_link_dropped_frames_total", "aqm"), 30);
  EXPECT_EQ(series(all, "xdp_roce_link_dropped_frames_total"), kLinkDrops - 1) << "one class";
  EXPECT_EQ(value(all, "xdp_roce_link_pauses_total", "received"), 2);
  EXPECT_EQ(value(all, "xdp_roce_link_pauses_total", "sent"), 5);
  EXPECT_NEAR(value(all, "xdp_roce_link_paused_seconds_total"), 1.5e-3, 1e-9);
  EXPECT_NEAR(value(all, "xdp_roce_link_busy_seconds_total"), 0.5, 1e-9);
  EXPECT_NEAR(value(all, "xdp_roce_link_sojourn_seconds", "0.99"), 400e-6, 4e-6);
  EXPECT_EQ(value(all, "xdp_roce_link_backlog_quantile_bytes", "0.5"), 0);
  reading.wire_running = true;
  EXPECT_EQ(value(families_of(reading), "xdp_roce_wire_running"), 1);
}

// So that a section or a column that a report gets some day is not forgotten here.
TEST(Metrics, JobOfAPort) {
  PortReading reading = reading_of(busy_port());
  EXPECT_EQ(find(families_of(reading), "xdp_roce_job_ranks"), nullptr);
  reading.job = std::make_shared<const LiveJob>(test::late_ring());
  const auto all = families_of(reading);
  EXPECT_EQ(value(all, "xdp_roce_job_ranks"), 3);
  EXPECT_EQ(value(all, "xdp_roce_job_steps_total"), 112);
  EXPECT_EQ(value(all, "xdp_roce_job_period_seconds"), 0.05);
  EXPECT_EQ(value(all, "xdp_roce_job_duty"), 0.2);
  EXPECT_EQ(value(all, "xdp_roce_job_step_seconds", "newest"), 0.02);
  EXPECT_EQ(value(all, "xdp_roce_job_step_seconds", "median"), 0.01);
  EXPECT_EQ(value(all, "xdp_roce_job_late_rank_seconds", "192.0.2.2"), 0.009);
  EXPECT_EQ(value(all, "xdp_roce_job_late_rank_seconds", "192.0.2.3"), 0);
  reading.job = std::make_shared<const LiveJob>();
  EXPECT_EQ(value(families_of(reading), "xdp_roce_job_ranks"), 0);
}

TEST(Metrics, RatesOfTheEndpoint) {
  PortReading reading = reading_of(busy_port());
  EXPECT_EQ(find(families_of(reading), "xdp_roce_cc_qps"), nullptr);
  reading.rates = std::make_shared<EndpointRates>(controlled_rates());
  const auto all = families_of(reading);
  EXPECT_EQ(value(all, "xdp_roce_cc_qps"), 20);
  EXPECT_EQ(value(all, "xdp_roce_cc_rate_bits_per_second"), 10e9);
  EXPECT_EQ(value(all, "xdp_roce_cc_mean_bits_per_second"), 8e9);
  EXPECT_NEAR(value(all, "xdp_roce_cc_alpha"), (0.2 + 0.4 + 18 * 0.1) / 20, 1e-12);
  EXPECT_EQ(value(all, "xdp_roce_cc_fairness"), 0.875);
  EXPECT_EQ(value(all, "xdp_roce_cc_cnps_total"), 200);
  EXPECT_EQ(value(all, "xdp_roce_cc_cnps_unused_total"), 5);
  EXPECT_EQ(value(all, "xdp_roce_cc_cuts_total"), 178);
  EXPECT_EQ(value(all, "xdp_roce_cc_increases_total", "hyper"), 3);
  EXPECT_EQ(value(all, "xdp_roce_cc_qp_rate_bits_per_second", "17"), 4e9);
  // Only of as many QPs as streams; those with the most CNPs.
  const auto few = families_of(reading, 1);
  EXPECT_EQ(find(few, "xdp_roce_cc_qp_rate_bits_per_second")->metric.size(), 1U);
  EXPECT_EQ(value(few, "xdp_roce_cc_qp_rate_bits_per_second", "18"), 1e9);
}

TEST(Metrics, EpisodesAndTimesOfQpPairs) {
  Snapshot port = busy_port();
  EXPECT_EQ(find(families_of(reading_of(port)), "xdp_roce_episodes_total"), nullptr);
  port.followed = true;
  port.episodes[ROCE_CAUSE_NAK] = 5;
  PortReading reading = reading_of(port);
  EXPECT_EQ(find(families_of(reading), "xdp_roce_latency_seconds"), nullptr);
  PassiveLatency latency;
  latency.port = {{ROCE_LATENCY_ACK, false, 4, 1000, 1024, 5000, 5000, 2000}};
  latency.histogram = {{ROCE_LATENCY_ACK, false, 1000, 1023, 1},
                       {ROCE_LATENCY_ACK, false, 1024, 1087, 2},
                       {ROCE_LATENCY_ACK, false, uint64_t{1} << 40, uint64_t{2} << 40, 1}};
  reading.latency = std::make_shared<const PassiveLatency>(latency);
  const auto all = families_of(reading);
  EXPECT_EQ(value(all, "xdp_roce_episodes_total", "nak"), 5);
  EXPECT_EQ(value(all, "xdp_roce_episodes_total", "timeout"), 0);
  const auto &times = find(all, "xdp_roce_latency_seconds")->metric.at(0).histogram;
  EXPECT_EQ(times.sample_count, 4U);
  EXPECT_DOUBLE_EQ(times.sample_sum, 8e-6);
  EXPECT_DOUBLE_EQ(times.bucket.at(0).upper_bound, 1023e-9);
  EXPECT_EQ(times.bucket.at(0).cumulative_count, 1U);
  EXPECT_EQ(times.bucket.at(1).cumulative_count, 3U);
  EXPECT_EQ(times.bucket.at(times.bucket.size() - 3).cumulative_count, 3U);
  EXPECT_EQ(times.bucket.at(times.bucket.size() - 2).cumulative_count, 4U);
  EXPECT_TRUE(std::isinf(times.bucket.back().upper_bound));
}

EpisodeRow ended(roce_cause cause, uint64_t recovery_ns) {
  EpisodeRow row;
  row.episode.cause = static_cast<uint8_t>(cause);
  row.episode.seen_ns = 1'000'000;
  row.episode.nak_ns = 1'003'000;
  row.episode.resent_ns = 1'010'000;
  row.episode.recovered_ns = 1'000'000 + recovery_ns;
  return row;
}

prometheus::ClientMetric::Histogram histogram(const std::vector<MetricFamily> &all,
                                              const std::string &step, const std::string &cause) {
  const MetricFamily *family = find(all, "xdp_roce_episode_seconds");
  for (const auto &metric : family ? family->metric : std::vector<prometheus::ClientMetric>())
    if (metric.label.at(1).value == step && metric.label.at(2).value == cause)
      return metric.histogram;
  return {};
}

// 12 us is in the bucket up to 16.384 us; 100 s is above all bounds.
TEST(Metrics, TimesOfEpisodes) {
  EpisodeTotals totals;
  const auto read = [&totals] {
    Families families;
    totals.add_to(families, "eth1");
    return families.take();
  };
  totals.update({ended(ROCE_CAUSE_NAK, 12'000)}, 1);
  totals.update({ended(ROCE_CAUSE_NAK, 100'000'000'000), ended(ROCE_CAUSE_RNR, 0)}, 1);
  const auto all = read();
  const auto recovery = histogram(all, "recovery", "nak");
  EXPECT_EQ(recovery.sample_count, 2U);
  EXPECT_DOUBLE_EQ(recovery.sample_sum, 100.000012);
  EXPECT_DOUBLE_EQ(recovery.bucket.at(1).upper_bound, 4096e-9);
  EXPECT_EQ(recovery.bucket.at(1).cumulative_count, 0U);
  EXPECT_DOUBLE_EQ(recovery.bucket.at(2).upper_bound, 16384e-9);
  EXPECT_EQ(recovery.bucket.at(2).cumulative_count, 1U);
  EXPECT_EQ(recovery.bucket.at(EpisodeTotals::kBounds - 1).cumulative_count, 1U);
  EXPECT_EQ(recovery.bucket.back().cumulative_count, 2U);
  EXPECT_DOUBLE_EQ(histogram(all, "nak_generation", "nak").sample_sum, 6e-6);
  EXPECT_DOUBLE_EQ(histogram(all, "nak_reaction", "rnr").sample_sum, 7e-6);
  EXPECT_EQ(histogram(all, "recovery", "rnr").sample_count, 0U) << "not over when it ended";
  EXPECT_EQ(histogram(all, "recovery", "timeout").bucket.size(), EpisodeTotals::kBounds + 1U)
      << "there before the first";
  totals.update({}, 2); // attached again
  EXPECT_EQ(histogram(read(), "recovery", "nak").sample_count, 0U);
}

// What ended between two scrapes is added to what ended before; only where pairs are followed.
TEST(Exporter, AddsWhatEndedSinceTheLastReading) {
  PortReading reading = reading_of(busy_port());
  const Exporter exporter(
      {{"eth1"}, {"gaps", 1}, "1.0"}, [&reading](const std::string &) { return Result(reading); },
      [](const std::string &, const Error *) {});
  EXPECT_EQ(find(exporter.collect(), "xdp_roce_episode_seconds"), nullptr);
  Episodes found;
  found.episodes = {ended(ROCE_CAUSE_NAK, 12'000)};
  reading.ended = std::make_shared<const Episodes>(found);
  exporter.collect();
  EXPECT_EQ(histogram(exporter.collect(), "recovery", "nak").sample_count, 2U);
}

TEST(Metrics, ClassesAndPauses) {
  Snapshot port = busy_port();
  port.quantum_ps = 0;
  port.classes.clear();
  auto all = families_of(reading_of(port));
  EXPECT_EQ(series(all, "xdp_roce_pfc_frames_total"), 2U * ROCE_PFC_COUNTS);
  EXPECT_EQ(find(all, "xdp_roce_pfc_paused_seconds_total"), nullptr) << "speed not known";
  EXPECT_EQ(find(all, "xdp_roce_dscp_packets_total"), nullptr) << "without --classes";
  port.totals.pfc_xoff[3] = 7;
  port.totals.pfc_quanta[3] = 700;
  port.totals.pfc_xon[ROCE_PFC_ALL] = 2;
  port.pfc[3].paused_ns = 1'500'000;
  port.quantum_ps = 5120;
  port.classes.resize(ROCE_CLASS_COUNTS);
  port.classes[26] = {50, 5000};
  port.classes[ROCE_CLASS_PCP + 3] = {40, 4000};
  port.classes[ROCE_CLASS_UNTAGGED] = {10, 1000};
  all = families_of(reading_of(port));
  EXPECT_EQ(value(all, "xdp_roce_pfc_frames_total", "3"), 7) << "XOFF";
  double xon = 0;
  for (const auto &metric : find(all, "xdp_roce_pfc_frames_total")->metric)
    if (metric.label.at(1).value == "all" && metric.label.at(2).value == "xon")
      xon = metric.counter.value;
  EXPECT_EQ(xon, 2);
  EXPECT_EQ(value(all, "xdp_roce_pfc_quanta_total", "3"), 700);
  EXPECT_DOUBLE_EQ(value(all, "xdp_roce_pfc_paused_seconds_total", "3"), 1.5e-3);
  EXPECT_EQ(series(all, "xdp_roce_dscp_packets_total"), 1U) << "those that were seen";
  EXPECT_EQ(value(all, "xdp_roce_dscp_bytes_total", "26"), 5000);
  EXPECT_EQ(value(all, "xdp_roce_pcp_packets_total", "3"), 40);
  EXPECT_EQ(value(all, "xdp_roce_pcp_packets_total", "untagged"), 10);
}

TEST(Metrics, IncludeEveryFieldOfTheReports) {
  const Snapshot port = busy_port();
  const std::set<std::string> known = {"schema",     "source",   "frames",    "bytes",   "opcodes",
                                       "transports",                          // sums of opcodes
                                       "ecn",        "summary",  "ecn_kinds", // sums of the others
                                       "aeth",
                                       "icrc", // not checked on a port
                                       "cnp_causes", "impaired", "overflow",  "tunnels", "mirrors",
                                       "pfc",        "dscp",     "pcp"};
  for (const report::Section &section : report::counters_report({port}).sections)
    EXPECT_TRUE(known.count(section.key)) << section.key;
  std::set<std::string> exported;
  for (const StreamMetric &metric : stream_metrics())
    exported.insert(metric.key);
  for (const report::StreamColumn &column : report::stream_columns())
    EXPECT_EQ(exported.count(column.column.key) > 0, column.column.format == report::Format::Count)
        << column.column.key;
}

Snapshot many_streams(uint32_t count) {
  Snapshot port = busy_port();
  const roce_stream model = port.streams[1];
  port.streams.assign(count, model);
  for (uint32_t i = 0; i < count; i++) {
    port.streams[i].key.src[3] = i;
    port.streams[i].counter_low[ROCE_GAPS] = i;
  }
  return port;
}

TEST(Metrics, ExportsTheRequestedNumberOfWorstStreams) {
  const PortReading reading = reading_of(many_streams(1000));
  for (const size_t top : {0U, 1U, 3U, 1000U, 5000U}) {
    const auto all = families_of(reading, top);
    const size_t shown = std::min<size_t>(top, 1000);
    EXPECT_EQ(series(all, "xdp_roce_stream_gaps_total"), shown);
    EXPECT_EQ(value(all, "xdp_roce_streams_not_exported"), static_cast<double>(1000 - shown));
    EXPECT_EQ(value(all, "xdp_roce_gaps_total"), 999 * 500) << "of all, whatever is shown";
    if (shown) {
      EXPECT_EQ(value(all, "xdp_roce_stream_gaps_total"), 999);
    }
  }
}

TEST(Metrics, WithoutTrackingThereAreNoStreams) {
  Snapshot port = busy_port();
  port.streams.clear();
  port.tracked = false;
  const auto all = families_of(reading_of(port));
  EXPECT_EQ(find(all, "xdp_roce_streams"), nullptr);
  EXPECT_EQ(find(all, "xdp_roce_gaps_total"), nullptr);
  EXPECT_NE(find(all, "xdp_roce_packets_total"), nullptr);
}

size_t place_of(const std::string &key) {
  size_t place = 0;
  while (place < stream_metrics().size() && stream_metrics()[place].key != key)
    place++;
  return place;
}

TEST(StreamTotals, DoNotDecreaseWhenStreamsAreForgotten) {
  const size_t gaps = place_of("gaps"), missing = place_of("missing");
  Snapshot port = many_streams(10); // gaps 0 to 9, each with one PSN missing
  StreamTotals totals;
  EXPECT_EQ(totals.update(port, 1)[gaps], 45U);
  port.streams[9].counter_low[ROCE_GAPS] += 5;
  EXPECT_EQ(totals.update(port, 1)[gaps], 50U);
  const roce_stream worst = port.streams.back();
  port.streams.pop_back();
  EXPECT_EQ(totals.update(port, 1)[gaps], 50U) << "forgotten";
  EXPECT_EQ(totals.update(port, 1)[missing], 9U) << "a gauge of what is there";
  port.streams.push_back(worst);
  port.streams.back().counter_low[ROCE_GAPS] = 2;
  EXPECT_EQ(totals.update(port, 1)[gaps], 52U) << "there again, from nothing";
  port.streams[9].counter_low[ROCE_GAPS] = 1;
  EXPECT_EQ(totals.update(port, 1)[gaps], 53U) << "forgotten and there again between two looks";
  EXPECT_EQ(totals.update(port, 2)[gaps], 37U) << "attached again: 0 to 8, and 1";
}

TEST(Metrics, LabelsAreEscaped) {
  PortReading reading = reading_of(busy_port());
  reading.rules = {{1, "name \"a\\b\"\nend", "", 1, 1}};
  const std::string text = exposition(families_of(reading));
  EXPECT_NE(text.find(R"(rule="name \"a\\b\"\nend")"), std::string::npos) << text;
}

// Somebody else holds the lock: that is no reason to call a port detached.
TEST(Exporter, OmitsUnknownValues) {
  const Exporter exporter(
      {{"eth1"}, {"gaps", 10}, "0", false},
      [](const std::string &) -> Result<PortReading> {
        PortReading reading;
        reading.known = false;
        reading.failures.push_back({"another is attaching"});
        return reading;
      },
      [](const std::string &, const Error *) {});
  const auto all = exporter.collect();
  EXPECT_EQ(find(all, "xdp_roce_port_attached"), nullptr);
  EXPECT_EQ(find(all, "xdp_roce_port_info"), nullptr);
  EXPECT_EQ(find(all, "process_open_fds"), nullptr) << "not asked for";
  EXPECT_EQ(value(all, "xdp_roce_scrape_errors_total"), 1);
}

// No exception gets into the server, which is C.
TEST(Exporter, ReportsAFailedScrape) {
  std::string told;
  const Exporter exporter(
      {{"eth1"}, {"gaps", 10}, "0", false},
      [](const std::string &) -> Result<PortReading> { throw std::runtime_error("no memory"); },
      [&told](const std::string &ifname, const Error *error) { told = ifname + error->message; });
  EXPECT_TRUE(exporter.collect().empty());
  EXPECT_EQ(told, "no memory");
}

// None named: whatever is attached, and what was.
TEST(Exporter, FindsPortsByItself) {
  std::vector<std::string> there;
  const Exporter exporter(
      {{}, {"gaps", 10}, "0", false},
      [&there](const std::string &ifname) -> Result<PortReading> {
        if (std::find(there.begin(), there.end(), ifname) == there.end())
          return Error{"not attached"};
        return reading_of(busy_port());
      },
      [](const std::string &, const Error *) {}, [&there] { return there; });
  EXPECT_EQ(find(exporter.collect(), "xdp_roce_port_attached"), nullptr);
  there = {"eth1", "eth2"};
  EXPECT_EQ(series(exporter.collect(), "xdp_roce_port_attached"), 2U);
  there = {"eth2"};
  const auto all = exporter.collect();
  EXPECT_EQ(series(all, "xdp_roce_port_attached"), 2U);
  EXPECT_EQ(value(all, "xdp_roce_port_attached", "eth1"), 0);
  EXPECT_EQ(value(all, "xdp_roce_port_attached", "eth2"), 1);
}

// What a capture had attached is no port to look for when the capture has ended.
TEST(Exporter, ForgetsTransientPorts) {
  std::vector<std::string> there = {"eth1", "eth2"};
  const Exporter exporter(
      {{}, {"gaps", 10}, "0", false},
      [&there](const std::string &ifname) -> Result<PortReading> {
        if (std::find(there.begin(), there.end(), ifname) == there.end())
          return Error{"not attached"};
        PortReading reading = reading_of(busy_port());
        reading.status.features = ifname == "eth1" ? ROCE_FEATURE_PASSING : 0;
        return reading;
      },
      [](const std::string &, const Error *) {}, [&there] { return there; });
  EXPECT_EQ(series(exporter.collect(), "xdp_roce_port_attached"), 2U);
  there.clear();
  const auto all = exporter.collect();
  EXPECT_EQ(series(all, "xdp_roce_port_attached"), 1U);
  EXPECT_EQ(value(all, "xdp_roce_port_attached", "eth2"), 0);
}

// A port that comes and goes, and what the exporter says of it.
TEST(Exporter, PortIsExportedAgainAfterReattach) {
  bool attached = true, readable = true;
  std::vector<std::string> told;
  const Exporter exporter(
      {{"eth1", "eth1"}, {"gaps", 10}, "0", true},
      [&](const std::string &) -> Result<PortReading> {
        if (!attached)
          return Error{"not attached"};
        PortReading reading = reading_of(busy_port());
        if (!readable) {
          reading.snapshot.reset();
          reading.failures.push_back({"cannot read the counters"});
        }
        return reading;
      },
      [&told](const std::string &ifname, const Error *error) {
        told.push_back(ifname + ": " + (error ? error->message : "there again"));
      });
  auto all = exporter.collect();
  EXPECT_EQ(series(all, "xdp_roce_port_attached"), 1U) << "named twice, exported once";
  EXPECT_EQ(value(all, "xdp_roce_port_attached"), 1);
  EXPECT_EQ(value(all, "xdp_roce_packets_total", "CNP"), 17);
  attached = false;
  for (int i = 0; i < 3; i++)
    all = exporter.collect();
  EXPECT_EQ(value(all, "xdp_roce_port_attached"), 0);
  EXPECT_EQ(value(all, "xdp_roce_scrape_errors_total"), 0);
  EXPECT_EQ(find(all, "xdp_roce_packets_total"), nullptr);
  EXPECT_EQ(find(all, "xdp_roce_gaps_total"), nullptr);
  attached = true;
  readable = false;
  exporter.collect();
  all = exporter.collect();
  EXPECT_EQ(value(all, "xdp_roce_port_attached"), 1);
  EXPECT_EQ(value(all, "xdp_roce_scrape_errors_total"), 2);
  readable = true;
  all = exporter.collect();
  EXPECT_EQ(value(all, "xdp_roce_packets_total", "CNP"), 17);
  EXPECT_EQ(told, (std::vector<std::string>{"eth1: not attached", "eth1: cannot read the counters",
                                            "eth1: there again"}));
}

TEST(Process, ReadsProcfs) {
  namespace fs = std::filesystem;
  std::string proc = (fs::temp_directory_path() / "xr-metrics-XXXXXX").string();
  ASSERT_NE(mkdtemp(proc.data()), nullptr);
  fs::create_directories(proc + "/self/fd");
  for (const char *fd : {"0", "1", "2"})
    std::ofstream(proc + "/self/fd/" + fd) << "";
  std::ofstream(proc + "/self/stat")
      << "42 (odd) name) S 1 42 42 0 -1 4194304 10 0 0 0 250 150 0 0 20 0 3 0 5000 123456789 321\n";
  std::ofstream(proc + "/self/limits")
      << "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024  4096  files\n";
  std::ofstream(proc + "/stat") << "cpu  1 2 3\nbtime 1700000000\n";
  Families families;
  add_process(families, proc);
  Families nothing;
  add_process(nothing, proc + "/nosuch");
  fs::remove_all(proc);
  const auto all = families.take();
  const auto number = [&all](const std::string &name) {
    const MetricFamily *family = find(all, name);
    return !family                               ? std::nan("")
           : family->type == MetricType::Counter ? family->metric.front().counter.value
                                                 : family->metric.front().gauge.value;
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(number("process_cpu_seconds_total"), 400 / ticks);
  EXPECT_EQ(number("process_virtual_memory_bytes"), 123456789);
  EXPECT_EQ(number("process_resident_memory_bytes"),
            321 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(number("process_start_time_seconds"), 1700000000 + 5000 / ticks);
  EXPECT_EQ(number("process_open_fds"), 3);
  EXPECT_EQ(number("process_max_fds"), 1024);
  EXPECT_TRUE(nothing.take().empty());
}

TEST(Exporter, HasWhatItsServerRefused) {
  Exporter::Settings settings;
  const auto refused = [](const Exporter::Settings &of) {
    const Exporter exporter(
        of, [](const std::string &) -> Result<PortReading> { return Error{""}; },
        [](const std::string &, const Error *) {});
    return series(exporter.collect(), "xdp_roce_exporter_refused_total");
  };
  EXPECT_EQ(refused(settings), 0U);
  settings.refused = [] { return std::map<std::string, uint64_t>{{"login", 3}, {"slow", 0}}; };
  EXPECT_EQ(refused(settings), 2U);
}

} // namespace
} // namespace metrics_test
