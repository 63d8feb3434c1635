// SPDX-License-Identifier: Apache-2.0
// compare: verdicts, several places, limits, and captures of real Soft-RoCE.
#include <filesystem>

#include "taps.h"

namespace xr::test::compare_places_test {
namespace {

TEST(ComparePlaces, LostBeforeAndAfter) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  const auto round = [&](double at, uint32_t from, uint32_t not_seen) {
    for (uint32_t i = from; i < 40; i++)
      if (i != not_seen)
        pass(a, b, at + i, send(i));
  };
  round(10, 0, 10);    // 10 does not reach A
  round(1000, 10, 20); // it does, but 20 does not, which was seen in the first round
  round(2000, 20, 999);
  round(3000, 30, 999); // 30 was lost after B, or its answer
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.lost, 0u);
  EXPECT_EQ(row.lost_before, 2u);
  EXPECT_EQ(row.lost_after, 1u);
  EXPECT_TRUE(row.lost_from.empty());
}

// What is lost between in a round of go-back-N had been seen at B, and discarded by the receiver.
TEST(ComparePlaces, LostBetweenAgainIsNotLostAfter) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  const auto round = [&](double at, uint32_t from, uint32_t lost) {
    for (uint32_t i = from; i < 40; i++) {
      a.see(at + i, send(i));
      if (i != lost)
        b.see(at + i + kDelay, send(i));
    }
  };
  round(10, 0, 10);
  round(1000, 10, 20);
  round(2000, 20, 39); // the last one: by timeout
  round(3000, 39, 999);
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.lost, 3u);
  EXPECT_EQ(row.lost_before, 0u);
  EXPECT_EQ(row.lost_after, 0u);
}

