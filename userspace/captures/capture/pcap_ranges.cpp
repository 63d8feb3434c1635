// SPDX-License-Identifier: Apache-2.0
#include "capture/pcap_ranges.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace xr {

namespace {

constexpr uint64_t kMapped = 64 << 20; // bytes of a window, without what follows
// Follows a window, so that a record that begins in it is whole.
constexpr uint64_t kAfter = PcapRecords::kHeader + kMaxCaptured;

constexpr int kRun = 8;                // plausible records in a row make a guess
constexpr uint32_t kLonger = 8;        // bytes: some writers count an FCS in one length only
constexpr uint32_t kDay = 86400;       // seconds between records in a row
constexpr uint32_t kYear = 366 * kDay; // and from the file's first

} // namespace

// Bytes of the file from `begin` on, mapped or copied.
struct PcapBytes {
  uint64_t begin = 0;
  const uint8_t *data = nullptr;
  size_t size = 0;
  bool whole = false; // else the file ended here
  std::unique_ptr<Mapping> mapping = {};
  std::vector<uint8_t> buffer = {};
  bool is_short = false; // the buffer: the file ended before
  int errno_value = 0;

  uint64_t end() const { return begin + size; }
  bool lost() const { return mapping ? mapping->lost() : is_short; }
};

namespace {

// Has the kernel map the pages; it maps 64 KiB around each that is read.
void touch(const PcapBytes &bytes, uint64_t begin, uint64_t end) {
  constexpr uint64_t kAround = 64 << 10;
  if (!bytes.mapping)
    return;
  for (uint64_t at = begin; at < std::min(end, bytes.end()); at += kAround)
    static_cast<void>(*static_cast<const volatile uint8_t *>(bytes.data + (at - bytes.begin)));
}

void clear(PcapRange &range, uint64_t begin) {
  range.begin = range.end = begin;
  range.frames.clear();
  range.last = Next::Frame;
  range.large_fractions = 0;
  range.claim = 0;
  range.errno_value = 0;
  range.inside = nullptr;
}

} // namespace

PcapRanges::PcapRanges(std::string name, Fd fd, const PcapRecords &records, size_t range)
    : name_(std::move(name)), fd_(std::move(fd)), records_(records),
      range_(std::max<size_t>(range, 1)), window_ranges_(std::max<uint64_t>(kMapped / range_, 1)),
      first_apart_(kYear) {}

