// SPDX-License-Identifier: Apache-2.0
// Cuts one plain pcap 2.4 file into ranges that several threads read at once. A record does not say
// where the one before began: each range guesses where its first record begins, and the caller
// holds it to where the range before ended, in order:
//
//   if (range.begin != end) // the one before ended elsewhere
//     ranges.read_from(range, end);
//   end = range.end;
//
// so that a guess may cost time, but never changes what is read.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "capture/pcap_record.h"
#include "capture/reader.h"

namespace xr {

struct PcapBytes;

// The records that begin in the number-th piece of the bytes after the file's header.
struct PcapRange {
  static constexpr uint64_t kUnknown = UINT64_MAX;

  uint64_t number = 0;
  uint64_t begin = kUnknown; // offset of its first record: guessed, or given to read_from()
  uint64_t end = kUnknown;   // where the record after its last one begins
  // Their `file` and `number` are not set.
  std::vector<CapturedFrame> frames = {};
  Next last = Next::Frame;      // otherwise: the records end in this range, see error()
  uint64_t large_fractions = 0; // for notes()
  // Keeps the frames' bytes. May be reset once the frames are no longer needed.
  std::shared_ptr<const PcapBytes> bytes = {};

  // Why the records end. Error: what the next one claims, or why the file cannot be read.
  // Truncated: what the file ends inside; null if it became shorter.
  uint32_t claim = 0;
  int errno_value = 0;
  const char *inside = nullptr;
};

class PcapRanges {
public:
  static constexpr size_t kRange = 1 << 20;

  // `range`: bytes of each. Null: another format, gzip, no regular file, or one that cannot be
  // mapped, which a CaptureSet reads. Error: as of Reader::open.
  static Result<std::unique_ptr<PcapRanges>>
  open(const std::string &path, const ReadOptions &options = {}, size_t range = kRange);

  // All that follow may be called by several threads at once, each with a range of its own.

  // The next range, empty so far. False: the file ends before it. The range in which the records
  // end comes before: a range whose `last` is Frame has a next one once it was read.
  bool take(PcapRange &range);
  // Guesses where its first record begins, unless it is the first range, and reads its records. No
  // guess: `begin` and `end` are unknown.
  void read(PcapRange &range) const;
  // Reads the records of the range of which the first begins at `begin`, which is not before the
  // range. If it is at or after the end of the range, there are none.
  void read_from(PcapRange &range, uint64_t begin) const;

  // Why the records end in the range, if that is not the end of the file. `packets`: whole ones in
  // the file before, those of the range with them.
  Error error(const PcapRange &range, uint64_t packets) const;
  // After the use of its frames. Error: what was read may be wrong.
  Status check(const PcapRange &range) const;
  // `large_fractions`: sum of the ranges.
  CaptureNotes notes(uint64_t large_fractions) const { return records_.notes(large_fractions); }

  const std::string &name() const { return name_; }
  uint64_t size() const { return size_; } // of the file, as far as known

private:
  PcapRanges(std::string name, Fd fd, const PcapRecords &records, size_t range);
  uint64_t begin_of(const PcapRange &range) const { return offset_of(range.number * range_); }
  static uint64_t offset_of(uint64_t after_header) {
    return PcapRecords::kFileHeader + after_header;
  }
  void learn_time();
  uint64_t look() const;
  std::shared_ptr<const PcapBytes> bytes_of(const PcapRange &range) const;
  std::shared_ptr<const PcapBytes> window(uint64_t number) const;
  std::shared_ptr<PcapBytes> map(uint64_t number) const;
  std::shared_ptr<PcapBytes> copy(uint64_t begin) const;
  uint64_t guess(const PcapRange &range) const;
  bool is_run(const PcapBytes &bytes, size_t at) const;
  bool is_plausible(const uint8_t *record, uint32_t before, uint32_t apart) const;
  bool read_chain(PcapRange &range) const;
  bool end_chain(PcapRange &range, size_t at) const;

  std::string name_;
  Fd fd_;
  PcapRecords records_;
  uint64_t range_;
  uint64_t window_ranges_;                 // ranges of a window
  uint32_t first_time_ = 0;                // seconds, of the first record
  uint32_t first_apart_;                   // how far from it the first time of a range may be
  mutable std::atomic<uint64_t> size_ = 0; // the largest so far

  std::mutex taking_;
  uint64_t taken_ = 0;

  mutable std::mutex mapping_; // protects:
  mutable std::map<uint64_t, std::weak_ptr<const PcapBytes>> windows_;
  mutable std::shared_ptr<const PcapBytes> newest_; // the next range needs it
};

} // namespace xr
