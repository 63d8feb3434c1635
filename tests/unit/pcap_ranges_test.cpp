// SPDX-License-Identifier: Apache-2.0
// A pcap file read in ranges, each by itself and then held to the one before: the frames and the
// end are those of the reader, whatever the ranges guess.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <mutex>
#include <random>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "capture/pcap_ranges.h"
#include "directory.h"
#include "drain.h"

namespace xr::test::pcap_ranges_test {
namespace {

constexpr uint32_t kNoon = 1'700'000'000; // seconds
constexpr size_t kRanges[] = {1, 7, 64, 1000, 65536};
constexpr const char *kShorter = "became shorter";

struct Guesses {
  size_t right = 0, wrong = 0, none = 0;
};

std::vector<PcapRange> read_all(PcapRanges &ranges, size_t threads) {
  std::vector<PcapRange> all;
  std::mutex adding;
  const auto read = [&] {
    for (PcapRange range; ranges.take(range); range = {}) {
      ranges.read(range);
      const std::lock_guard lock(adding);
      all.push_back(std::move(range));
    }
  };
  std::vector<std::thread> running;
  for (size_t i = 1; i < threads; i++)
    running.emplace_back(read);
  read();
  for (std::thread &thread : running)
    thread.join();
  std::ranges::sort(all, {}, &PcapRange::number);
  return all;
}

// What the ranges are together, one after the other.
class Joined {
public:
  explicit Joined(PcapRanges &ranges) : ranges_(ranges) {
    outcome.opened = true;
    outcome.last = Next::Frame;
  }

  // False: the file ends here.
  bool add(PcapRange &range) {
    EXPECT_EQ(range.number, next_++);
    (range.begin == end_                  ? guesses.right
     : range.begin == PcapRange::kUnknown ? guesses.none
                                          : guesses.wrong)++;
    if (range.begin != end_)
      ranges_.read_from(range, end_);
    EXPECT_EQ(range.begin, end_);
    for (const CapturedFrame &frame : range.frames)
      outcome.frames.push_back({FileBytes(frame.data, frame.data + frame.captured), frame.length,
                                frame.time_ns, frame.link});
    if (Status whole = ranges_.check(range); !whole)
      lost = whole.error().message;
    end_ = range.end;
    large_fractions += range.large_fractions;
    outcome.last = range.last;
    if (range.last == Next::Truncated || range.last == Next::Error)
      outcome.error = ranges_.error(range, outcome.frames.size()).message;
    range.bytes.reset();
    return range.last == Next::Frame;
  }

  Outcome outcome;
  Guesses guesses;
  uint64_t large_fractions = 0;
  std::string lost;

private:
  PcapRanges &ranges_;
  uint64_t next_ = 0, end_ = 24;
};

std::unique_ptr<PcapRanges> open(const std::string &path, size_t range,
                                 const ReadOptions &options = {}) {
  auto ranges = PcapRanges::open(path, options, range);
  EXPECT_TRUE(ranges.ok() && ranges.get());
  return ranges.ok() ? std::move(ranges).get() : nullptr;
}

Joined joined(PcapRanges &ranges, size_t threads = 1) {
  Joined joined(ranges);
  for (PcapRange &range : read_all(ranges, threads))
    if (!joined.add(range))
      return joined;
  return joined;
}

void expect_same(const Outcome &got, const Outcome &expected) {
  EXPECT_EQ(got.frames.size(), expected.frames.size());
  EXPECT_TRUE(got.frames == expected.frames);
  EXPECT_EQ(got.last, expected.last);
  EXPECT_EQ(got.error, expected.error);
}

// Expects the reader's records, with ranges of all sizes. Returns the outcome.
Outcome expect_as_reader(const FileBytes &bytes, size_t smallest = 1) {
  const TemporaryFile file(bytes);
  Outcome expected = drain(Reader::open(file.path()));
  for (const size_t range : kRanges) {
    if (range < smallest)
      continue;
    SCOPED_TRACE("ranges of " + std::to_string(range));
    if (const auto ranges = open(file.path(), range))
      expect_same(joined(*ranges).outcome, expected);
  }
  return expected;
}

FileBytes cut(const FileBytes &bytes, size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)};
}

struct Kind {
  bool big = false;
  uint32_t linktype = 1;
  uint32_t magic = 0xa1b2c3d4;
};

