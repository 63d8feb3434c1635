// SPDX-License-Identifier: Apache-2.0
// Captures from files that grow or shrink and from pipes; results compared with libpcap.
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include "drain.h"

namespace xr::test::reader_files_test {
namespace {

TEST(ReaderFiles, FileErrorsNameTheFile) {
  for (const char *path : {"/tmp/xr-test-no-such-file", "/tmp"}) {
    const auto got = drain(Reader::open(path));
    EXPECT_FALSE(got.opened);
    EXPECT_TRUE(got.error.starts_with(std::string(path) + ": ")) << got.error;
  }
}

TEST(ReaderFiles, FilesAndMemoryGiveTheSame) {
  PcapWriter many;
  for (uint32_t i = 0; i < 40000; i++) // beyond one mapped window
    many.packet(data(1000 + i % 100, static_cast<uint8_t>(i)), i);
  for (const FileBytes &bytes :
       {three_packets(), three_blocks(), gzip(three_packets()), many.bytes}) {
    const TemporaryFile file(bytes);
    const auto expected = read(bytes);
    const auto got = drain(Reader::open(file.path()));
    EXPECT_EQ(got.frames, expected.frames);
    EXPECT_EQ(got.last, Next::End);
  }
  const TemporaryFile cut({many.bytes.begin(), many.bytes.end() - 1});
  const auto got = drain(Reader::open(cut.path()));
  EXPECT_EQ(got.frames.size(), 39999u);
  EXPECT_EQ(got.last, Next::Truncated);
}

TEST(ReaderFiles, Progress) {
  PcapWriter many;
  for (uint32_t i = 0; i < 20000; i++)
    many.packet(data(1000));
  for (const FileBytes &bytes : {many.bytes, gzip(many.bytes)}) {
    const TemporaryFile file(bytes);
    Result<Reader> reader = Reader::open(file.path());
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->progress().total, bytes.size());
    CapturedFrame frame;
    uint64_t before = 0;
    while (reader->next(frame) == Next::Frame) {
      ASSERT_GE(reader->progress().bytes, before);
      before = reader->progress().bytes;
    }
    EXPECT_EQ(reader->progress().bytes, bytes.size());
  }
}

TEST(ReaderFiles, AFileThatGrowsIsReadToItsNewEnd) {
  const FileBytes whole = three_packets();
  const auto half = static_cast<ptrdiff_t>(24 + 76);
  const TemporaryFile file({whole.begin(), whole.begin() + half});
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  CapturedFrame frame;
  ASSERT_EQ(reader->next(frame), Next::Frame);
  file.append({whole.begin() + half, whole.end()});
  EXPECT_EQ(reader->next(frame), Next::Frame);
  EXPECT_EQ(reader->next(frame), Next::Frame);
  EXPECT_EQ(reader->next(frame), Next::End);
}

TEST(ReaderFiles, AFileThatShrinksEndsTruncated) {
  PcapWriter many;
  for (uint32_t i = 0; i < 40000; i++)
    many.packet(data(1000));
  for (off_t left : {0, 24, 100000, 1000000, 20000000, 30000000}) {
    const TemporaryFile file(many.bytes);
    Result<Reader> reader = Reader::open(file.path());
    ASSERT_TRUE(reader.ok());
    CapturedFrame frame;
    for (int i = 0; i < 1000; i++) // past the first chunk: the file is mapped
      ASSERT_EQ(reader->next(frame), Next::Frame);
    ASSERT_EQ(truncate(file.path().c_str(), left), 0);
    size_t more = 0;
    Next next;
    uint64_t sum = 0;
    while ((next = reader->next(frame)) == Next::Frame) {
      for (uint32_t i = 0; i < frame.captured; i++)
        sum += frame.data[i];
      ASSERT_LE(++more, 40000u);
    }
    EXPECT_EQ(next, Next::Truncated) << left;
    EXPECT_LE(sum, more * 255 * 1000);
    EXPECT_FALSE(reader->error().message.empty());
    EXPECT_EQ(reader->next(frame), Next::Truncated);
  }
}

TEST(ReaderFiles, ManyReadersAtOnce) {
  const TemporaryFile file(three_packets());
  std::vector<Reader> readers;
  for (int i = 0; i < 40; i++) { // more than are mapped
    Result<Reader> reader = Reader::open(file.path());
    ASSERT_TRUE(reader.ok());
    readers.push_back(std::move(reader).get());
  }
  for (Reader &reader : readers) {
    CapturedFrame frame;
    for (int i = 0; i < 3; i++)
      EXPECT_EQ(reader.next(frame), Next::Frame);
    EXPECT_EQ(reader.next(frame), Next::End);
  }
}

// Standard input is a pipe while it lives.
class PipedInput {
public:
  PipedInput() : before_(dup(STDIN_FILENO)) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    write_ = ends[1];
  }
  ~PipedInput() {
    finish();
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  PipedInput(const PipedInput &) = delete;
  PipedInput &operator=(const PipedInput &) = delete;

  void write(const FileBytes &bytes, size_t at_once) {
    for (size_t at = 0; at < bytes.size(); at += at_once)
      EXPECT_GT(::write(write_, &bytes[at], std::min(at_once, bytes.size() - at)), 0);
  }
  void finish() {
    if (write_ >= 0)
      close(write_);
    write_ = -1;
  }

private:
  int before_, write_ = -1;
};

TEST(ReaderFiles, StandardInput) {
  for (const FileBytes &bytes : {three_packets(), three_blocks(), gzip(three_packets())})
    for (size_t at_once : {size_t{1}, size_t{13}, bytes.size()}) {
      PipedInput input;
      std::thread writer([&] {
        input.write(bytes, at_once);
        input.finish();
      });
      const auto got = drain(Reader::open("-"));
      writer.join();
      EXPECT_EQ(got.frames, read(bytes).frames);
      EXPECT_EQ(got.last, Next::End);
    }
}

TEST(ReaderFiles, StandardInputReturnsFramesAsTheyArrive) {
  PipedInput input;
  input.write(three_packets(), 10000);
  Result<Reader> reader = Reader::open("-");
  ASSERT_TRUE(reader.ok());
  CapturedFrame frame;
  for (int i = 0; i < 3; i++) // with the writer still there
    EXPECT_EQ(reader->next(frame), Next::Frame);
  input.finish();
  EXPECT_EQ(reader->next(frame), Next::End);
}

TEST(ReaderFiles, StopEndsTheWaitForInput) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> stop = false;
  PipedInput input;
  input.write(three_packets(), 10000);
  Result<Reader> reader = Reader::open("-", &stop);
  ASSERT_TRUE(reader.ok());
  CapturedFrame frame;
  for (int i = 0; i < 3; i++)
    EXPECT_EQ(reader->next(frame), Next::Frame);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  const auto start = Clock::now();
  EXPECT_EQ(reader->next(frame), Next::End);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  stopper.join();
}