Result<std::unique_ptr<PcapRanges>> PcapRanges::open(const std::string &path,
                                                     const ReadOptions &options, size_t range) {
  std::unique_ptr<PcapRanges> none;
  struct stat status {};
  if (path == "-")
    return none;
  if (stat(path.c_str(), &status) < 0)
    return errno_error(errno, path);
  if (S_ISDIR(status.st_mode))
    return errno_error(EISDIR, path);
  if (!S_ISREG(status.st_mode))
    return none;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return errno_error(errno, path);
  std::array<uint8_t, PcapRecords::kFileHeader> header{};
  if (pread(fd.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
      !PcapRecords::is_pcap(header.data()))
    return none;
  const auto records = XR_TRY(PcapRecords::of(path, header.data(), options));
  const std::unique_ptr<Mapping> mapping = Mapping::make();
  if (!records || (mapping && !mapping->move(fd.get(), 0, header.size())))
    return none;
  posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::unique_ptr<PcapRanges> ranges(new PcapRanges(path, std::move(fd), *records, range));
  ranges->look();
  ranges->learn_time();
  return ranges;
}

void PcapRanges::learn_time() {
  std::array<uint8_t, PcapRecords::kHeader> record{};
  if (pread(fd_.get(), record.data(), record.size(), PcapRecords::kFileHeader) ==
      static_cast<ssize_t>(record.size()))
    first_time_ = records_.seconds(record.data());
  else
    first_apart_ = UINT32_MAX;
}

// The file's size now.
uint64_t PcapRanges::look() const {
  struct stat status {};
  const uint64_t now = fstat(fd_.get(), &status) < 0 ? 0 : static_cast<uint64_t>(status.st_size);
  uint64_t known = size_;
  while (known < now && !size_.compare_exchange_weak(known, now))
    ;
  return now;
}

bool PcapRanges::take(PcapRange &range) {
  const std::lock_guard lock(taking_);
  range.number = taken_;
  if (begin_of(range) > size_ && begin_of(range) > look())
    return false;
  taken_++;
  clear(range, PcapRange::kUnknown);
  range.bytes.reset();
  return true;
}

// ---- bytes

std::shared_ptr<const PcapBytes> PcapRanges::bytes_of(const PcapRange &range) const {
  if (auto mapped = window(range.number / window_ranges_))
    return mapped;
  return copy(begin_of(range));
}

// Null: it cannot be mapped.
std::shared_ptr<const PcapBytes> PcapRanges::window(uint64_t number) const {
  const std::lock_guard lock(mapping_);
  const auto at = windows_.find(number);
  auto mapped = at == windows_.end() ? nullptr : at->second.lock();
  if (mapped && (mapped->whole || mapped->end() >= size_))
    return mapped;
  mapped = map(number);
  if (!mapped)
    return nullptr;
  newest_ = mapped;
  std::erase_if(windows_, [](const auto &window) { return window.second.expired(); });
  windows_[number] = mapped;
  return mapped;
}

std::shared_ptr<PcapBytes> PcapRanges::map(uint64_t number) const {
  const uint64_t most = window_ranges_ * range_ + kAfter, size = look();
  auto bytes = std::make_shared<PcapBytes>();
  bytes->begin = offset_of(number * window_ranges_ * range_);
  bytes->size = std::min(most, size - std::min(size, bytes->begin));
  bytes->whole = bytes->size == most;
  if (!bytes->size)
    return bytes;
  bytes->mapping = Mapping::make();
  if (!bytes->mapping)
    return nullptr;
  bytes->data = bytes->mapping->move(fd_.get(), bytes->begin, bytes->size);
  return bytes->data ? bytes : nullptr;
}

std::shared_ptr<PcapBytes> PcapRanges::copy(uint64_t begin) const {
  const uint64_t most = range_ + kAfter, size = look();
  auto bytes = std::make_shared<PcapBytes>();
  bytes->begin = begin;
  bytes->buffer.resize(std::min(most, size - std::min(size, begin)));
  while (bytes->size < bytes->buffer.size()) {
    const ssize_t n = pread(fd_.get(), &bytes->buffer[bytes->size],
                            bytes->buffer.size() - bytes->size, static_cast<off_t>(bytes->end()));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      bytes->errno_value = n < 0 ? errno : 0;
      bytes->is_short = n == 0;
      break;
    }
    bytes->size += static_cast<size_t>(n);
  }
  bytes->data = bytes->buffer.data();
  bytes->whole = bytes->size == most;
  return bytes;
}

// ---- where a range begins

// Zeros, of which payloads are full, would be empty records.
bool PcapRanges::is_plausible(const uint8_t *record, uint32_t before, uint32_t apart) const {
  const uint32_t captured = records_.captured(record), seconds = records_.seconds(record);
  return captured && captured <= kMaxCaptured &&
         captured <= records_.length(record) + uint64_t{kLonger} &&
         records_.fraction(record) < 1000000000 &&
         std::max(seconds, before) - std::min(seconds, before) <= apart;
}

// Whether plausible records follow each other from there, or up to the end.
bool PcapRanges::is_run(const PcapBytes &bytes, size_t at) const {
  uint32_t before = first_time_, apart = first_apart_;
  for (int i = 0; i < kRun; i++) {
    if (at > bytes.size || bytes.size - at < PcapRecords::kHeader)
      return bytes.whole || at == bytes.size;
    const uint8_t *record = bytes.data + at;
    if (!is_plausible(record, before, apart))
      return false;
    before = records_.seconds(record);
    apart = kDay;
    at += PcapRecords::kHeader + records_.captured(record);
  }
  return bytes.whole || at <= bytes.size;
}