// Records of all sizes, at times that mostly go forward.
PcapWriter made(uint32_t seed, size_t records, const Kind &kind = {}) {
  std::mt19937 random(seed);
  PcapWriter file(kind.big, kind.linktype, kind.magic);
  const size_t sizes[] = {0, 1, 60, 300, 1500};
  for (size_t i = 0; i < records; i++) {
    FileBytes bytes(random() % (1 + sizes[random() % std::size(sizes)]));
    std::ranges::generate(bytes, [&random] { return static_cast<uint8_t>(random()); });
    const auto longer = static_cast<int64_t>(bytes.size() + random() % 3 * 100);
    file.packet(bytes, kNoon + static_cast<uint32_t>(i) - random() % 3, random() % 1000000, longer);
  }
  return file;
}

// ---- what is right

TEST(PcapRanges, AreTheReadersFrames) {
  const Kind kinds[] = {{}, {true}, {false, 1, 0xa1b23c4d}, {true, 113, 0xa1b23c4d}};
  for (uint32_t seed = 1; const Kind &kind : kinds)
    EXPECT_EQ(expect_as_reader(made(seed++, 60, kind).bytes).frames.size(), 60u);
  const auto fcs = expect_as_reader(made(9, 60, {false, 0x24000001}).bytes); // four bytes
  EXPECT_EQ(fcs.frames.size(), 60u);
}

TEST(PcapRanges, TheLargestRecordSpansManyRanges) {
  PcapWriter file;
  file.packet(data(60), kNoon).packet(data(262144), kNoon).packet(data(0), kNoon);
  file.packet(data(262144), kNoon).packet(data(61), kNoon);
  EXPECT_EQ(expect_as_reader(file.bytes, 7).frames.size(), 5u);
  file.packet(data(262144), kNoon); // the last one
  EXPECT_EQ(expect_as_reader(file.bytes, 64).last, Next::End);
}

TEST(PcapRanges, ARecordBeginsWhereverARangeEnds) {
  for (size_t first = 0; first < 128; first++) {
    PcapWriter file;
    file.packet(data(first), kNoon).packet(data(5), kNoon).packet(data(200), kNoon);
    EXPECT_EQ(expect_as_reader(file.bytes).frames.size(), 3u);
  }
}

TEST(PcapRanges, TheFirstRecordIsFound) {
  PcapWriter file;
  for (uint32_t i = 0; i < 3000; i++)
    file.packet(data(1000 + i % 100, static_cast<uint8_t>(i)), kNoon + i, i);
  const TemporaryFile whole(file.bytes);
  const auto ranges = open(whole.path(), 64 << 10);
  const Joined got = joined(*ranges);
  EXPECT_EQ(got.outcome.frames.size(), 3000u);
  EXPECT_EQ(got.guesses.right, (file.bytes.size() - 24) / (64 << 10) + 1);
  EXPECT_EQ(ranges->size(), file.bytes.size());
  EXPECT_EQ(ranges->name(), whole.path());
}

// Payloads that are records: ranges begin in the wrong ones.
TEST(PcapRanges, ACaptureOfCaptures) {
  PcapWriter inner, file;
  for (uint32_t i = 0; i < 100; i++)
    inner.packet(data(i), kNoon, i);
  const FileBytes records(inner.bytes.begin() + 24, inner.bytes.end());
  for (uint32_t i = 0; i < 20; i++)
    file.packet(records, kNoon, i);
  EXPECT_EQ(expect_as_reader(file.bytes).frames.size(), 20u);
  const TemporaryFile whole(file.bytes);
  EXPECT_GT(joined(*open(whole.path(), 1000)).guesses.wrong, 10u);
}

TEST(PcapRanges, RecordsOfZeros) {
  PcapWriter file; // a header of zeros is an empty record of 1970
  for (int i = 0; i < 10; i++)
    file.packet(FileBytes(500));
  EXPECT_EQ(expect_as_reader(file.bytes).frames.size(), 10u);
}

TEST(PcapRanges, TimesThatJump) {
  PcapWriter file;
  for (const uint32_t seconds : {kNoon, kNoon - 1000, kNoon - 100'000'000, 0u, UINT32_MAX, kNoon})
    for (int i = 0; i < 10; i++)
      file.packet(data(100), seconds);
  EXPECT_EQ(expect_as_reader(file.bytes).frames.size(), 60u);
}

