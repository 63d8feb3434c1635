// SPDX-License-Identifier: Apache-2.0
#include "endpoint/worker_threads.h"

#include <algorithm>
#include <thread>

namespace xr::endpoint {

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);

void merge(EngineCounts &all, const EngineCounts &one) {
  all.sent += one.sent;
  all.sent_bytes += one.sent_bytes;
  all.received += one.received;
  all.received_bytes += one.received_bytes;
  all.not_sent += one.not_sent;
  all.too_long += one.too_long;
  all.begun_ns = all.begun_ns ? std::min(all.begun_ns, one.begun_ns) : one.begun_ns;
  all.now_ns = std::max(all.now_ns, one.now_ns);
  all.last_late_ns = std::max(all.last_late_ns, one.last_late_ns);
  all.late_ns.merge(one.late_ns);
  all.jitter_ns.merge(one.jitter_ns);
  all.socket.rx_dropped += one.socket.rx_dropped;
  all.socket.rx_ring_full += one.socket.rx_ring_full;
  all.socket.rx_no_chunk += one.socket.rx_no_chunk;
  all.socket.tx_invalid += one.socket.tx_invalid;
  all.socket.tx_dropped += one.socket.tx_dropped;
  all.socket.link_down += one.socket.link_down;
  all.socket.fill_ring_empty += one.socket.fill_ring_empty;
}

} // namespace

Status WorkerThreads::run(const std::atomic<bool> &stop, const std::vector<Periodic> &calls) {
  std::atomic<bool> enough{false};
  std::atomic<size_t> left{workers_.size()};
  std::vector<Status> results(workers_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers_.size(); i++)
    threads.emplace_back([&, i] {
      results[i] = workers_[i]->run(enough);
      if (!results[i])
        enough = true;
      left--;
    });
  std::vector<std::chrono::steady_clock::time_point> next;
  next.reserve(calls.size());
  for (const Periodic &one : calls)
    next.push_back(std::chrono::steady_clock::now() + one.interval);
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
      std::find_if(results.begin(), results.end(), [](const Status &one) { return !one; });
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