uint64_t PcapRanges::guess(const PcapRange &range) const {
  const PcapBytes &bytes = *range.bytes;
  const auto from = static_cast<size_t>(begin_of(range) - bytes.begin);
  const size_t most = bytes.size - std::min(bytes.size, PcapRecords::kHeader - 1);
  for (size_t at = from; at < std::min<size_t>(from + range_, most); at++)
    if (is_run(bytes, at))
      return bytes.begin + at;
  return PcapRange::kUnknown;
}

// ---- records

void PcapRanges::read(PcapRange &range) const {
  const uint64_t begin = begin_of(range);
  clear(range, PcapRange::kUnknown);
  range.bytes = bytes_of(range);
  touch(*range.bytes, begin, begin + range_);
  const uint64_t first = range.number ? guess(range) : begin;
  if (first != PcapRange::kUnknown)
    read_from(range, first);
}

void PcapRanges::read_from(PcapRange &range, uint64_t begin) const {
  do {
    clear(range, begin);
    if (begin >= begin_of(range) + range_)
      return;
    if (!range.bytes)
      range.bytes = bytes_of(range);
  } while (!read_chain(range));
}

// False: the file has grown, and the range must be read again.
bool PcapRanges::read_chain(PcapRange &range) const {
  const PcapBytes &bytes = *range.bytes;
  const uint8_t *const data = bytes.data;
  const size_t size = bytes.size;
  const auto limit = static_cast<size_t>(begin_of(range) + range_ - bytes.begin);
  auto at = static_cast<size_t>(range.begin - bytes.begin);

  while (at < limit) {
    if (size < at + PcapRecords::kHeader) {
      range.inside = "a packet's header";
      return end_chain(range, at);
    }
    const uint8_t *const record = data + at;
    const uint32_t captured = records_.captured(record);
    if (bytes.lost())
      break;
    if (captured > kMaxCaptured) {
      range.last = Next::Error;
      range.claim = captured;
      break;
    }
    const size_t length = PcapRecords::kHeader + captured;
    if (size - at < length) {
      range.inside = "a packet";
      return end_chain(range, at);
    }
    ByteSource::fetch_later(record, length);
    range.large_fractions += records_.fill(range.frames.emplace_back(), record, captured);
    at += length;
  }
  range.end = bytes.begin + at;
  // The last page of a file that became shorter has zeros after its end.
  if (bytes.lost() || look() < range.end)
    range.last = Next::Truncated;
  return true;
}

// The bytes end at `at`, or inside the record there.
bool PcapRanges::end_chain(PcapRange &range, size_t at) const {
  const PcapBytes &bytes = *range.bytes;
  const uint64_t known = size_, now = look();
  range.end = bytes.begin + at;
  if (bytes.errno_value) {
    range.last = Next::Error;
    range.errno_value = bytes.errno_value;
    return true;
  }
  if (bytes.lost() || now < known) {
    range.inside = nullptr;
    range.last = Next::Truncated;
    return true;
  }
  if (now > bytes.end()) {
    range.bytes.reset();
    return false;
  }
  range.last = at == bytes.size ? Next::End : Next::Truncated;
  return true;
}

// ---- what was wrong

Error PcapRanges::error(const PcapRange &range, uint64_t packets) const {
  if (range.errno_value)
    return errno_error(range.errno_value, name_);
  if (range.last == Next::Error)
    return damaged_error(name_, PcapRecords::too_long(packets + 1, range.claim));
  return range.inside ? truncated_error(name_, range.inside, packets) : lost_error(name_);
}

Status PcapRanges::check(const PcapRange &range) const {
  const bool is_lost = range.bytes && range.bytes->lost();
  if (is_lost || (!range.frames.empty() && look() < range.end))
    return lost_error(name_);
  return {};
}

} // namespace xr