TEST(PcapRanges, FractionsOverASecond) {
  PcapWriter file;
  for (uint32_t i = 0; i < 100; i++)
    file.packet(data(100), kNoon, i % 2 ? 999'999'999 : 5);
  const TemporaryFile whole(file.bytes);
  const auto micro = open(whole.path(), 1000);
  const Joined got = joined(*micro);
  EXPECT_EQ(got.guesses.wrong + got.guesses.none, 0u);
  EXPECT_EQ(got.large_fractions, 50u);
  EXPECT_EQ(micro->notes(got.large_fractions).fractions_over_us, 50u);
  const auto nano = open(whole.path(), 1000, {.fraction_ns = true});
  const Joined as_ns = joined(*nano);
  EXPECT_EQ(as_ns.large_fractions, 0u);
  EXPECT_EQ(as_ns.outcome.frames[1].time_ns, kNoon * 1000000000ull + 999'999'999);
  EXPECT_EQ(nano->notes(3).fractions_over_ns, 3u);
}

TEST(PcapRanges, SeveralThreadsAtOnce) {
  const TemporaryFile file(made(5, 5000).bytes);
  const Outcome expected = drain(Reader::open(file.path()));
  for (const size_t range : {1000, 65536})
    expect_same(joined(*open(file.path(), range), 4).outcome, expected);
}

TEST(PcapRanges, AreCopiedWhenNothingMoreCanBeMapped) {
  std::vector<std::unique_ptr<Mapping>> all;
  while (auto mapping = Mapping::make())
    all.push_back(std::move(mapping));
  expect_as_reader(made(6, 60).bytes, 64);
  expect_as_reader(cut(made(6, 60).bytes, 5000), 64);
}

// Windows end with a range: records of the one before reach into the next.
TEST(PcapRanges, BeyondOneWindow) {
  PcapWriter file;
  const FileBytes frame = data(100'000);
  for (uint32_t i = 0; i < 900; i++)
    file.packet(frame, kNoon, i);
  const TemporaryFile whole(file.bytes);
  const auto ranges = open(whole.path(), PcapRanges::kRange);
  Joined got(*ranges);
  for (PcapRange range; ranges->take(range);) {
    ranges->read(range);
    if (!got.add(range))
      break;
  }
  EXPECT_EQ(got.outcome.frames.size(), 900u);
  EXPECT_TRUE(
      std::ranges::all_of(got.outcome.frames, [&](const Got &one) { return one.data == frame; }));
  EXPECT_EQ(got.outcome.last, Next::End);
  EXPECT_EQ(got.guesses.wrong + got.guesses.none, 0u);
}

// ---- what is wrong

TEST(PcapRanges, NothingAfterTheHeader) {
  const auto got = expect_as_reader(PcapWriter().bytes);
  EXPECT_EQ(got.last, Next::End);
  EXPECT_TRUE(got.frames.empty());
}

TEST(PcapRanges, CutAtEachByte) {
  const FileBytes whole = three_packets();
  for (size_t size = 24; size <= whole.size(); size++)
    expect_as_reader(cut(whole, size));
}

TEST(PcapRanges, ClaimsOfTooMuch) {
  for (const uint32_t claim : {262145u, 0x7fffffffu, UINT32_MAX}) {
    PcapWriter file = made(3, 20);
    file.u32(kNoon).u32(0).u32(claim).u32(claim).raw(made(4, 20).bytes);
    const auto got = expect_as_reader(file.bytes);
    EXPECT_EQ(got.last, Next::Error);
    EXPECT_NE(got.error.find("packet 21 claims"), std::string::npos) << got.error;
  }
}

TEST(PcapRanges, DamageIsReadAlike) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; i++) {
    FileBytes bytes = made(random(), 12).bytes;
    for (int k = 0; k < 20; k++)
      bytes[24 + random() % (bytes.size() - 24)] = static_cast<uint8_t>(random() % 4);
    expect_as_reader(bytes, 7);
  }
}

// ---- a file that changes

TEST(PcapRanges, AFileThatGrowsIsReadToItsNewEnd) {
  const FileBytes whole = made(8, 100).bytes;
  for (const size_t range : kRanges)
    for (const size_t size : {size_t{24}, size_t{30}, whole.size() / 2}) {
      const TemporaryFile file(cut(whole, size));
      const auto ranges = open(file.path(), range);
      Joined got(*ranges);
      PcapRange first;
      ASSERT_TRUE(ranges->take(first));
      ranges->read(first);
      EXPECT_TRUE(ranges->check(first).ok());
      file.append({whole.begin() + static_cast<ptrdiff_t>(size), whole.end()});
      if (first.last != Next::Frame) // it was the file's last one
        ranges->read_from(first, first.begin);
      bool goes_on = got.add(first);
      for (PcapRange range; goes_on && ranges->take(range);) {
        ranges->read(range);
        goes_on = got.add(range);
      }
      expect_same(got.outcome, drain(Reader::open(file.path())));
    }
}

