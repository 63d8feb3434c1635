// SPDX-License-Identifier: Apache-2.0
// Reads captures in blocks of frames, for several threads. One plain pcap is cut into ranges, which
// are read at the same time; all else is read one block after the other.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "capture/capture_set.h"
#include "capture/pcap_ranges.h"

namespace xr {

struct FrameBlock {
  uint64_t number = 0;
  size_t size = 0; // of frames
  PcapRange range; // its `frames`, of which `size` are used
  std::vector<LeftBytes> left = {};
  std::vector<Ahead> ahead = {};
};

class BlockReader {
public:
  struct Limits {
    uint32_t frames;   // in a block, but for ranges
    size_t bytes;      // the same
    size_t range;      // bytes
    uint64_t progress; // bytes between two calls of on_progress
    size_t ahead;      // bytes that the kernel is to map before they are needed
  };
  using OnProgress = std::function<void(const Reader::Progress &)>;

  // `in_blocks`: by read(), otherwise by next().
  static Result<std::unique_ptr<BlockReader>> open(const std::vector<std::string> &paths,
                                                   const std::atomic<bool> *stop, bool in_blocks,
                                                   const ReadOptions &options, const Limits &limits,
                                                   OnProgress on_progress);

  // Thread-safe. The next block; false: there are no more, for now (see ended()).
  bool read(FrameBlock &block);
  // For all blocks in their order. True: the block's frames are others than read() gave, because it
  // began elsewhere.
  bool settle(FrameBlock &block);
  // After settle() of the last block that read() gave: false, if the file has grown meanwhile.
  bool ended() const { return !ranges_ || last_ != Next::Frame; }
  // Thread-safe. The block's frames are no longer needed.
  void drop(FrameBlock &block);

  // By one thread, frame by frame: what a pipe has delivered. End, Truncated and Error: the end.
  Next next(CapturedFrame &frame) { return last_ = set_.next(frame); }
  // False: stop was asked for. Reports the progress.
  bool goes_on();

  bool truncated() const { return last_ == Next::Truncated || !lost_.empty(); }
  std::vector<Error> errors() const;
  CaptureNotes notes() const;

private:
  BlockReader(CaptureSet set, const std::atomic<bool> *stop, const Limits &limits,
              OnProgress on_progress)
      : set_(std::move(set)), stop_(stop), limits_(limits), on_progress_(std::move(on_progress)),
        progress_at_(limits.progress) {}
  Reader::Progress progress() const;
  bool read_range(FrameBlock &block);
  bool read_next(FrameBlock &block);

  CaptureSet set_; // without ranges
  std::unique_ptr<PcapRanges> ranges_;
  const std::atomic<bool> *stop_;
  Limits limits_;
  OnProgress on_progress_;

  std::mutex reading_; // protects `set_` and:
  uint64_t progress_at_;
  uint64_t read_ = 0; // blocks

  Next last_ = Next::Frame;
  uint64_t begin_ = PcapRecords::kFileHeader; // of the next range
  uint64_t packets_ = 0, large_fractions_ = 0;
  std::vector<Error> errors_; // of ranges
  std::mutex dropping_;
  std::vector<Error> lost_; // files that became shorter
};

} // namespace xr
