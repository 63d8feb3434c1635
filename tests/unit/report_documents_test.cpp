// SPDX-License-Identifier: Apache-2.0
// JSON of commands that need a port, as golden files with every optional part: what
// tests/report_schema.py cannot get from the program.
#include <gtest/gtest.h>

#include "golden.h"
#include "report/attachments.h"
#include "report/capture.h"
#include "report/connections.h"
#include "report/json.h"
#include "report/nic.h"
#include "report/peer.h"
#include "report/reports.h"
#include "report/rules.h"
#include "report/run_facts.h"
#include "report/runs.h"
#include "snapshots.h"

namespace report_documents_test {
namespace {

using namespace xr;
using namespace xr::report;

void expect_json(const std::string &name, const Document &document) {
  expect_golden(name + ".json", to_json(document));
}

template <class Report> Report controlled(Report report) {
  static_cast<QpRates &>(report) = controlled_rates();
  report.ifname = "eth1";
  report.xdp_mode = "native";
  report.seconds = 2;
  report.pauses.pfc = 4;
  report.pauses.paused_ns[3] = 1'500;
  return report;
}

TEST(ReportDocuments, SendReliable) {
  SendReport report = controlled(SendReport{});
  report.kind = SendReport::Kind::Reliable;
  report.seed = 7;
  report.asked_pps = 1000;
  report.counts.rtt_ns.add(9'000);
  report.cm = CmCounts{.requested = 2, .established = 1, .rejected = 1, .reason = 28};
  report.verified.emplace();
  report.verified->messages = 2;
  report.verified->bytes = 2000;
  report.verified->different_bytes = 1;
  report.verified->add(VerifyCounts::Difference{.qp = 17, .offset = 5, .written = 1, .read = 2});
  expect_json("send_reliable", send_document(report));
}

TEST(ReportDocuments, Respond) {
  RespondReport report = controlled(RespondReport{});
  report.addresses = {"192.0.2.2"};
  report.memory = MemoryReport{.bytes = 4096, .va = 1 << 20, .rkey = 5, .access = "read"};
  expect_json("respond", respond_document(report));
}

TEST(ReportDocuments, Peer) {
  PeerReport report;
  report.ifname = "eth1";
  report.xdp_mode = "native";
  report.gid = "192.0.2.2";
  PeerTest &test = report.test;
  test.tool = "perftest send_lat";
  test.client = true;
  test.peer = "192.0.2.1";
  test.version = "6.06";
  test.transport = "rc";
  test.qps = 1;
  test.pmtu = 1024;
  test.sent = test.arrived = 1000;
  test.seconds = 0.5;
  test.bandwidth = {.size = 64, .iterations = 1000, .average_mb = 1.5, .message_rate = 0.002};
  test.theirs = test.bandwidth;
  test.latency = PeerLatency{.count = 999, .min_us = 10, .max_us = 50, .typical_us = 12};
  test.sizes = {test.bandwidth};
  test.size_latencies = {*test.latency};
  test.failure = "no answer came to its requests, and its retries are used up";
  test.reaction = {.faults = 1, .rounds = 7, .first_ms = 67.1, .last_ms = 470.5};
  test.sent_counts.retransmitted = 7;
  test.respond_counts.requests = test.respond_counts.duplicates = 7;
  expect_json("peer", peer_document(report));
}

TEST(ReportDocuments, RespondAsASink) {
  RespondReport report = controlled(RespondReport{});
  report.latency = LatencyReport{};
  report.latency->streams.push_back({.dest_qp = 17, .frames = 1});
  expect_json("sink", respond_document(report));
}

TEST(ReportDocuments, Capture) {
  CaptureSummary summary;
  summary.ifname = "eth1";
  summary.xdp_mode = "skb";
  summary.seconds = 2;
  summary.files = {"loss.pcapng"};
  expect_json("port_capture", capture_report(summary));
  summary.nic = {"ptp0", 3, -37'000'000'012, 480};
  expect_json("port_capture_nic", capture_report(summary));
  EXPECT_NE(to_text(capture_report(summary)).find("ns ahead of CLOCK_TAI"), std::string::npos);
}

TEST(ReportDocuments, Connections) {
  Connections connections;
  connections.rows.push_back({});
  ConnectionRow row;
  row.active.qp = row.passive.qp = 17;
  row.state = ConnectionRow::State::Rejected;
  row.requested = true;
  row.reason = 28;
  connections.rows.push_back(row);
  expect_json("connections", connections_report({"eth1", "eth2"}, 2, connections));
}

TEST(ReportDocuments, Rules) {
  const RuleRow rule{
      .id = 1, .text = "roce drop every 100", .name = "loss", .matched = 100, .acted = 1};
  const RuleRow unused{.id = 2, .text = "cnp drop", .name = "", .enabled = false};
  expect_json("rules",
              rules_report("eth1", {rule, unused}, {"192.0.2.1 qp 17 is 192.0.2.2 qp 18"}));
}

TEST(ReportDocuments, Attachments) {
  PortStatus port;
  port.ifname = "eth1";
  port.state = AttachState::Attached;
  port.programs = {{42, "xdp_roce"}};
  port.program_id = 42;
  port.since_ns = kTime;
  port.peer_ifindex = 3;
  port.peer = "eth2";
  port.shared_with = {"eth3"};
  port.decap = 1;
  PortStatus stale;
  stale.ifname = "eth4";
  expect_json("attachments", attachments_report({port, stale}));
  expect_json(
      "detached",
      detached_report({{.ifname = "eth1", .netns = "", .other = "", .notes = {"was stale"}}}));
}

// A port with classes, tunnels and followed QP pairs, compared with its NIC.
TEST(ReportDocuments, EverythingOfAPort) {
  Snapshot port = busy_port();
  port.followed = true;
  port.classes.resize(ROCE_CLASS_COUNTS);
  port.classes[26].packets = 5;
  port.classes[ROCE_CLASS_UNTAGGED].packets = 5;
  port.totals.pfc_xoff[3] = 2;
  port.decap = 1;
  port.mirrors.resize(1);
  port.mirrors[0].next = 1ull << 32 | 5;
  port.mirror_slots = {0};
  expect_json("counters_all", counters_report({port}));
  Document streams = streams_report({port}, {});
  add_nic(streams, {.device = "mlx5_0/1",
                    .driver = "mlx5_core",
                    .seconds = 1,
                    .equations = {{.equation = "CNPs to it = rp_cnp_handled",
                                   .wire = 5,
                                   .nic = 7,
                                   .verdict = "mismatch",
                                   .note = ""}},
                    .note = ""});
  expect_json("streams_nic", streams);
}

// At the end of any document; what is not known is null in JSON, and absent for people.
TEST(ReportDocuments, WhatRanWhereAndWhen) {
  RunFacts facts;
  facts.command_line = {"xdp-roce", "analyze", "it's.pcap"};
  facts.host = "rack1";
  facts.kernel = "6.1.0";
  facts.machine = "x86_64";
  facts.version = "1.0";
  facts.libbpf = facts.libxdp = "1.2";
  facts.start_ns = 1'700'000'000'000'000'000;
  facts.duration_ns = 2'500'000'000;
  facts.clock = "capture";
  facts.files = {{"it's.pcap", 24, ""}};
  facts.ports = {{"eth1", "mlx5_core", "02:00:00:00:00:01", 9000, 100'000'000'000, {"rx-gro"}}};
  Document document;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  const Section run = run_section(facts);
  EXPECT_EQ(R"({"schema":1,"run":{"command_line":["xdp-roce","analyze","it's.pcap"],)"
            R"("host":"rack1","kernel":"6.1.0","machine":"x86_64","version":"1.0","commit":null,)"
            R"("libbpf":"1.2","libxdp":"1.2","start":"2023-11-14T22:13:20.000000000Z",)"
            R"("duration_ns":2500000000,"clock":"capture","seed":null,)"
            R"("files":[{"name":"it's.pcap","bytes":24,"sha256":null}],)"
            R"("ports":[{"name":"eth1","driver":"mlx5_core","mac":"02:00:00:00:00:01","mtu":9000,)"
            R"("speed_bps":100000000000,"offloads":["rx-gro"]}]}})"
            "\n",
            to_json(document, JsonStyle::Line, &run));
  const auto lines = run_lines(facts);
  ASSERT_EQ(9u, lines.size()); // no seed
  EXPECT_EQ(R"(xdp-roce analyze 'it'\''s.pcap')", lines[0].second);
  EXPECT_EQ("mlx5_core, MAC 02:00:00:00:00:01, MTU 9000, 100 Gbit/s; offloads on: rx-gro",
            lines[2].second);
  EXPECT_EQ("file it's.pcap", lines[6].first);
  EXPECT_EQ("24 bytes", lines[6].second);
  EXPECT_EQ("1.0", lines[7].second); // no commit
}

} // namespace
} // namespace report_documents_test
