// SPDX-License-Identifier: Apache-2.0
#include "analysis/pipeline.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/fetch.h"

namespace xr {

namespace {

// One job looks at the stop flag, the progress and its tables once per 1,024 frames, several once
// per block.
constexpr uint32_t kLookMask = 1023;

constexpr size_t kBlockBytes = 512 << 10; // half of a core's second cache on the machine of 0.9.0
constexpr size_t kPrefetch = 2, kPrefetchParsed = 6; // frames
constexpr size_t kFetched = 4096;                    // bytes of a frame
constexpr size_t kWorthwhile = 64; // frames of a shard, while there is more to read

size_t blocks_of(unsigned jobs) { return 4 + size_t{2} * jobs; }

// Has the kernel map the pages; it maps 64 KiB around each that is read.
void touch(const std::vector<Ahead> &ahead) {
  constexpr size_t kAround = 64 << 10;
  for (const Ahead &bytes : ahead)
    for (size_t at = 0; at < bytes.size(); at += kAround)
      static_cast<void>(*static_cast<const volatile uint8_t *>(&bytes[at]));
}

} // namespace

struct Pipeline::Block : FrameBlock {
  std::vector<Analyzer::ParsedFrame> parsed;            // of its frames
  std::vector<Analyzer::Brief> briefs;                  // the same
  std::vector<uint32_t> order;                          // their places, by shard
  std::array<uint32_t, Division::kShards + 1> shards{}; // where each begins in `order`
  bool away = false;                                    // before one of them frames are missing
  bool elsewhere = false;                               // one of them is in no shard
  uint64_t frames_before = 0;
  uint32_t unfinished = 0; // shards

  const CapturedFrame &frame(size_t at) const { return range.frames[at]; }
};

Result<std::unique_ptr<Pipeline>> Pipeline::open(const std::vector<std::string> &paths,
                                                 const AnalyzeRun &run, const Division &division) {
  const bool in_blocks = run.jobs > 1;
  const BlockReader::Limits limits = {.frames = run.block_frames,
                                      .bytes = kBlockBytes,
                                      .range = run.range_bytes ? run.range_bytes : kBlockBytes,
                                      .progress = run.progress_step,
                                      .ahead = run.jobs * kBlockBytes};
  auto reader =
      XR_TRY(BlockReader::open(paths, run.stop, in_blocks, run.read, limits, run.on_progress));
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(reader), run, division));
}

Pipeline::Pipeline(std::unique_ptr<BlockReader> reader, const AnalyzeRun &run,
                   const Division &division)
    : reader_(std::move(reader)), run_(run), analyzer_(run.options, division),
      queues_(division.shards()) {
  if (run.on_event)
    analyzer_.on_event(run.on_event);
  if (run.jobs > 1)
    std::generate_n(std::back_inserter(free_), blocks_of(run.jobs),
                    [] { return std::make_unique<Block>(); });
}

Pipeline::~Pipeline() = default;

bool Pipeline::on_frame(const CapturedFrame &frame, const roce_key *stream) {
  if (!run_.on_frame)
    return true;
  if (Status done = run_.on_frame(frame, stream); !done)
    failed_ = done.error();
  return !failed_;
}

// By one thread, frame by frame: what a pipe has delivered is accounted for at once.
void Pipeline::frames() {
  CapturedFrame frame;
  Analyzer::ParsedFrame parsed;
  Analyzer::Brief brief;
  for (uint64_t n = 1; !ended_ && reader_->next(frame) == Next::Frame; n++) {
    analyzer_.parse(frame, parsed, brief);
    if (brief.shard == Division::kElsewhere)
      undivided_ = ended_ = true;
    else if (!on_frame(frame, analyzer_.take(frame, parsed, brief, n)))
      break;
    if (n & kLookMask)
      continue;
    for (uint32_t shard = 0; shard < queues_.size(); shard++)
      check_room(shard);
    if (!reader_->goes_on())
      break;
  }
}

