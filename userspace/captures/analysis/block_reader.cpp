// SPDX-License-Identifier: Apache-2.0
#include "analysis/block_reader.h"

#include <algorithm>
#include <utility>

namespace xr {

namespace {

// A block is read in less time than a thread takes to fall asleep and to wake up again.
std::unique_lock<std::mutex> lock_soon(std::mutex &mutex) {
  constexpr int kTries = 4'000; // some 50 us
  for (int i = 0; i < kTries; i++)
    if (mutex.try_lock())
      return {mutex, std::adopt_lock};
  return std::unique_lock(mutex);
}

} // namespace

Result<std::unique_ptr<BlockReader>> BlockReader::open(const std::vector<std::string> &paths,
                                                       const std::atomic<bool> *stop,
                                                       bool in_blocks, const ReadOptions &options,
                                                       const Limits &limits,
                                                       OnProgress on_progress) {
  auto set = XR_TRY(CaptureSet::open(paths, stop, in_blocks, options));
  std::unique_ptr<BlockReader> reader(
      new BlockReader(std::move(set), stop, limits, std::move(on_progress)));
  if (in_blocks && paths.size() == 1)
    reader->ranges_ = XR_TRY(PcapRanges::open(paths[0], options, limits.range));
  return reader;
}

Reader::Progress BlockReader::progress() const {
  if (!ranges_)
    return set_.progress();
  return {std::min(read_ * limits_.range, ranges_->size()), ranges_->size()};
}

bool BlockReader::goes_on() {
  if (stop_ && stop_->load(std::memory_order_relaxed))
    return false;
  if (on_progress_ && progress().bytes >= progress_at_) {
    on_progress_(progress());
    progress_at_ = progress().bytes + limits_.progress;
  }
  return true;
}

bool BlockReader::read_range(FrameBlock &block) {
  {
    const auto lock = lock_soon(reading_);
    if (!goes_on() || !ranges_->take(block.range))
      return false;
    block.number = read_++;
  }
  ranges_->read(block.range);
  block.size = block.range.frames.size();
  return true;
}

bool BlockReader::read_next(FrameBlock &block) {
  const auto lock = lock_soon(reading_);
  std::vector<CapturedFrame> &frames = block.range.frames;
  if (last_ != Next::Frame || !goes_on())
    return false;
  frames.resize(limits_.frames);
  size_t bytes = 0;
  while (block.size < frames.size() && bytes < limits_.bytes) {
    last_ = set_.next(frames[block.size]);
    if (last_ != Next::Frame)
      break;
    bytes += frames[block.size++].captured;
  }
  block.number = read_++;
  block.left = set_.leave();
  block.ahead = set_.ahead(limits_.ahead);
  return true;
}

bool BlockReader::read(FrameBlock &block) {
  block.size = 0;
  return ranges_ ? read_range(block) : read_next(block);
}

bool BlockReader::settle(FrameBlock &block) {
  PcapRange &range = block.range;
  if (!ranges_)
    return false;
  if (last_ != Next::Frame) { // the records have ended before
    block.size = 0;
    return true;
  }
  const bool other = range.begin != begin_;
  if (other) {
    ranges_->read_from(range, begin_);
    block.size = range.frames.size();
  }
  begin_ = range.end;
  packets_ += block.size;
  large_fractions_ += range.large_fractions;
  last_ = range.last;
  if (last_ == Next::Truncated || last_ == Next::Error)
    errors_.push_back(ranges_->error(range, packets_));
  return other;
}

void BlockReader::drop(FrameBlock &block) {
  const auto note = [this](const Status &whole) {
    if (whole)
      return;
    const std::lock_guard lock(dropping_);
    lost_.push_back(whole.error());
  };
  for (const LeftBytes &bytes : block.left)
    note(bytes.check());
  block.left.clear();
  if (ranges_ && block.range.bytes) {
    note(ranges_->check(block.range));
    block.range.bytes.reset();
  }
}

std::vector<Error> BlockReader::errors() const {
  std::vector<Error> all = ranges_ ? errors_ : set_.errors();
  for (const Error &error : lost_)
    if (std::ranges::find(all, error.message, &Error::message) == all.end())
      all.push_back(error);
  return all;
}

CaptureNotes BlockReader::notes() const {
  if (!ranges_)
    return set_.notes();
  CaptureNotes all;
  all.add(ranges_->notes(large_fractions_), 0);
  return all;
}

} // namespace xr
