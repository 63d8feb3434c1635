// SPDX-License-Identifier: Apache-2.0
// Written captures, read back by our reader and block by block, also as a ring of files.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/files.h"
#include "directory.h"
#include "drain.h"

namespace xr::test::pcapng_writer_test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000, kTime = 1'700'000'000 * kSecond + 123'456'789;

PcapngPacket packet(const FileBytes &bytes, uint64_t time_ns, std::string_view comment = {}) {
  const auto size = static_cast<uint32_t>(bytes.size());
  return {time_ns, bytes.data(), size, size, comment};
}

template <typename T> T at(const FileBytes &bytes, size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(&value, &bytes[offset], sizeof(T));
  return value;
}

struct Block {
  uint32_t type;
  FileBytes body;
};

// By the draft, section 3.1: type, length, body, length.
std::vector<Block> blocks(const FileBytes &bytes) {
  std::vector<Block> all;
  for (size_t offset = 0; offset < bytes.size();) {
    const auto length = at<uint32_t>(bytes, offset + 4);
    EXPECT_EQ(length % 4, 0u);
    EXPECT_EQ(at<uint32_t>(bytes, offset + length - 4), length);
    const auto begin = bytes.begin() + static_cast<ptrdiff_t>(offset);
    all.push_back({at<uint32_t>(bytes, offset), {begin + 8, begin + length - 4}});
    offset += length;
  }
  return all;
}

// The value of an option, "" without it. Options begin at `from`.
std::string option(const FileBytes &body, size_t from, uint16_t wanted) {
  while (from + 4 <= body.size()) {
    const auto code = at<uint16_t>(body, from), size = at<uint16_t>(body, from + 2);
    if (!code)
      break;
    if (code == wanted)
      return {reinterpret_cast<const char *>(&body[from + 4]), size};
    from += 4 + (size + 3u) / 4 * 4;
  }
  return "";
}

uint64_t number(const std::string &value) {
  uint64_t n = 0;
  EXPECT_EQ(value.size(), sizeof(n));
  std::memcpy(&n, value.data(), std::min(value.size(), sizeof(n)));
  return n;
}

TEST(PcapngWriter, ReaderReadsIt) {
  const Directory directory;
  const std::string path = directory.file("x.pcapng");
  {
    auto writer = xr::PcapngWriter::create(path, {"eth0", "", 0});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    for (uint32_t size = 0; size < 9; size++)
      ASSERT_TRUE(writer->packet(packet(data(60 + size), kTime + size, std::string(size, 'c'))));
    ASSERT_TRUE(writer->packet({kTime + 9, data(64).data(), 64, 9000, "cut"}));
    ASSERT_TRUE(writer->finish({}));
    EXPECT_EQ(writer->packets(), 10u);
    EXPECT_EQ(writer->bytes(), fs::file_size(path));
  }
  const auto got = drain(Reader::open(path));
  EXPECT_EQ(got.last, Next::End) << got.error;
  ASSERT_EQ(got.frames.size(), 10u);
  for (uint32_t i = 0; i < 9; i++)
    EXPECT_EQ(got.frames[i], (Got{data(60 + i), 60 + i, kTime + i, Link::Ethernet}));
  EXPECT_EQ(got.frames[9], (Got{data(64), 9000, kTime + 9, Link::Ethernet}));
}