void Pipeline::parse(Block &block) {
  touch(block.ahead);
  block.away = false;
  if (block.size > block.parsed.size()) {
    block.parsed.resize(block.size);
    block.briefs.resize(block.size);
    block.order.resize(block.size);
  }
  for (size_t i = 0; i < block.size; i++) {
    const CapturedFrame &soon = block.frame(std::min(i + kPrefetch, block.size - 1));
    fetch_lines(soon.data, std::min<size_t>(soon.captured, kFetched));
    analyzer_.parse(block.frame(i), block.parsed[i], block.briefs[i]);
    block.away |= (block.briefs[i].flags & Analyzer::Brief::Away) != 0;
  }
  if (queues_.size() > 1)
    divide(block);
}

// Sorts the frames by shard, in order in each.
void Pipeline::divide(Block &block) {
  block.elsewhere = false;
  std::array<uint32_t, Division::kShards + 1> at{};
  for (size_t i = 0; i < block.size; i++) {
    const uint8_t shard = block.briefs[i].shard;
    if (shard == Division::kElsewhere)
      block.elsewhere = true;
    else
      at[shard + size_t{1}]++;
  }
  std::partial_sum(at.begin(), at.end(), at.begin());
  block.shards = at;
  for (uint32_t i = 0; i < block.size; i++)
    if (const uint8_t shard = block.briefs[i].shard; shard != Division::kElsewhere)
      block.order[at[shard]++] = i;
}

void Pipeline::admit(Block &block) {
  if (reader_->settle(block))
    parse(block);
  if (block.elsewhere)
    undivided_ = ended_ = true;
  block.frames_before = std::exchange(admitted_frames_, admitted_frames_ + block.size);
  if (queues_.size() == 1 || !(analyzer_.admits() || block.away))
    return;
  for (size_t i = 0; i < block.size; i++)
    analyzer_.admit(block.frame(i), block.parsed[i], block.briefs[i]);
}

void Pipeline::enqueue(Block &block) {
  block.unfinished = 0;
  for (uint32_t shard = 0; queues_.size() > 1 && shard < queues_.size(); shard++) {
    const uint32_t frames = block.shards[shard + 1] - block.shards[shard];
    if (!frames)
      continue;
    queues_[shard].blocks.push_back(&block);
    queues_[shard].frames += frames;
    block.unfinished++;
  }
}

// Admits the blocks whose turn has come, unless another thread does. That thread then admits this
// one too, so that none waits for another one's parsing.
void Pipeline::arrive(std::unique_ptr<Block> block, Lock &lock) {
  reading_blocks_--;
  parsed_.emplace(block->number, std::move(block));
  if (std::exchange(admitting_, true))
    return;
  for (auto next = parsed_.find(admitted_blocks_); next != parsed_.end();
       next = parsed_.find(++admitted_blocks_)) {
    std::unique_ptr<Block> turn = std::move(next->second);
    parsed_.erase(next);
    lock.unlock();
    admit(*turn);
    lock.lock();
    enqueue(*turn);
    admitted_.push_back(std::move(turn));
    changed_.notify_all();
  }
  admitting_ = false;
}

std::optional<uint32_t> Pipeline::waiting_shard(size_t least) const {
  std::optional<uint32_t> found;
  for (uint32_t shard = 0; shard < queues_.size(); shard++)
    if (const Queue &queue = queues_[shard]; !queue.busy && queue.frames >= least) {
      found = shard;
      least = queue.frames + 1;
    }
  return found;
}

void Pipeline::account(Block &block, uint32_t shard) {
  const uint32_t end = block.shards[shard + 1];
  for (uint32_t i = block.shards[shard]; i < end && !ended_; i++) {
    const uint32_t soon = block.order[std::min<size_t>(i + kPrefetchParsed, end - 1)];
    fetch_lines(&block.parsed[soon], sizeof(block.parsed[soon]));
    fetch_lines(&block.briefs[soon], sizeof(block.briefs[soon]));
    const uint32_t at = block.order[i];
    analyzer_.account(block.frame(at), block.parsed[at], block.briefs[at],
                      block.frames_before + at + 1);
  }
}

