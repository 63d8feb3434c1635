// SPDX-License-Identifier: Apache-2.0
// Takes the frames of captures through the steps of an Analyzer, by several threads: blocks of
// frames are read and parsed at the same time, the frames of a shard are accounted for in order by
// whichever thread is free, and finished blocks leave in order. No step waits for a thread: each
// does what is there to do, the shard with the most waiting frames first.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "analysis/analyzer.h"
#include "analysis/block_reader.h"

namespace xr {

class Pipeline {
public:
  static Result<std::unique_ptr<Pipeline>> open(const std::vector<std::string> &paths,
                                                const AnalyzeRun &run, const Division &division);
  ~Pipeline();

  // Returns the processor time of each thread.
  std::vector<uint64_t> run();

  Analyzer &analyzer() { return analyzer_; }
  // The analysis is no good: the division does not fit the capture, or a table of which there is
  // one a capture is full.
  bool undivided() const { return undivided_; }
  bool full() const { return full_; }
  bool truncated() const { return reader_->truncated(); }
  std::vector<Error> troubles() const;
  CaptureNotes notes() const { return reader_->notes(); }

private:
  struct Block;
  struct Queue { // of a shard
    std::vector<Block *> blocks;
    size_t frames = 0;
    bool busy = false; // a thread accounts for it
  };
  using Lock = std::unique_lock<std::mutex>;

  Pipeline(std::unique_ptr<BlockReader> reader, const AnalyzeRun &run, const Division &division);
  void frames();
  void work();
  bool on_frame(const CapturedFrame &frame, const roce_key *stream);
  void parse(Block &block);
  void divide(Block &block);
  void arrive(std::unique_ptr<Block> block, Lock &lock);
  void admit(Block &block);
  void enqueue(Block &block);
  std::optional<uint32_t> waiting_shard(size_t least) const;
  void account(uint32_t shard, Lock &lock);
  void account(Block &block, uint32_t shard);
  void check_room(uint32_t shard);
  bool finish(Lock &lock);
  void finish(Block &block);
  bool read_next(Lock &lock);
  bool is_done();

  std::unique_ptr<BlockReader> reader_;
  const AnalyzeRun &run_;
  Analyzer analyzer_;
  std::optional<Error> failed_; // by on_frame
  std::atomic<bool> ended_ = false, undivided_ = false, full_ = false;

  std::mutex mutex_; // protects:
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Block>> free_;
  std::map<uint64_t, std::unique_ptr<Block>> parsed_; // by number
  std::deque<std::unique_ptr<Block>> admitted_;       // in order
  std::vector<Queue> queues_;
  uint64_t admitted_blocks_ = 0;
  size_t reading_blocks_ = 0; // being read or parsed
  bool read_all_ = false, last_try_ = false, admitting_ = false, finishing_ = false;

  uint64_t admitted_frames_ = 0; // of the thread that admits
};

} // namespace xr
