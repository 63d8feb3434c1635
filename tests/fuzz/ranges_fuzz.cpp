// SPDX-License-Identifier: Apache-2.0
// A pcap file read in ranges: the frames and the end are those of the reader. The input: the bytes
// of a range less one, 16 bits little-endian; what the file's header says; then its records.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "capture/pcap_ranges.h"
#include "capture_writer.h"
#include "require.h"

using namespace xr;
using xr::test::FileBytes;
using xr::test::PcapWriter;

namespace {

// A file in memory, with another content for each input.
class MadeFile {
public:
  MadeFile() : fd_(memfd_create("ranges_fuzz", MFD_CLOEXEC)) {}
  void write(const FileBytes &bytes) const {
    REQUIRE(ftruncate(fd_.get(), 0) == 0);
    REQUIRE(pwrite(fd_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

private:
  Fd fd_;
};

struct Frame {
  FileBytes bytes;
  uint32_t length;
  uint64_t time_ns;
  Link link;
  bool operator==(const Frame &) const = default;

  static Frame of(const CapturedFrame &frame) {
    return {FileBytes(frame.data, frame.data + frame.captured), frame.length, frame.time_ns,
            frame.link};
  }
};

struct Outcome {
  std::vector<Frame> frames = {};
  Next last = Next::Frame;
  std::string error = {};
  uint64_t large_fractions = 0;
  bool operator==(const Outcome &) const = default;
};

bool is_wrong(Next last) { return last == Next::Truncated || last == Next::Error; }

Outcome read(const std::string &path) {
  Outcome outcome;
  Result<Reader> reader = Reader::open(path);
  REQUIRE(reader.ok());
  CapturedFrame frame;
  while ((outcome.last = reader->next(frame)) == Next::Frame)
    outcome.frames.push_back(Frame::of(frame));
  if (is_wrong(outcome.last))
    outcome.error = reader->error().message;
  outcome.large_fractions = reader->notes().fractions_over_us + reader->notes().fractions_over_ns;
  return outcome;
}

// Each by itself, as several threads do.
std::vector<PcapRange> read_all(PcapRanges &ranges) {
  std::vector<PcapRange> all;
  for (PcapRange range; ranges.take(range); range = {}) {
    ranges.read(range);
    all.push_back(std::move(range));
  }
  return all;
}

Outcome join(PcapRanges &ranges, std::vector<PcapRange> all) {
  Outcome outcome;
  uint64_t end = PcapRecords::kFileHeader;
  for (PcapRange &range : all) {
    if (range.begin != end)
      ranges.read_from(range, end);
    REQUIRE(range.begin == end && range.end >= end);
    std::ranges::transform(range.frames, std::back_inserter(outcome.frames), Frame::of);
    REQUIRE(ranges.check(range).ok());
    outcome.large_fractions += range.large_fractions;
    end = range.end;
    outcome.last = range.last;
    if (is_wrong(range.last))
      outcome.error = ranges.error(range, outcome.frames.size()).message;
    if (range.last != Next::Frame)
      break;
  }
  return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const MadeFile file;
  if (size < 3)
    return 0;
  const size_t range = 1 + (data[0] | data[1] << 8);
  const bool big = data[2] & 1, nano = data[2] & 2, fcs = data[2] & 4;
  PcapWriter bytes(big, fcs ? 0x24000001 : 1, nano ? 0xa1b23c4d : 0xa1b2c3d4);
  file.write(bytes.raw(FileBytes(data + 3, data + size)).bytes);

  auto ranges = PcapRanges::open(file.path(), {.fraction_ns = false}, range);
  REQUIRE(ranges.ok() && ranges.get());
  REQUIRE(join(*ranges.get(), read_all(*ranges.get())) == read(file.path()));
  return 0;
}