TEST(PcapRanges, AFileThatBecomesShorterEndsTruncated) {
  PcapWriter many;
  for (uint32_t i = 0; i < 10000; i++)
    many.packet(data(1000), kNoon);
  for (const bool copied : {false, true})
    for (const off_t left : {0, 24, 100000, 1000000, 5000001, 9000000}) {
      std::vector<std::unique_ptr<Mapping>> all;
      while (auto mapping = copied ? Mapping::make() : nullptr)
        all.push_back(std::move(mapping));
      const TemporaryFile file(many.bytes);
      const auto ranges = open(file.path(), 65536);
      Joined got(*ranges);
      for (PcapRange range; ranges->take(range);) {
        ranges->read(range);
        ASSERT_TRUE(range.number != 3 || truncate(file.path().c_str(), left) == 0);
        if (!got.add(range))
          break;
      }
      EXPECT_EQ(got.outcome.last, Next::Truncated) << left;
      EXPECT_NE(got.outcome.error.find(kShorter), std::string::npos) << got.outcome.error;
      EXPECT_EQ(got.lost.find(kShorter) != std::string::npos, left <= 100000 || !copied)
          << left << got.lost;
    }
}

TEST(PcapRanges, FramesOfAFileThatBecameShorterAreNotWhole) {
  const TemporaryFile file(made(8, 1000).bytes);
  const auto ranges = open(file.path(), 100000);
  PcapRange range;
  ASSERT_TRUE(ranges->take(range));
  ranges->read(range);
  ASSERT_FALSE(range.frames.empty());
  EXPECT_TRUE(ranges->check(range).ok());
  ASSERT_EQ(truncate(file.path().c_str(), 2000), 0); // within the first page
  const Status whole = ranges->check(range);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().message,
            file.path() + ": it became shorter while it was read, or its disk failed");
}

// The page in which it now ends has zeros after the end, which would be records.
TEST(PcapRanges, ZerosAfterTheEndAreNoRecords) {
  const TemporaryFile file(cut(made(8, 100).bytes, 8192));
  const auto ranges = open(file.path(), 1000);
  PcapRange first, last;
  ASSERT_TRUE(ranges->take(first));
  ranges->read(first);
  while (last.number < 7)
    ASSERT_TRUE(ranges->take(last));
  ASSERT_EQ(truncate(file.path().c_str(), 6000), 0);
  ranges->read_from(last, 24 + 7000);
  EXPECT_EQ(last.last, Next::Truncated);
  EXPECT_NE(ranges->error(last, 0).message.find(kShorter), std::string::npos);
}

// ---- which files are not read so

TEST(PcapRanges, OtherFilesAreLeftToTheReader) {
  const Directory folder;
  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string &path : {std::string("-"), std::string("/dev/null"), fifo}) {
    const auto ranges = PcapRanges::open(path);
    EXPECT_TRUE(ranges.ok() && !ranges.get()) << path;
  }
  for (const FileBytes &bytes :
       {FileBytes(), cut(three_packets(), 23), three_blocks(), gzip(three_packets()), data(100),
        PcapWriter(false, 1, 0xa1b2c3d4, 65535, 3).bytes, PcapWriter(false, 1, 0xa1b2cd34).bytes}) {
    const TemporaryFile file(bytes);
    const auto ranges = PcapRanges::open(file.path());
    EXPECT_TRUE(ranges.ok() && !ranges.get()) << bytes.size();
  }
}

TEST(PcapRanges, ErrorsAreTheReaders) {
  const TemporaryFile unknown(PcapWriter(false, 247).packet(data(60)).bytes);
  for (const std::string &path :
       {std::string("/tmp/xr-test-no-such-file"), std::string("/tmp"), unknown.path()}) {
    const auto ranges = PcapRanges::open(path);
    ASSERT_FALSE(ranges.ok()) << path;
    EXPECT_EQ(ranges.error().message, Reader::open(path).error().message);
  }
}

} // namespace
} // namespace xr::test::pcap_ranges_test