TEST(PcapngWriter, BlocksAndTheirOptions) {
  const Directory directory;
  const std::string path = directory.file("x.pcapng");
  auto writer = xr::PcapngWriter::create(path, {"eth0", "class nak", 128});
  ASSERT_TRUE(writer.ok());
  const FileBytes bytes = data(61);
  const PcapngPacket one = packet(bytes, kTime, "gap: 1 PSN 7");
  ASSERT_TRUE(writer->packet(one));
  ASSERT_TRUE(writer->finish({kTime, kTime + 5, 100, 90, 7, 83}));
  const auto all = blocks(read_whole(path));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].type, 0x0a0d0d0au);
  EXPECT_EQ(at<uint32_t>(all[0].body, 0), 0x1a2b3c4du);
  EXPECT_EQ(all[1].type, 1u);
  EXPECT_EQ(at<uint16_t>(all[1].body, 0), 1u);   // Ethernet
  EXPECT_EQ(at<uint32_t>(all[1].body, 4), 128u); // snap length
  EXPECT_EQ(option(all[1].body, 8, 2), "eth0");
  EXPECT_EQ(option(all[1].body, 8, 9), "\x09"); // nanoseconds
  EXPECT_EQ(option(all[1].body, 8, 11), std::string("\0class nak", 10));
  EXPECT_EQ(all[2].type, 6u);
  EXPECT_EQ(all[2].body.size() + 12, xr::PcapngWriter::size_of(one));
  EXPECT_EQ(option(all[2].body, 20 + 64, 1), "gap: 1 PSN 7");
  EXPECT_EQ(option(all[2].body, 20 + 64, 2), std::string("\1\0\0\0", 4)); // inbound
  EXPECT_EQ(all[3].type, 5u);
  EXPECT_EQ(all[3].body.size() + 12, xr::PcapngWriter::kStatisticsSize);
  const uint16_t codes[] = {4, 5, 6, 8}; // received, dropped, accepted, delivered
  const uint64_t counts[] = {100, 7, 90, 83};
  for (size_t i = 0; i < 4; i++)
    EXPECT_EQ(number(option(all[3].body, 12, codes[i])), counts[i]);
}

TEST(PcapngWriter, ReportsWriteErrors) {
  auto nowhere = xr::PcapngWriter::create("/nowhere/x", {});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("cannot write /nowhere/x"), std::string::npos);
  auto full = xr::PcapngWriter::create("/dev/full", {});
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos);
}

// Like a disk that is full.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit &) = delete;
  FileSizeLimit &operator=(const FileSizeLimit &) = delete;

private:
  rlimit before_{};
};

// Until a flush fails; each second packet is cut.
Status write_on(xr::PcapngWriter &writer, size_t packets) {
  const FileBytes bytes = data(1000);
  Status done;
  for (uint32_t i = 0; i < packets && done; i++)
    done = writer.packet({kTime, bytes.data(), 1000, 1000 + i % 2, "comment"});
  return done ? writer.flush() : done;
}

