// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "analysis/analyzer.h"
#include "base/clock.h"

namespace xr {

namespace {

// One job checks the stop flag and the progress once per 256 frames, several once per block.
constexpr uint32_t kLookMask = 255;

constexpr size_t kBlockBytes = 512 << 10; // half of a core's second cache on the machine of 0.9.0
constexpr size_t kBlocks = 3;             // for each thread
constexpr size_t kPrefetch = 2;           // frames

struct Block {
  explicit Block(uint32_t most) : frames(most), parsed(most) {}

  uint64_t number = 0;
  size_t size = 0; // of frames
  std::vector<CapturedFrame> frames;
  std::vector<Analyzer::ParsedFrame> parsed; // the same frames
  std::vector<LeftBytes> left;               // that no later block needs
  std::vector<Ahead> ahead;
};

// The frames of the captures, read, parsed and accounted.
class Work {
public:
  Work(CaptureSet captures, const AnalyzeRun &run)
      : set_(std::move(captures)), run_(run), analyzer_(run.options),
        progress_at_(run.progress_step) {
    analyzer_.on_event(run.on_event);
    if (run.jobs > 1)
      std::generate_n(std::back_inserter(free_), kBlocks * run.jobs,
                      [&run] { return std::make_unique<Block>(run.block_frames); });
  }

  // By one thread, frame by frame: what a pipe has delivered is accounted at once.
  void frames();
  // By several threads at once: blocks are read one after the other, parsed and their iCRCs checked
  // at the same time, and accounted one after the other.
  void blocks();
  // Call after the last of these.
  void finish();

  Analyzer &analyzer() { return analyzer_; }
  bool truncated() const { return end_ == Next::Truncated || !lost_.empty(); }
  std::vector<Error> troubles() const;
  CaptureNotes notes() const { return set_.notes(); }

private:
  bool goes_on();
  bool on_frame(const CapturedFrame &frame, const roce_key *stream);
  bool read(Block &block);
  std::unique_ptr<Block> free_block();
  void account(std::unique_ptr<Block> parsed);
  void drop(std::vector<LeftBytes> &left);

  CaptureSet set_;
  const AnalyzeRun &run_;
  Analyzer analyzer_;
  uint64_t progress_at_;
  Next end_ = Next::Frame;
  std::optional<Error> failed_; // by on_frame
  std::atomic<bool> ended_ = false;

  std::mutex reading_; // protects `set_` and what read() changes
  uint64_t read_ = 0;  // blocks

  std::mutex accounting_; // protects:
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Block>> free_;
  std::map<uint64_t, std::unique_ptr<Block>> parsed_; // by number
  uint64_t accounted_ = 0;                            // blocks
  bool busy_ = false;                                 // a thread is accounting

