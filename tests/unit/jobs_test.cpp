// SPDX-License-Identifier: Apache-2.0
// Several threads find what one finds: the same report to the byte, events and frames in the same
// order, whatever the blocks are in which they take the frames.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analysis/analyzer.h"
#include "analysis_report.h"
#include "capture_writer.h"
#include "directory.h"

namespace xr::test::jobs_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> captures() {
  std::vector<std::string> all;
  for (const auto &entry : fs::directory_iterator(XR_TEST_DATA))
    if (entry.path().string().find(".pcap") != std::string::npos)
      all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

AnalyzeRun everything() {
  AnalyzeRun run;
  run.options.episodes = run.options.passive_latency = run.options.microbursts =
      run.options.connections = true;
  return run;
}

// That, the events, and what on_frame got.
std::string found(const std::vector<std::string> &paths, AnalyzeRun run) {
  std::string out;
  run.on_event = [&out](const roce_event &event) {
    out += fmt::format("event {} {} {}\n", event.time_ns, event.type, event.psn);
  };
  run.on_frame = [&out](const CapturedFrame &frame, const roce_key *stream) {
    out += fmt::format("{} {} {} {}\n", frame.file, frame.number, frame.captured,
                       stream ? stream->qp_kind : 0);
    return Status();
  };
  const std::string report = report_of(paths, run);
  return report + out;
}

TEST(Jobs, FindWhatOneFinds) {
  const std::vector<std::string> all = captures();
  ASSERT_GT(all.size(), 40U);
  for (const std::string &path : all) {
    AnalyzeRun run = everything();
    const std::string one = found({path}, run);
    for (const unsigned jobs : {2U, 3U, 8U}) {
      run.jobs = jobs;
      for (const uint32_t frames : {1024U, 7U}) {
        run.block_frames = frames;
        run.range_bytes = frames == 7 ? 300 : 0;
        EXPECT_TRUE(found({path}, run) == one) << path << ", " << jobs << " jobs";
      }
    }
  }
}

// Streams that are divided among shards give the report of one shard, by any number of threads.
TEST(Jobs, FindInShardsWhatOneShardFinds) {
  std::vector<std::vector<std::string>> sets;
  for (const std::string &path : captures())
    sets.push_back({path});
  sets.push_back(captures());
  for (const auto &paths : sets) {
    AnalyzeRun run = everything();
    run.options.traffic = run.options.job = true;
    const std::string one = report_of(paths, run);
    run.divide_from = 0;
    for (const unsigned jobs : {1U, 2U, 3U, 7U, 16U}) {
      run.jobs = jobs;
      run.block_frames = jobs % 2 ? 1024 : 7;
      run.range_bytes = jobs % 2 ? 0 : 500;
      EXPECT_TRUE(report_of(paths, run) == one) << paths[0] << ", " << jobs << " jobs";
    }
  }
}

// Any files together, blocks of any size, with and without each option.
TEST(Jobs, FindWhatOneFindsInAnyBlocks) {
  const std::vector<std::string> all = captures();
  std::mt19937 random(17);
  const auto below = [&random](uint32_t n) { return random() % n; };
  for (int round = 0; round < 60; round++) {
    std::vector<std::string> paths;
    for (uint32_t i = 0, n = 1 + below(5); i < n; i++)
      paths.push_back(all[below(static_cast<uint32_t>(all.size()))]);
    AnalyzeRun run;
    run.options.track = below(8);
    run.options.check_icrc = below(4);
    run.options.drop_bad_icrc = below(2);
    run.options.episodes = below(2);
    run.options.passive_latency = below(2);
    run.options.microbursts = below(2);
    run.options.connections = below(2);
    run.options.decap = below(4) ? 0 : 1U << ROCE_TUNNEL_VXLAN | 1U << ROCE_TUNNEL_ERSPAN;
    run.options.clock = below(4) ? FrameClock::Capture : FrameClock::Trailer;
    const std::string one = found(paths, run);
    run.jobs = 2 + below(7);
    run.block_frames = 1 + below(below(2) ? 8 : 300);
    run.range_bytes = 16 + below(below(2) ? 200 : 30'000);
    EXPECT_TRUE(found(paths, run) == one)
        << "round " << round << ": " << paths[0] << " and " << paths.size() - 1 << " more";
  }
}

// More than a window of the file, of frames that begin anywhere in a page.
class LargeCapture : public ::testing::Test {
protected:
  static constexpr size_t kBytes = 70 << 20;

  LargeCapture() {
    PcapWriter head(false, 1, 0xa1b23c4d);
    std::ofstream out(path_, std::ios::binary);
    const auto write = [&out](const FileBytes &bytes) {
      out.write(reinterpret_cast<const char *>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    };
    write(head.bytes);
    Result<Reader> reader = Reader::open(XR_TEST_DATA "/loss_rc_read_v4.pcap.gz");
    PcapWriter body(false, 1, 0xa1b23c4d);
    uint32_t taken = 0;
    for (CapturedFrame frame; reader->next(frame) == Next::Frame; taken++)
      body.packet({frame.data, frame.data + frame.captured}, 1 + taken / 1000, taken % 1000);
    body.bytes.erase(body.bytes.begin(),
                     body.bytes.begin() + static_cast<ptrdiff_t>(head.bytes.size()));
    for (size_t bytes = 0; bytes < kBytes; bytes += body.bytes.size())
      write(body.bytes);
  }

  Directory at_;
  std::string path_ = at_.file("large.pcap");
};

TEST_F(LargeCapture, IsTheSameByTwoThreads) {
  AnalyzeRun run;
  run.options.episodes = true;
  const std::string one = found({path_}, run);
  run.jobs = 2;
  EXPECT_TRUE(found({path_}, run) == one);
}

// Pages that go while other threads parse them are zeros, and the report says so.
TEST_F(LargeCapture, ThatBecomesShorterIsNamed) {
  AnalyzeRun run;
  run.jobs = 3;
  uint64_t events = 0;
  bool cut = false;
  run.on_frame = [&](const CapturedFrame &, const roce_key *) {
    if (events++ == 5000)
      cut = truncate(path_.c_str(), 8 << 20) == 0;
    return Status();
  };
  const Result<Analysis> done = analyze(path_, run);
  ASSERT_TRUE(done.ok() && cut);
  ASSERT_FALSE(done.get().troubles.empty());
  EXPECT_NE(done.get().troubles[0].message.find("became shorter while it was read"),
            std::string::npos)
      << done.get().troubles[0].message;
  EXPECT_TRUE(done.get().snapshot.truncated);
}

TEST(Jobs, EndWithAnErrorOfOnFrame) {
  AnalyzeRun run;
  run.jobs = 4;
  run.block_frames = 3;
  uint64_t frames = 0;
  run.on_frame = [&frames](const CapturedFrame &, const roce_key *) {
    return ++frames == 20 ? Status(Error{"the disk is full"}) : Status();
  };
  const Result<Analysis> done = analyze(XR_TEST_DATA "/rc_send_1024_v4.pcap", run);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(frames, 20U);
  ASSERT_EQ(done.get().troubles.size(), 1U);
  EXPECT_EQ(done.get().troubles[0].message, "the disk is full");
}

TEST(Jobs, StopBetweenBlocks) {
  AnalyzeRun run;
  std::atomic<bool> stop = false;
  run.jobs = 2;
  run.block_frames = 5;
  run.range_bytes = 2000;
  run.stop = &stop;
  run.progress_step = 1;
  uint64_t calls = 0, frames = 0;
  run.on_frame = [&frames](const CapturedFrame &, const roce_key *) { return frames++, Status(); };
  run.on_progress = [&](const Reader::Progress &) { stop = ++calls == 3; };
  const Result<Analysis> done = analyze(XR_TEST_DATA "/rc_send_1024_v4.pcap", run);
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(done.get().stopped);
  EXPECT_GT(frames, 0U);
  EXPECT_LT(frames, 60U);
}

} // namespace
} // namespace xr::test::jobs_test