// ---- against libpcap

std::vector<Got> through_libpcap(const FileBytes &bytes) {
  std::vector<Got> frames;
  char why[PCAP_ERRBUF_SIZE];
  FILE *file = fmemopen(const_cast<uint8_t *>(bytes.data()), bytes.size(), "r");
  if (!file)
    return frames;
  pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
  if (!pcap) {
    fclose(file);
    return frames;
  }
  pcap_pkthdr *header;
  const u_char *packet;
  while (pcap_next_ex(pcap, &header, &packet) == 1)
    frames.push_back({FileBytes(packet, packet + header->caplen),
                      std::max(header->caplen, header->len),
                      static_cast<uint64_t>(header->ts.tv_sec) * 1000000000 +
                          static_cast<uint64_t>(header->ts.tv_usec),
                      Link::Ethernet});
  pcap_close(pcap);
  return frames;
}

TEST(ReaderFiles, ReadsWhatLibpcapReads) {
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(XR_TEST_DATA)) {
    if (entry.path().string().find(".pcap") == std::string::npos)
      continue;
    const auto got = drain(Reader::open(entry.path()));
    EXPECT_EQ(got.frames, through_libpcap(read_whole(entry.path()))) << entry.path();
    EXPECT_EQ(got.last, Next::End);
    files++;
  }
  EXPECT_GE(files, 30u);
}

TEST(ReaderFiles, ReadsDamagedFilesAsFarAsLibpcap) {
  std::mt19937 random(2);
  // without an option for the FCS, which libpcap leaves alone
  const FileBytes blocks =
      PcapngWriter().interface().packet(data(60)).packet(data(61)).packet(data(62)).bytes;
  for (const FileBytes &whole : {three_packets(), blocks})
    for (int i = 0; i < 2000; i++) {
      FileBytes bytes = whole;
      // Not the file header: versions, snap lengths and link types are treated differently.
      const size_t at = 48 + random() % (bytes.size() - 48);
      bytes[at] = static_cast<uint8_t>(random());
      auto got = read(bytes).frames, expected = through_libpcap(bytes);
      for (auto *frames : {&got, &expected}) // a million microseconds and more: libpcap overflows
        for (Got &frame : *frames)
          frame.time_ns = 0;
      ASSERT_EQ(got.size(), expected.size()) << "byte " << at << " = " << int{bytes[at]};
      for (size_t k = 0; k < got.size(); k++)
        EXPECT_EQ(got[k], expected[k]) << "byte " << at << " = " << int{bytes[at]};
    }
}

} // namespace
} // namespace xr::test::reader_files_test
