// SPDX-License-Identifier: Apache-2.0
#include "endpoint/worker_threads.h"

#include <algorithm>
#include <thread>

namespace xr::endpoint {

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);

void merge(EngineCounts &all, const EngineCounts &engine_counts) {
  all.sent += engine_counts.sent;
  all.sent_bytes += engine_counts.sent_bytes;
  all.received += engine_counts.received;
  all.received_bytes += engine_counts.received_bytes;
  all.not_sent += engine_counts.not_sent;
  all.too_long += engine_counts.too_long;
  all.begun_ns =
      all.begun_ns ? std::min(all.begun_ns, engine_counts.begun_ns) : engine_counts.begun_ns;
  all.now_ns = std::max(all.now_ns, engine_counts.now_ns);
  all.last_late_ns = std::max(all.last_late_ns, engine_counts.last_late_ns);
  all.late_ns.merge(engine_counts.late_ns);
  all.jitter_ns.merge(engine_counts.jitter_ns);
  all.socket.rx_dropped += engine_counts.socket.rx_dropped;
  all.socket.rx_ring_full += engine_counts.socket.rx_ring_full;
  all.socket.rx_no_chunk += engine_counts.socket.rx_no_chunk;
  all.socket.tx_invalid += engine_counts.socket.tx_invalid;
  all.socket.tx_dropped += engine_counts.socket.tx_dropped;
  all.socket.link_down += engine_counts.socket.link_down;
  all.socket.fill_ring_empty += engine_counts.socket.fill_ring_empty;
}

} // namespace

Status WorkerThreads::run(const std::atomic<bool> &stop, const std::vector<Periodic> &calls) {
  std::atomic<bool> enough{false};
  std::atomic<size_t> left{workers_.size()};
  std::vector<Status> results(workers_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers_.size(); i++)
    threads.emplace_back([&, i] {
      if (const auto processor = places_[i].processor)
        results[i] = stay_on(*processor);
      if (results[i])
        results[i] = workers_[i]->run(enough);
      if (!results[i])
        enough = true;
      left--;
    });
  std::vector<std::chrono::steady_clock::time_point> next;
  next.reserve(calls.size());
  for (const Periodic &periodic : calls)
    next.push_back(std::chrono::steady_clock::now() + periodic.interval);
  while (left) {
    std::this_thread::sleep_for(kPollInterval);
    if (stop)
      enough = true;
    for (size_t i = 0; i < calls.size(); i++) {
      if (!calls[i].interval.count() || !left || std::chrono::steady_clock::now() < next[i])
        continue;
      next[i] += calls[i].interval;
      if (!calls[i].call())
        enough = true;
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  const auto failed =
      std::find_if(results.begin(), results.end(), [](const Status &status) { return !status; });
  return failed == results.end() ? Status{} : *failed;
}

EngineCounts
WorkerThreads::read_counts(const std::function<void(size_t, const EngineCounts &)> &use) {
  EngineCounts all;
  for (size_t i = 0; i < workers_.size(); i++)
    workers_[i]->read_counts([&](const EngineCounts &counts) {
      merge(all, counts);
      use(i, counts);
    });
  return all;
}

} // namespace xr::endpoint