TEST(ComparePlaces, ThreePlaces) {
  Tap a, b, c;
  for (uint32_t i = 0; i < 200; i++) {
    const bool at_b = i % 50 != 20, at_c = at_b && i % 40 != 15;
    const auto packet = send(i);
    a.see(10.0 * i, packet);
    if (at_b)
      b.see(10.0 * i + 2, packet);
    if (at_c)
      c.see(10.0 * i + 6, packet);
    const auto answer = FrameBuilder(0x11).from(2).to(1).qp(0x22).psn(i);
    c.see(10.0 * i + 7, answer);
    if (i != 33)
      b.see(10.0 * i + 11, answer);
    if (i != 33 && i != 99)
      a.see(10.0 * i + 13, answer);
  }
  const Comparison all = compared({a.pcap(), b.pcap(), c.pcap()});
  ASSERT_EQ(all.legs.size(), 2u);
  const ComparedStream &first = row_of(all, 0x11), &second = row_of(all, 0x11, 0, 1);
  EXPECT_EQ(first.counts.lost, 4u);
  EXPECT_EQ(second.counts.lost, 5u);
  EXPECT_EQ(first.lost_from, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(first.first, 0u);
  EXPECT_EQ(first.last, 2u);
  EXPECT_EQ(second.latency.p50, 4000);
  const ComparedStream &answers = row_of(all, 0x22, ROCE_KIND_RESPONSE, 1);
  EXPECT_EQ(answers.from, 2u);
  EXPECT_EQ(answers.counts.lost, 1u);
  EXPECT_EQ(answers.first, 2u);
  EXPECT_EQ(answers.last, 0u);
  EXPECT_EQ(all.places[1].packets, 196u + 199u);
}

// What does not fit is counted: here there is room for some 10,000 of 60,000 packets on the way.
TEST(ComparePlaces, LittleMemory) {
  Tap a, b;
  for (uint32_t i = 0; i < 30'000; i++) {
    a.see(i, send(i));
    if (i != 700)
      b.see(i + kDelay, send(i));
  }
  compare::Options options;
  options.memory = 1 << 20;
  const Comparison c = compared(a, b, options);
  EXPECT_GT(c.legs[0].decided_early, 40'000u);
  EXPECT_LT(c.legs[0].least_window_ns, 10'000'000u);
  EXPECT_EQ(row_of(c, 0x11).counts.lost, 1u); // the packets on the way fit
  options.memory = 64 << 20;
  EXPECT_EQ(compared(a, b, options).legs[0].decided_early, 0u);
}

TEST(ComparePlaces, TooManyStreams) {
  Tap a, b;
  for (uint32_t i = 0; i < 100; i++)
    pass(a, b, i, send(0).qp(0x100 + i));
  compare::Options options;
  options.streams = 60;
  const Comparison c = compared(a, b, options);
  EXPECT_EQ(c.places[0].streams_full, 40u);
  EXPECT_EQ(c.places[0].packets, 60u);
  EXPECT_EQ(c.streams.size(), 60u);
}

// Cut after the headers: no content to compare, PSN and order are enough. One place cut, or both.
TEST(ComparePlaces, CutFrames) {
  for (const bool both : {false, true}) {
    Tap a, b;
    frame_in(a, b, 0, 1000);
    for (uint32_t i = 0; i < 50; i++) {
      const Bytes whole = bytes_of(send(i));
      Bytes cut = whole;
      cut.resize(60);
      const auto length = static_cast<int64_t>(whole.size());
      a.see(10 + i, cut, length);
      if (i != 25)
        b.see(10 + i + kDelay, both ? cut : whole, length);
    }
    const ComparedCounts n = row_of(compared(a, b), 0x11).counts;
    EXPECT_EQ(n.matched, 49u);
    EXPECT_EQ(n.lost, 1u);
    EXPECT_EQ(n.corrupted, 0u);
  }
}

Comparison compared_files(const std::string &a, const std::string &b) {
  auto outcome = compare::compare({{a, "a", false, 0, {}}, {b, "b", false, 0, {}}}, {});
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
  return outcome ? outcome->comparison : Comparison{};
}

// Soft-RoCE before and after a point that dropped every 100th packet from a to b: 66 of them.
TEST(ComparePlaces, TwoRealTaps) {
  const std::string path = XR_TEST_DATA "/wire_m1500_drop100_vb_drv_rq-";
  const Comparison c = compared_files(path + "va.pcap.gz", path + "tb.pcap.gz");
  const ComparedStream &requests = row_of(c, 0x18), &answers = row_of(c, 0x11, ROCE_KIND_RESPONSE);
  EXPECT_EQ(requests.from, 0u);
  EXPECT_EQ(requests.counts.lost, 66u);
  EXPECT_EQ(requests.counts.seen_from, 6603u);
  EXPECT_EQ(requests.counts.matched, 6537u);
  EXPECT_EQ(requests.counts.reordered + requests.counts.duplicated + requests.counts.only_to, 0u);
  EXPECT_EQ(requests.lost_before, 0u);
  EXPECT_EQ(requests.lost_after, 0u);
  EXPECT_LE(requests.latency.max, 1'000'000); // no sight belongs to another transmission
  EXPECT_EQ(answers.from, 1u);
  EXPECT_EQ(answers.counts.matched, 96u);
  EXPECT_EQ(answers.counts.lost, 0u);
}

// The last two places are one: the direction there is that of the first leg.
TEST(ComparePlaces, ADirectionHoldsForAllLegs) {
  const std::string path = XR_TEST_DATA "/wire_m1500_drop100_vb_drv_rq-", va = path + "va.pcap.gz",
                    tb = path + "tb.pcap.gz";
  for (const bool first : {false, true}) {
    auto outcome = compare::compare(
        {{va, "a", false, 0, {}}, {first ? va : tb, "b", false, 0, {}}, {tb, "c", false, 0, {}}},
        {});
    ASSERT_TRUE(outcome);
    for (const uint32_t leg : {0U, 1U}) {
      const ComparedStream &requests = row_of(outcome->comparison, 0x18, 0, leg),
                           &answers = row_of(outcome->comparison, 0x11, ROCE_KIND_RESPONSE, leg);
      EXPECT_EQ(requests.from, leg);
      EXPECT_EQ(answers.to, leg);
      EXPECT_EQ(requests.counts.lost, leg == (first ? 1U : 0U) ? 66u : 0u);
      EXPECT_EQ(requests.lost_from, (std::vector<uint32_t>{first ? 1U : 0U}));
      EXPECT_EQ(answers.counts.matched, 96u);
      EXPECT_EQ(answers.first, 2u);
      EXPECT_EQ(answers.last, 0u);
      EXPECT_LE(answers.latency.max, 1'000'000);
    }
  }
}

TEST(ComparePlaces, EveryRealCaptureWithItself) {
  size_t captures = 0;
  for (const auto &entry : std::filesystem::directory_iterator(XR_TEST_DATA)) {
    const std::string path = entry.path();
    if (!path.ends_with(".pcap") && !path.ends_with(".pcap.gz"))
      continue;
    SCOPED_TRACE(path);
    captures++;
    const Comparison c = compared_files(path, path);
    uint64_t matched = 0;
    for (const ComparedStream &row : c.streams) {
      matched += row.counts.matched;
      EXPECT_EQ(row.counts.seen_from, row.counts.matched);
      EXPECT_EQ(row.counts.seen_to, row.counts.matched);
      EXPECT_EQ(row.counts.reordered + row.counts.corrupted + row.counts.ce, 0u);
      EXPECT_EQ(row.latency.min, 0);
      EXPECT_EQ(row.latency.max, 0);
    }
    EXPECT_EQ(matched, c.places[0].packets);
  }
  EXPECT_GT(captures, 40u);
}

} // namespace
} // namespace xr::test::compare_places_test