void Pipeline::account(uint32_t shard, Lock &lock) {
  Queue &queue = queues_[shard];
  std::vector<Block *> blocks = std::exchange(queue.blocks, {});
  queue.frames = 0;
  queue.busy = true;
  lock.unlock();
  for (Block *block : blocks)
    account(*block, shard);
  check_room(shard);
  lock.lock();
  queue.busy = false;
  for (Block *block : blocks)
    block->unfinished--;
  changed_.notify_all();
}

void Pipeline::finish(Block &block) {
  const bool all = queues_.size() == 1;
  for (size_t i = 0; i < block.size && !ended_; i++) {
    if (!all) {
      analyzer_.finish(block.parsed[i], block.briefs[i]);
      continue;
    }
    CapturedFrame &frame = block.range.frames[i];
    if (!frame.number) // of a range
      frame.number = block.frames_before + i + 1;
    if (!on_frame(frame, analyzer_.take(frame, block.parsed[i], block.briefs[i], frame.number)))
      ended_ = true;
  }
}

// Finishes the blocks that are accounted for. False: another thread does, or there is none.
bool Pipeline::finish(Lock &lock) {
  const auto is_ready = [this] { return !admitted_.empty() && !admitted_.front()->unfinished; };
  if (finishing_ || !is_ready())
    return false;
  finishing_ = true;
  while (is_ready()) {
    std::unique_ptr<Block> block = std::move(admitted_.front());
    admitted_.pop_front();
    lock.unlock();
    finish(*block);
    lock.lock();
    free_.push_back(std::move(block));
    changed_.notify_all();
  }
  finishing_ = false;
  changed_.notify_all();
  return true;
}

// False: there is no block to read, or none to read into.
bool Pipeline::read_next(Lock &lock) {
  if (read_all_ || free_.empty())
    return false;
  std::unique_ptr<Block> block = std::move(free_.back());
  free_.pop_back();
  reading_blocks_++;
  lock.unlock();
  reader_->drop(*block);
  const bool more = !ended_ && reader_->read(*block);
  if (more)
    parse(*block);
  lock.lock();
  if (more) {
    last_try_ = false;
    arrive(std::move(block), lock);
    return true;
  }
  reading_blocks_--;
  read_all_ = true;
  free_.push_back(std::move(block));
  changed_.notify_all();
  return true;
}

bool Pipeline::is_done() {
  if (!read_all_ || reading_blocks_ || admitting_ || !admitted_.empty() || finishing_)
    return false;
  // A file that has grown since is read on, unless it has not.
  if (ended_ || reader_->ended() || std::exchange(last_try_, true))
    return true;
  read_all_ = false;
  return false;
}

// By several threads.
void Pipeline::work() {
  Lock lock(mutex_);
  while (!is_done()) {
    if (finish(lock))
      continue;
    if (const auto shard = waiting_shard(kWorthwhile)) {
      account(*shard, lock);
      continue;
    }
    if (read_next(lock))
      continue;
    if (const auto shard = waiting_shard(1))
      account(*shard, lock);
    else
      changed_.wait(lock);
  }
}

void Pipeline::check_room(uint32_t shard) {
  if (!analyzer_.has_room(shard))
    full_ = ended_ = true;
}

std::vector<uint64_t> Pipeline::run() {
  std::vector<uint64_t> taken(run_.jobs);
  const auto job = [&](unsigned i) {
    const uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    run_.jobs > 1 ? work() : frames();
    taken[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < run_.jobs; i++)
    others.emplace_back(job, i);
  job(0);
  for (std::thread &other : others)
    other.join();
  for (const std::unique_ptr<Block> &block : free_)
    reader_->drop(*block);
  return taken;
}

std::vector<Error> Pipeline::troubles() const {
  std::vector<Error> all = reader_->errors();
  if (failed_)
    all.push_back(*failed_);
  return all;
}

} // namespace xr
