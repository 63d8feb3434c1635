// SPDX-License-Identifier: Apache-2.0
// A capture over time: the bins' sums are the analyzer's counters, thinning keeps the marks.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture_writer.h"
#include "unit/tunnels.h"

namespace xr::test::series_test {
namespace {

Analysis analyzed(const std::string &path, uint32_t quantum_ps = 0) {
  AnalyzeRun how;
  how.options.series = true;
  how.options.episodes = how.options.passive_latency = true;
  how.options.quantum_ps = quantum_ps;
  Result<Analysis> done = analyze(path, how);
  EXPECT_TRUE(done.ok()) << path;
  return done ? std::move(done).get() : Analysis{};
}

template <class Items, class Member> uint64_t sum(const Items &items, const Member &member) {
  uint64_t all = 0;
  for (const auto &item : items)
    all += std::invoke(member, item);
  return all;
}

uint64_t counted(const Snapshot &s, roce_stream_counters counter) {
  return sum(s.streams, [&](const roce_stream &one) { return roce_stream_counter(&one, counter); });
}

uint64_t naks(const Snapshot &s) {
  uint64_t all = 0;
  for (unsigned i = 0; i < ROCE_AETH_COUNTS; i++)
    if (i != ROCE_AETH_ACK && i != ROCE_AETH_RESERVED && i != ROCE_AETH_RNR_NAK)
      all += s.totals.aeth[i];
  return all;
}

uint64_t marks(const CaptureSeries &series, CaptureSeries::MarkKind kind) {
  return sum(series.marks,
             [&](const CaptureSeries::Mark &mark) { return mark.kind == kind ? mark.count : 0; });
}

void expect_sums(const Analysis &a, const std::string &name) {
  using Bin = CaptureSeries::Bin;
  const CaptureSeries &series = a.series;
  const Snapshot &s = a.snapshot;
  ASSERT_FALSE(series.bins.empty()) << name;
  EXPECT_LE(series.bins.size(), CaptureSeries::kBins) << name;
  EXPECT_EQ(sum(series.bins, &Bin::packets),
            sum(s.streams, [](const roce_stream &one) { return roce_stream_packets(&one); }))
      << name;
  EXPECT_EQ(sum(series.bins, &Bin::bytes),
            sum(s.streams, [](const roce_stream &one) { return roce_stream_bytes(&one); }))
      << name;
  EXPECT_EQ(sum(series.bins, &Bin::ce), counted(s, ROCE_STREAM_CE)) << name;
  EXPECT_EQ(sum(series.bins, &Bin::cnps), counted(s, ROCE_STREAM_CNPS)) << name;
  EXPECT_EQ(sum(series.bins, &Bin::skipped), counted(s, ROCE_SKIPPED)) << name;
  EXPECT_EQ(sum(series.bins, &Bin::rewinds), counted(s, ROCE_REWINDS)) << name;
  EXPECT_EQ(sum(series.bins, &Bin::naks), naks(s)) << name;
  EXPECT_EQ(sum(series.bins, &Bin::rnr_naks), s.totals.aeth[ROCE_AETH_RNR_NAK]) << name;
  if (!series.marks_left_out) {
    EXPECT_EQ(marks(series, CaptureSeries::MarkKind::Gap), counted(s, ROCE_SKIPPED)) << name;
    EXPECT_EQ(marks(series, CaptureSeries::MarkKind::GoBack), counted(s, ROCE_REWINDS)) << name;
  }
  for (const CaptureSeries::Stream &stream : series.streams) {
    EXPECT_EQ(sum(stream.bins, &CaptureSeries::StreamBin::bytes), stream.bytes) << name;
    EXPECT_EQ(stream.points.size(),
              (stream.packets - stream.cnps + stream.stride - 1) / stream.stride)
        << name;
  }
}

TEST(Series, SumsOfRealCaptures) {
  size_t captures = 0;
  for (const auto &file : std::filesystem::directory_iterator(XR_TEST_DATA)) {
    const std::string path = file.path(), name = file.path().filename();
    if (name.find(".pcap") == std::string::npos || name.starts_with("synthetic"))
      continue;
    expect_sums(analyzed(path), name);
    captures++;
  }
  EXPECT_GT(captures, 40u);
}

TEST(Series, TimesAreThoseOfThePassiveLatency) {
  const Analysis a = analyzed(XR_TEST_DATA "/rc_write_q4_v4.pcap.gz");
  std::array<uint64_t, CaptureSeries::kHeats> cells{};
  for (size_t heat = 0; heat < cells.size(); heat++)
    for (const auto &column : a.series.heats[heat])
      cells[heat] += std::accumulate(column.begin(), column.end(), uint64_t{0});
  std::array<uint64_t, CaptureSeries::kHeats> times{};
  for (const PassiveTimes &t : a.passive.port) {
    if (t.kind == ROCE_LATENCY_ACK)
      times[t.bound] += t.count;
    if (t.kind == ROCE_LATENCY_MESSAGE || t.kind == ROCE_LATENCY_READ ||
        t.kind == ROCE_LATENCY_ATOMIC)
      times[2 + t.bound] += t.count;
  }
  EXPECT_GT(times[0] + times[1], 0u);
  EXPECT_EQ(cells, times);
}

TEST(Series, PausesAreThoseOfTheCounters) {
  const Analysis a = analyzed(XR_TEST_DATA "/cases/pfc_senders.pcap", 5120);
  uint64_t paused = 0;
  for (size_t i = 0; i < ROCE_PFC_COUNTS; i++) {
    const auto &bins = a.series.pauses[i];
    EXPECT_EQ(sum(bins, &CaptureSeries::PauseBin::xoffs), a.snapshot.totals.pfc_xoff[i]) << i;
    EXPECT_EQ(sum(bins, &CaptureSeries::PauseBin::paused_ns), a.snapshot.pfc[i].paused_ns) << i;
    paused += a.snapshot.pfc[i].paused_ns;
  }
  EXPECT_GT(paused, 0u);
}

// A UC WRITE MIDDLE to QP 7 with this PSN: no message has to begin.
Bytes middle(uint32_t psn, uint32_t qp = 7) {
  Bytes out(6, 2);
  out.resize(12, 4);
  tunnel::put(out, 0x0800, 2);
  tunnel::put(out, 0x4500003c, 4); // 60 bytes
  tunnel::put(out, 0, 4);
  tunnel::put(out, 0x40110000, 4);
  tunnel::put(out, 0x0a000001, 4);
  tunnel::put(out, 0x0a000002, 4);
  tunnel::put(out, 49152, 2);
  tunnel::put(out, 4791, 2);
  tunnel::put(out, 40, 2);
  tunnel::put(out, 0, 2);
  tunnel::put(out, 0x2700ffff, 4); // UC_RDMA_WRITE_MIDDLE
  tunnel::put(out, qp, 4);
  tunnel::put(out, psn, 4);
  out.resize(out.size() + 20); // payload and iCRC
  return out;
}

Analysis of_frames(const std::vector<std::pair<uint64_t, Bytes>> &frames) {
  PcapWriter writer(false, 1);
  for (const auto &[us, frame] : frames)
    writer.packet(frame, static_cast<uint32_t>(us / 1'000'000 + 1),
                  static_cast<uint32_t>(us % 1'000'000));
  const TemporaryFile file(writer.bytes);
  return analyzed(file.path());
}

// 10,000 packets over 100 s: the bins widen, the points thin, the one gap stays.
TEST(Series, WidensAndThins) {
  std::vector<std::pair<uint64_t, Bytes>> frames;
  for (uint32_t i = 0; i < 10'000; i++)
    frames.emplace_back(i * 10'000, middle(0xfffff0 + i + (i >= 5001 ? 3 : 0)));
  const Analysis a = of_frames(frames);
  expect_sums(a, "made");
  const CaptureSeries &series = a.series;
  EXPECT_EQ(series.bin_ns, CaptureSeries::kFirstBinNs << 17); // the first of 1,024 for 99.99 s
  EXPECT_GT(series.bins.size(), CaptureSeries::kBins / 2);
  ASSERT_EQ(series.streams.size(), 1u);
  const CaptureSeries::Stream &stream = series.streams[0];
  EXPECT_EQ(stream.stride, 16u);
  EXPECT_EQ(stream.points.size(), 625u);
  EXPECT_EQ(stream.points[1].psn - stream.points[0].psn, 16);
  EXPECT_EQ(stream.points.back().psn - stream.points.front().psn, 9984 + 3); // not wrapped
  ASSERT_EQ(series.marks.size(), 1u);
  EXPECT_EQ(series.marks[0].kind, CaptureSeries::MarkKind::Gap);
  EXPECT_EQ(series.marks[0].count, 3u);
  EXPECT_EQ(series.marks[0].frame, 5002u);
  EXPECT_EQ(series.marks[0].ns - series.first_ns, 50'010'000'000u);
  EXPECT_EQ(series.marks[0].psn, 0xfffff0 + 5001 + 3);
  // In any 10 us there is one frame.
  EXPECT_EQ(*std::ranges::max_element(series.windows[0]), frames[0].second.size());
}

TEST(Series, StreamsWithoutRoomAreOne) {
  std::vector<std::pair<uint64_t, Bytes>> frames;
  for (uint32_t i = 0; i < 2 * (CaptureSeries::kStreams + 5); i++)
    frames.emplace_back(
        i, middle(i / (CaptureSeries::kStreams + 5), 1 + i % (CaptureSeries::kStreams + 5)));
  const Analysis a = of_frames(frames);
  expect_sums(a, "many");
  EXPECT_EQ(a.series.streams.size(), CaptureSeries::kStreams);
  EXPECT_EQ(a.series.rest_streams, 5u);
  EXPECT_EQ(a.series.rest.packets, 10u);
}

} // namespace
} // namespace xr::test::series_test