// The contents of a file before `>>` are not ours to cut.
TEST(PcapngWriter, WriteErrorKeepsTheFormerContents) {
  const Directory directory;
  const std::string path = directory.file("x.pcapng");
  const std::string old(200'000, 'o');
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), old.data(), old.size()), static_cast<ssize_t>(old.size()));
  fflush(stdout);
  const Fd screen(dup(STDOUT_FILENO));
  dup2(file.get(), STDOUT_FILENO);
  auto writer = xr::PcapngWriter::create("-", {"eth0", "", 0});
  dup2(screen.get(), STDOUT_FILENO);
  ASSERT_TRUE(writer.ok());
  const FileSizeLimit limit(500'000);
  EXPECT_FALSE(write_on(*writer, 1000));
  FileBytes all = read_whole(path);
  ASSERT_GT(all.size(), old.size() + 10'000);
  EXPECT_EQ(std::string(all.begin(), all.begin() + 200'000), old);
  all.erase(all.begin(), all.begin() + 200'000);
  const auto got = read(all);
  EXPECT_EQ(got.last, Next::End) << got.error;
  EXPECT_EQ(writer->packets(), got.frames.size());
}

TEST(PcapngWriter, CountersMatchTheFile) {
  const Directory directory;
  const std::string path = directory.file("x.pcapng");
  auto writer = xr::PcapngWriter::create(path, {"eth0", "", 0});
  ASSERT_TRUE(writer.ok());
  {
    const FileSizeLimit limit(300'000); // in the middle of the second buffer
    ASSERT_FALSE(write_on(*writer, 1000));
  }
  EXPECT_FALSE(writer->nobody_reads());
  const auto got = drain(Reader::open(path));
  EXPECT_EQ(got.last, Next::End) << got.error;
  EXPECT_GT(got.frames.size(), 250u);
  EXPECT_EQ(writer->packets(), got.frames.size());
  EXPECT_EQ(writer->cut(), got.frames.size() / 2);
  EXPECT_EQ(writer->bytes(), fs::file_size(path));
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
    signal(SIGPIPE, SIG_IGN);
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", write_end.get()); }

  Fd read_end, write_end;
};

TEST(PcapngWriter, AbandonsAStalledReader) {
  const Pipe pipe;
  bool asked = false;
  auto writer = xr::PcapngWriter::create(pipe.path(), {"eth0", "", 0}, [&] {
    const bool before = asked;
    asked = true;
    return before; // not at once
  });
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(write_on(*writer, 1000));
  EXPECT_TRUE(asked);
  EXPECT_TRUE(writer->nobody_reads());
  FileBytes bytes(1 << 20);
  const ssize_t size = ::read(pipe.read_end.get(), bytes.data(), bytes.size());
  ASSERT_GT(size, 0);
  bytes.resize(static_cast<size_t>(size));
  const auto got = read(bytes);
  EXPECT_GT(got.frames.size(), 10u);
  EXPECT_EQ(writer->packets(), got.frames.size());
}

TEST(PcapngWriter, DetectsThatTheReaderExited) {
  Pipe pipe;
  auto writer = xr::PcapngWriter::create(pipe.path(), {"eth0", "", 0});
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->nobody_reads());
  pipe.read_end.reset();
  EXPECT_TRUE(writer->nobody_reads()); // without a write
  EXPECT_FALSE(write_on(*writer, 10));
  EXPECT_EQ(writer->packets(), 0u);
  EXPECT_TRUE(writer->nobody_reads());
}

TEST(RingPath, NamesAreLikeDumpcaps) {
  setenv("TZ", "UTC", 1);
  EXPECT_EQ(ring_path("/a/x.pcapng", 2, kTime), "/a/x_00002_20231114221320.pcapng");
  EXPECT_EQ(ring_path("x", 123456, kTime), "x_123456_20231114221320");
  EXPECT_EQ(ring_path("a.b/x", 1, kTime), "a.b/x_00001_20231114221320");
  EXPECT_EQ(ring_path("/a/.x", 1, kTime), "/a/.x_00001_20231114221320");
}

// Frames of 100 bytes, one a second, each known by its time.
std::vector<uint64_t> written(CaptureFiles::Options options, size_t count) {
  const Directory directory;
  options.path = directory.file("x.pcapng");
  auto files = CaptureFiles::create(options, [] { return PcapngStatistics{}; });
  EXPECT_TRUE(files.ok());
  for (size_t i = 0; i < count; i++)
    EXPECT_TRUE(files->packet(packet(data(100), kTime + i * kSecond)));
  EXPECT_TRUE(files->finish());
  EXPECT_EQ(files->packets(), count);
  std::vector<uint64_t> in_file;
  uint64_t there = 0, first = 0;
  for (const std::string &path : directory.files()) {
    const auto got = drain(Reader::open(path));
    EXPECT_EQ(got.last, Next::End) << got.error;
    if (options.file_bytes) {
      EXPECT_LE(fs::file_size(path), options.file_bytes);
    }
    in_file.push_back(got.frames.size());
    if (!there)
      first = got.frames.front().time_ns;
    there += got.frames.size();
  }
  // The last ones, without a hole.
  EXPECT_EQ(first, kTime + (count - there) * kSecond);
  EXPECT_EQ(files->paths().size(), in_file.size());
  return in_file;
}

TEST(CaptureFiles, OneFile) { EXPECT_EQ(written({}, 50), (std::vector<uint64_t>{50})); }

TEST(CaptureFiles, ByTime) {
  EXPECT_EQ(written({.path = {}, .file_ns = 4 * kSecond}, 10), (std::vector<uint64_t>{4, 4, 2}));
  EXPECT_EQ(written({.path = {}, .file_ns = 1}, 3), (std::vector<uint64_t>{1, 1, 1}));
}

TEST(CaptureFiles, BySizeKeepingTheNewest) {
  const uint64_t one = xr::PcapngWriter::size_of(packet(data(100), 0));
  const auto got = written({.path = {}, .file_bytes = 1000}, 20);
  ASSERT_GT(got.size(), 2u);
  for (size_t i = 0; i + 1 < got.size(); i++)
    EXPECT_EQ(got[i], got[0]);
  EXPECT_GT((got[0] + 1) * one, 1000u - 300); // not smaller than it has to be
  const auto kept = written({.path = {}, .file_bytes = 1000, .keep = 2}, 20);
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.front(), got[0]);
  EXPECT_EQ(written({.path = {}, .file_bytes = 1000, .file_ns = 2 * kSecond, .keep = 3}, 20),
            (std::vector<uint64_t>{2, 2, 2}));
}

} // namespace
} // namespace xr::test::pcapng_writer_test
