// SPDX-License-Identifier: Apache-2.0
#include "endpoint/live_engine.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include <sys/prctl.h>

#include "base/clock.h"
#include "host/netns.h"

namespace xr::endpoint {

namespace {

constexpr uint32_t kMostBatch = 256;  // of the kernel
constexpr uint32_t kBatch = 64;       // at full speed; more do not fit the ring of a veth at once
constexpr uint32_t kPacedBatch = 16;  // the driver gets frames in sixteens
constexpr double kFirstRunNs = 5e3;   // until it is measured: a receiver may be slow
constexpr double kIdleRunNs = 20;     // of a run that has nothing to send
constexpr double kCallNs = 30e3;      // of a call of the kernel, which makes its pages each time
constexpr double kSpanNs = 20e6;      // of a call's runs: `stop` is noticed after it
constexpr double kSlowSpanNs = 300e6; // where a call waits for RCU, some 25 ms
constexpr double kLeastSpanNs = 20e3;
constexpr double kMostRuns = 1e8;
constexpr double kApartPps =
    10e3; // packets that are this far apart have a call each, and sleep between
constexpr uint64_t kAhead = 30'000;       // ns: to wake up and to enter the kernel
constexpr uint64_t kLiveNap = 20'000'000; // ns: longest sleep, so that `stop` is noticed

// Runs of the program that have nothing to send take some 20 ns. All frames of a batch are sent at
// its end: with a rate it is shorter than the time between two packets, as far as that can be.
uint32_t batch_for(double pps) {
  if (!(pps > 0))
    return kBatch;
  return std::clamp(static_cast<uint32_t>(pps * 10e-6), kPacedBatch, kMostBatch / 2);
}

void fill(Histogram &histogram, const __u64 (&buckets)[ROCE_LIVE_BUCKETS]) {
  for (uint32_t i = 0; i < ROCE_LIVE_BUCKETS; i++)
    if (const uint64_t times = __atomic_load_n(&buckets[i], __ATOMIC_RELAXED))
      histogram.add(roce_live_value(i), times);
}

uint64_t read_shared(const __u64 &shared) { return __atomic_load_n(&shared, __ATOMIC_RELAXED); }

} // namespace

LiveEngine::LiveEngine(requester::LiveFlow flow, datapath::LiveProgram program, std::string netns)
    : flow_(std::move(flow)), program_(std::move(program)), netns_(std::move(netns)),
      batch_(batch_for(flow_.asked_pps())),
      apart_(flow_.plan().paced && flow_.asked_pps() <= kApartPps),
      run_ns_(apart_ ? kIdleRunNs : kFirstRunNs) {}

Result<std::unique_ptr<LiveEngine>> LiveEngine::open(requester::LiveFlow flow, unsigned ifindex,
                                                     const std::string &netns) {
  const auto inside = XR_TRY(host::enter_netns(netns));
  auto program =
      XR_TRY(datapath::LiveProgram::load(flow.plan(), flow.qps(), flow.frame(), ifindex));
  return std::unique_ptr<LiveEngine>(new LiveEngine(std::move(flow), std::move(program), netns));
}

bool LiveEngine::over(uint64_t now) const {
  const roce_live_state &state = program_.state();
  return state.sent >= state.limit || (flow_.plan().paced ? state.due >= end_ : now >= end_);
}

void LiveEngine::await(uint64_t time, const std::atomic<bool> &stop) const {
  for (uint64_t now = monotonic_ns(); !stop && now + kAhead < time; now = monotonic_ns())
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(time - now - kAhead, kLiveNap)));
}

// Runs of the program in the next call. Not more than are left to do: a run that has nothing to
// send takes its time too.
uint32_t LiveEngine::times(uint64_t now) const {
  const roce_live_state &state = program_.state();
  const double pps = flow_.asked_pps(), packets = static_cast<double>(state.limit - state.sent);
  const double time = end_ > now ? static_cast<double>(end_ - now) : 0;
  double most = kMostRuns, span = program_.quick() ? kSpanNs : kSlowSpanNs;
  if (apart_) { // until the packet that is due next; a single run waits for RCU on no kernel
    if (!program_.quick())
      return 1;
    return batch_ + static_cast<uint32_t>(
                        state.due > now ? static_cast<double>(state.due - now) / run_ns_ : 0);
  }
  if (pps > 0) {
    span = std::min(span, packets / pps * 1e9);
    span = std::max(kLeastSpanNs, std::min(span, time));
  } else { // every run makes a packet
    span = std::min(span, time);
    most = std::min(most, packets);
  }
  return static_cast<uint32_t>(std::clamp(span / run_ns_, 1.0, most));
}

Status LiveEngine::run(const std::atomic<bool> &stop) {
  const auto inside = XR_TRY(host::enter_netns(netns_));
  prctl(PR_SET_TIMERSLACK, 1UL); // of this thread: it wakes up when it asked for
  roce_live_state &state = program_.state();
  const flow::Flow &flow = flow_.flow();
  const uint64_t start = monotonic_ns() + flow.pacing.start_ns;
  begun_ns_ = monotonic_ns();
  await(start, stop);
  const uint64_t begin = std::max(start, monotonic_ns());
  end_ = flow.duration_ns ? begin + flow.duration_ns : UINT64_MAX;
  state.due = begin;
  state.end = end_;
  state.limit = flow_.packets_to_come() ? flow_.packets_to_come() : UINT64_MAX;
  Status status;
  for (uint64_t now = monotonic_ns(); status && !stop && !over(now);) {
    if (flow_.plan().paced)
      await(state.due, stop);
    now = monotonic_ns();
    if (over(now))
      break;
    const uint32_t count = times(now);
    status = program_.run(count, batch_);
    const uint64_t after = monotonic_ns();
    if (const auto took = static_cast<double>(after - now); !apart_ && took > 4 * kCallNs)
      run_ns_ = std::max(1.0, took / count);
    now = after;
  }
  done_ = over(monotonic_ns());
  ended_ns_ = monotonic_ns();
  return status;
}

SendCounts LiveEngine::counts() const {
  SendCounts counts = flow_.counts(read_shared(program_.state().sent));
  counts.slipped_ns = read_shared(program_.state().slipped);
  return counts;
}

void LiveEngine::read_counts(const std::function<void(const EngineCounts &)> &use) {
  const roce_live_state &state = program_.state();
  EngineCounts counts;
  const SendCounts sent = this->counts();
  counts.sent = sent.packets;
  counts.sent_bytes = sent.bytes;
  counts.begun_ns = begun_ns_;
  counts.now_ns = ended_ns_ ? ended_ns_.load() : begun_ns_ ? monotonic_ns() : 0;
  counts.last_late_ns = read_shared(state.last_late);
  fill(counts.late_ns, state.late);
  fill(counts.jitter_ns, state.jitter);
  use(counts);
}

} // namespace xr::endpoint