  std::mutex dropping_;
  std::vector<Error> lost_; // files that became shorter
};

// Whether to read further; reports the progress.
bool Work::goes_on() {
  if (run_.stop && run_.stop->load(std::memory_order_relaxed))
    return false;
  if (run_.on_progress && set_.progress().bytes >= progress_at_) {
    run_.on_progress(set_.progress());
    progress_at_ = set_.progress().bytes + run_.progress_step;
  }
  return true;
}

bool Work::on_frame(const CapturedFrame &frame, const roce_key *stream) {
  if (!run_.on_frame)
    return true;
  if (Status done = run_.on_frame(frame, stream); !done)
    failed_ = done.error();
  return !failed_;
}

void Work::frames() {
  CapturedFrame frame;
  for (uint32_t n = 1; (end_ = set_.next(frame)) == Next::Frame; n++)
    if (!on_frame(frame, analyzer_.frame(frame)) || (!(n & kLookMask) && !goes_on()))
      break;
}

// A block is read in less time than a thread takes to fall asleep and to wake up again.
std::unique_lock<std::mutex> lock_soon(std::mutex &mutex) {
  constexpr int kTries = 4'000; // some 50 us
  for (int i = 0; i < kTries; i++)
    if (mutex.try_lock())
      return {mutex, std::adopt_lock};
  return std::unique_lock(mutex);
}

// False: there are no more frames.
bool Work::read(Block &block) {
  const auto lock = lock_soon(reading_);
  size_t bytes = 0;
  block.size = 0;
  if (end_ != Next::Frame || ended_ || !goes_on())
    return false;
  while (block.size < block.frames.size() && bytes < kBlockBytes) {
    CapturedFrame &frame = block.frames[block.size];
    end_ = set_.next(frame);
    if (end_ != Next::Frame)
      break;
    bytes += frame.captured;
    block.size++;
  }
  block.number = read_++;
  block.left = set_.leave();
  block.ahead = set_.ahead(run_.jobs * kBlockBytes);
  return true;
}

// Has the kernel map the pages; it maps 64 KiB around each that is read.
void touch(const std::vector<Ahead> &ahead) {
  constexpr size_t kAround = 64 << 10;
  for (const Ahead &bytes : ahead)
    for (size_t at = 0; at < bytes.size(); at += kAround)
      static_cast<void>(*static_cast<const volatile uint8_t *>(&bytes[at]));
}

void prefetch(const CapturedFrame &frame) {
  constexpr size_t kLine = 64, kMost = 4096;
  for (size_t at = 0; at < frame.captured && at < kMost; at += kLine)
    __builtin_prefetch(frame.data + at);
}

// Accounts the blocks whose turn has come, unless another thread does. That thread then accounts
// this one too, so that none waits for another one's parsing.
void Work::account(std::unique_ptr<Block> parsed) {
  std::unique_lock lock(accounting_);
  parsed_.emplace(parsed->number, std::move(parsed));
  if (std::exchange(busy_, true))
    return;
  for (auto next = parsed_.find(accounted_); next != parsed_.end();
       next = parsed_.find(++accounted_)) {
    std::unique_ptr<Block> block = std::move(next->second);
    parsed_.erase(next);
    lock.unlock();
    for (size_t i = 0; i < block->size && !ended_; i++)
      if (!on_frame(block->frames[i], analyzer_.account(block->frames[i], block->parsed[i])))
        ended_ = true;
    lock.lock();
    free_.push_back(std::move(block));
    freed_.notify_one();
  }
  busy_ = false;
}

std::unique_ptr<Block> Work::free_block() {
  std::unique_lock lock(accounting_);
  freed_.wait(lock, [this] { return !free_.empty(); });
  std::unique_ptr<Block> block = std::move(free_.back());
  free_.pop_back();
  return block;
}

void Work::drop(std::vector<LeftBytes> &left) {
  for (const LeftBytes &bytes : left)
    if (Status whole = bytes.check(); !whole) {
      const std::lock_guard lock(dropping_);
      lost_.push_back(whole.error());
    }
  left.clear();
}

void Work::blocks() {
  for (;;) {
    std::unique_ptr<Block> block = free_block();
    drop(block->left);
    if (!read(*block))
      return;
    touch(block->ahead);
    for (size_t i = 0; i < block->size; i++) {
      prefetch(block->frames[std::min(i + kPrefetch, block->size - 1)]);
      analyzer_.parse(block->frames[i], block->parsed[i]);
    }
    account(std::move(block));
  }
}

void Work::finish() {
  for (const std::unique_ptr<Block> &block : free_)
    drop(block->left);
}

std::vector<Error> Work::troubles() const {
  std::vector<Error> all = set_.errors();
  for (const Error &error : lost_)
    if (std::ranges::find(all, error.message, &Error::message) == all.end())
      all.push_back(error);
  if (failed_)
    all.push_back(*failed_);
  return all;
}

// Rows of pairs in the order in which their requests began.
template <typename Row> void sort_pairs(std::vector<Row> &rows, const Snapshot &snapshot) {
  if (rows.empty())
    return;
  std::map<std::string_view, size_t> places;
  const auto bytes = [](const roce_key &key) {
    return std::string_view(reinterpret_cast<const char *>(&key), sizeof(key));
  };
  for (size_t i = 0; i < snapshot.streams.size(); i++)
    places.emplace(bytes(snapshot.streams[i].key), i);
  std::ranges::stable_sort(rows, {}, [&](const Row &row) {
    const auto place = places.find(bytes(row.name.key));
    return place == places.end() ? places.size() : place->second;
  });
}

// Returns the processor time of each thread.
std::vector<uint64_t> work_together(Work &work, unsigned jobs) {
  std::vector<uint64_t> taken(jobs);
  const auto job = [&](unsigned i) {
    const uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    jobs == 1 ? work.frames() : work.blocks();
    taken[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < jobs; i++)
    others.emplace_back(job, i);
  job(0);
  for (std::thread &other : others)
    other.join();
  work.finish();
  return taken;
}

} // namespace

Result<Analysis> analyze(std::vector<std::string> paths, const AnalyzeRun &run) {
  auto set = XR_TRY(CaptureSet::open(paths, run.stop, run.jobs > 1, run.read));
  AnalyzeRun with = run;
  if (run.copies == Copies::LeaveOut)
    with.options.copies_ns = MirroredCopies::kLongest;
  else if (run.copies == Copies::Auto)
    with.options.copies_ns =
        find_copies(paths, {.udp_port = run.options.udp_port, .decap = run.options.decap}, run.read)
            .value_or(0);
  Work work(std::move(set), with);
  Analysis analysis;
  analysis.processor_ns = work_together(work, run.jobs);

  Analyzer &analyzer = work.analyzer();
  analyzer.snapshot(analysis.snapshot);
  if (run.options.episodes)
    analyzer.episodes(analysis.episodes);
  sort_pairs(analysis.episodes.pairs, analysis.snapshot);
  analyzer.passive_latency(analysis.passive);
  sort_pairs(analysis.passive.streams, analysis.snapshot);
  analysis.microbursts = analyzer.microbursts();
  analysis.frame_times = analyzer.frame_times();
  if (run.options.connections)
    analysis.connections = analyzer.connections();
  analysis.first_ns = analyzer.first_ns();
  if (run.options.job)
    analysis.job = analyzer.job();
  if (run.options.series)
    analysis.series = analyzer.series();
  analysis.latency = analyzer.latency();
  analysis.snapshot.name = paths.size() == 1 ? paths[0] : fmt::format("{} captures", paths.size());
  if (paths.size() > 1)
    analysis.snapshot.files = analysis.episodes.files = paths;
  analysis.snapshot.notes = work.notes();
  analysis.snapshot.notes.copies = analyzer.copies();
  analysis.snapshot.notes.windows = analyzer.windows();
  analysis.snapshot.truncated = work.truncated();
  analysis.files = std::move(paths);
  analysis.troubles = work.troubles();
  if (analysis.troubles.empty())
    analysis.stopped = run.stop && run.stop->load();
  return analysis;
}

} // namespace xr
