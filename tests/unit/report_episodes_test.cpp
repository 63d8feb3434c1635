// SPDX-License-Identifier: Apache-2.0
// The sections of `analyze --episodes`, as text and JSON.
#include <algorithm>
#include <cstdlib>

#include "golden.h"
#include "report/episodes.h"
#include "report/found_event.h"
#include "report/json.h"
#include "report/text.h"
#include "snapshots.h"

namespace xr::test::report_episodes_test {
namespace {

using namespace xr::report;

// One episode of each cause, times in steps of 1.5 ms after the first frame.
Episodes episodes_of_each_cause() {
  constexpr uint64_t kFirst = 1'700'000'000'000'000'000, kStep = 1'500'000;
  Episodes found;
  found.first_ns = kFirst;
  found.unpaired = 3;
  found.holes_forgotten = 1;
  const Snapshot streams = busy_capture();
  PairName name{streams.streams[0].key, 0x5a};
  for (uint8_t cause = 0; cause < ROCE_CAUSES; cause++) {
    roce_episode e{};
    e.cause = cause;
    e.kind = cause == ROCE_CAUSE_READ ? ROCE_KIND_RESPONSE : ROCE_KIND_REQUEST;
    e.first_missing = 1000u + cause;
    e.missing = cause % 3u;
    const uint64_t at = kFirst + cause * 10 * kStep;
    e.last_sent_ns = at;
    e.seen_ns = e.missing ? at + kStep : 0;
    e.nak_ns = cause == ROCE_CAUSE_NAK || cause == ROCE_CAUSE_RNR ? at + 2 * kStep : 0;
    e.naks = cause == ROCE_CAUSE_NAK ? 2 : 0;
    e.reread_ns = cause == ROCE_CAUSE_READ ? at + 3 * kStep : 0;
    e.resent_ns = at + 4 * kStep;
    e.recovered_ns = cause == ROCE_CAUSE_TIMEOUT ? 0 : at + 5 * kStep;
    e.resent_packets = 10u + cause;
    e.resent_needlessly = cause;
    e.resent_bytes = 1000u * cause;
    e.findings = cause == ROCE_CAUSE_NAK ? 1u << ROCE_FINDING_REPEATED_NAK : 0;
    found.episodes.push_back({name, e});
  }
  for (uint8_t type = 0; type < ROCE_FINDINGS; type++) {
    roce_finding f{};
    f.type = type;
    f.time_ns = kFirst + type * kStep;
    f.frame = 20u + type;
    f.other_frame = type % 2 ? 0 : 7;
    f.psn = 77;
    f.value = 5;
    f.expected = 4;
    found.findings.push_back({name, f});
  }
  PairRow pair{};
  pair.name = name;
  pair.answers = true;
  pair.requests = 5000;
  pair.acks = 40;
  pair.acked_psns = 100;
  pair.naks = 2;
  pair.go_backs = 1;
  pair.selective = 1;
  pair.timers_grown = 1;
  pair.causes[ROCE_CAUSE_NAK] = 1;
  found.pairs.push_back(pair);
  pair.name.src_qp.reset();
  pair.answers = false;
  pair.acks = pair.go_backs = pair.timers_grown = 0;
  pair.timers_fixed = 1;
  found.pairs.push_back(pair);
  found.pairs[0].ce = 12;
  found.pairs[0].cnps = 3;
  found.pairs[0].cnp_ns = 52'500;
  CnpRow cnps{};
  std::copy_n(name.key.dst, 4, cnps.src.begin());
  cnps.cnps = 9;
  cnps.qps = 3;
  cnps.destinations = 2;
  cnps.qp_ns = cnps.destination_ns = 50'000;
  cnps.port_ns = 4'000;
  found.cnps.push_back(cnps);
  return found;
}

TEST(ReportGolden, Episodes) {
  Document document;
  add_episodes(document, episodes_of_each_cause());
  expect_golden("episodes.txt", to_text(document));
  expect_golden("episodes.json", to_json(document));
  Document none;
  add_episodes(none, {});
  expect_golden("no_episodes.txt", to_text(none));
  expect_golden("no_episodes.json", to_json(none));
}

TEST(ReportGolden, EpisodesAsEvents) {
  setenv("TZ", "UTC", 1);
  const Episodes found = episodes_of_each_cause();
  std::string text, lines;
  const auto add = [&](const Document &event) {
    text += to_text(event);
    lines += to_json(event, JsonStyle::Line);
  };
  for (const EpisodeRow &row : found.episodes)
    add(episode_event(row, 7));
  for (const FindingRow &row : found.findings)
    add(finding_event(row, 7));
  expect_golden("episode_events.txt", text);
  expect_golden("episode_events.json", lines);
}

} // namespace
} // namespace xr::test::report_episodes_test
