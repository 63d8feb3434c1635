// SPDX-License-Identifier: Apache-2.0
// A capture divided into files, as the reader reads them.
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "capture/splitter.h"
#include "directory.h"
#include "frames.h"

namespace xr::test::splitter_test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTime = 1'767'268'800'000'000'000; // 2026-01-01T12:00:00Z

struct Read {
  Bytes bytes;
  uint64_t time_ns;
  std::string comment;
  Link link;
  bool operator==(const Read &) const = default;
};

std::vector<Read> read(const fs::path &path) {
  std::vector<Read> all;
  auto reader = Reader::open(path);
  EXPECT_TRUE(reader.ok()) << path;
  CapturedFrame frame;
  Next next = Next::Error;
  while (reader.ok() && (next = reader->next(frame)) == Next::Frame)
    all.push_back({Bytes(frame.data, frame.data + frame.captured), frame.time_ns,
                   std::string(frame.comment), frame.link});
  EXPECT_EQ(next, Next::End) << path;
  return all;
}

roce_key key_of(uint32_t qp) {
  roce_key key{};
  key.qp_kind = qp;
  return key;
}

class SplitterTest : public testing::Test {
protected:
  SplitOptions options() {
    SplitOptions options;
    options.directory = directory_.file("parts");
    options.name = [](const roce_key &key) { return fmt::format("qp{}", key.qp_kind); };
    return options;
  }
  void open(SplitOptions options) {
    auto made = Splitter::create(std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    splitter_.emplace(std::move(made).get());
  }
  // `stream` 0: none.
  void frame(uint32_t stream, uint64_t at, Link link = Link::Ethernet) {
    const Bytes bytes = FrameBuilder(4).psn(static_cast<uint32_t>(given_.size())).build().bytes;
    const std::string comment = given_.size() % 3 ? "" : fmt::format("frame {}", given_.size());
    const roce_key key = key_of(stream);
    const auto size = static_cast<uint32_t>(bytes.size());
    const Status done = splitter_->frame({.data = bytes.data(),
                                          .captured = size,
                                          .length = size,
                                          .time_ns = kTime + at,
                                          .link = link,
                                          .comment = comment},
                                         stream ? &key : nullptr);
    ASSERT_TRUE(done.ok()) << done.error().message;
    given_.push_back({bytes, kTime + at, comment, link});
  }
  std::string file(const std::string &name) { return directory_.file("parts/" + name); }
  std::set<std::string> files() {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(directory_.file("parts")))
      names.insert(entry.path().filename());
    return names;
  }

  const Directory directory_;
  std::optional<Splitter> splitter_;
  std::vector<Read> given_;
};

TEST_F(SplitterTest, WritesAFileForEachStream) {
  SplitOptions small = options();
  small.most_pending = 1000; // files are opened many times
  open(small);
  for (uint32_t i = 0; i < 300; i++)
    frame(i % 4, i * 1000);
  frame(1, 1'000'000, Link::Raw);
  ASSERT_TRUE(splitter_->finish());
  EXPECT_EQ(files(), (std::set<std::string>{"qp1.pcapng", "qp2.pcapng", "qp3.pcapng",
                                            "qp1_raw.pcapng", "other.pcapng"}));
  for (uint32_t stream = 0; stream < 4; stream++) {
    std::vector<Read> expected;
    for (uint32_t i = stream; i < 300; i += 4)
      expected.push_back(given_[i]);
    EXPECT_EQ(read(file(stream ? fmt::format("qp{}.pcapng", stream) : "other.pcapng")), expected);
  }
  EXPECT_EQ(read(file("qp1_raw.pcapng")), std::vector<Read>{given_[300]});
  EXPECT_EQ(splitter_->report().files, 5u);
  EXPECT_EQ(splitter_->report().frames, 301u);
}

TEST_F(SplitterTest, WritesAFileForEachInterval) {
  SplitOptions halves = options();
  halves.every_ns = 500'000'000;
  open(halves);
  frame(1, 0);
  frame(2, 499'999'999);
  frame(0, 500'000'000);
  frame(1, 60'000'000'000);
  ASSERT_TRUE(splitter_->finish());
  EXPECT_EQ(files(), (std::set<std::string>{"20260101T120000.000000000Z.pcapng",
                                            "20260101T120000.500000000Z.pcapng",
                                            "20260101T120100.000000000Z.pcapng"}));
  EXPECT_EQ(read(file("20260101T120000.000000000Z.pcapng")),
            (std::vector<Read>{given_[0], given_[1]}));
}

TEST_F(SplitterTest, CountsWhatHasNoFile) {
  SplitOptions few = options();
  few.most_files = 2;
  open(few);
  for (uint32_t i = 0; i < 10; i++)
    frame(1 + i % 5, i);
  ASSERT_TRUE(splitter_->finish());
  EXPECT_EQ(splitter_->report().files, 2u);
  EXPECT_EQ(splitter_->report().frames, 4u);
  EXPECT_EQ(splitter_->report().left_out, 6u);
}

TEST_F(SplitterTest, RefusesADirectoryWithCaptures) {
  open(options());
  frame(1, 0);
  ASSERT_TRUE(splitter_->finish());
  const auto again = Splitter::create(options());
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("has captures already"), std::string::npos);
  SplitOptions nowhere = options();
  nowhere.directory = "/proc/parts";
  EXPECT_FALSE(Splitter::create(nowhere).ok());
}

TEST_F(SplitterTest, ReportsWhatCannotBeWritten) {
  open(options());
  frame(1, 0);
  fs::remove(file("qp1.pcapng"));
  const Status done = splitter_->finish();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("qp1.pcapng"), std::string::npos);
}

} // namespace
} // namespace xr::test::splitter_test
