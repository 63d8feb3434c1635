// SPDX-License-Identifier: Apache-2.0
// The rate of a wire's link: asked, and what a program at the far end counted over some seconds.
// More is offered than the link carries, so that its queue is never empty; `idle` is the part of
// the time in which it was, for lack of processor time. First what a minimal forwarder moves, of
// which the rates are parts. The count is read between two moments at which nothing was late.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "parse/value.h"
#include "side_by_side.h"
#include "turning.h"

namespace {

using namespace xr;
using bench::arrived;
using bench::fail;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kWarm = 1000 * kMs, kMeasured = 4000 * kMs, kSample = 2 * kMs;
constexpr uint64_t kLeast = 125'000; // bit/s that a link can have
constexpr double kWithin = 0.005, kMostIdle = 0.001;

// Sends `rate` frames a second, in batches, for `ns`; 0: as many as it can. What is late is sent at
// once. `each` is called every kSample.
void offer(bench::Sender &sender, double rate, uint64_t ns,
           const std::function<void(uint64_t)> &each) {
  const uint64_t begin = monotonic_ns();
  uint64_t sampled = 0, batches = 0;
  for (uint64_t now = begin; now - begin < ns; now = monotonic_ns()) {
    const double due = static_cast<double>(now - begin) / 1e9 * rate / bench::PacketSocket::kBatch;
    if (rate <= 0 || static_cast<double>(batches) < due) {
      sender.send();
      batches++;
    } else if (static_cast<double>(batches) > due + 0.5) { // a sleeper gets its processor sooner
      usleep(50);
    }
    if (now - sampled >= kSample) {
      sampled = now;
      each(now);
    }
  }
}

struct Sample {
  double s, frames;
};

// The slope between two moments, of the first and of the last fifth, at which the count is closest
// to `rate`.
double rate_of(const std::vector<Sample> &samples, double rate) {
  const auto ahead = [rate](const Sample &a, const Sample &b) {
    return a.frames - rate * a.s < b.frames - rate * b.s;
  };
  const auto fifth = static_cast<ptrdiff_t>(samples.size() / 5);
  const Sample from = *std::max_element(samples.begin(), samples.begin() + fifth, ahead);
  const Sample to = *std::max_element(samples.end() - fifth, samples.end(), ahead);
  return (to.frames - from.frames) / (to.s - from.s);
}

std::vector<Sample> measure(bench::Sender &sender, const yardsticks *yard, double offered) {
  std::vector<Sample> samples;
  const uint64_t begin = monotonic_ns(), before = arrived(yard);
  offer(sender, offered, kWarm + kMeasured, [&](uint64_t) {
    const uint64_t now = monotonic_ns();
    if (now - begin >= kWarm)
      samples.push_back(
          {static_cast<double>(now - begin) / 1e9, static_cast<double>(arrived(yard) - before)});
  });
  return samples;
}

void pin_to_all() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
    CPU_SET(static_cast<size_t>(cpu), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

LinkCounts link_of(const endpoint::WireRun &run) { return run.report().ports[1].counts->link; }

void ask(endpoint::WireRun &run, bench::Sender &sender, const yardsticks *yard, uint32_t bytes,
         double percent, double most) {
  const auto bits = std::max<uint64_t>(
      static_cast<uint64_t>(most * percent / 100 * bytes * 8 / 1000) * 1000, kLeast);
  const double asked = static_cast<double>(bits) / 8 / bytes;
  const uint64_t buffer = std::max<uint64_t>(bits / 8, 300'000); // 1 s
  bench::set_link("d0", fmt::format("rate {} buffer {}", parse::rate_text(bits), buffer));
  offer(sender, asked * 2, kWarm, [](uint64_t) {}); // the queue fills
  const LinkCounts before = link_of(run);
  const std::vector<Sample> samples = measure(sender, yard, asked * (percent < 50 ? 2 : 1.15));
  const LinkCounts after = link_of(run);
  bench::set_link("d0", "");
  usleep(300'000);
  const double got = rate_of(samples, asked), off = got / asked - 1;
  const auto time = static_cast<double>(after.updated - before.updated);
  const double idle = time > 0 ? 1 - static_cast<double>(after.busy_ns - before.busy_ns) / time : 1;
  const bool within = std::fabs(off) <= kWithin;
  std::printf(
      "  %3.0f %%: %9.0f frames/s asked, %9.0f got; %8.1f Mbit/s asked, %8.1f got: %+.3f %%, "
      "idle %.2f %%  (must be within 0.5 %%)%s\n",
      percent, asked, got, asked * bytes * 8 / 1e6, got * bytes * 8 / 1e6, 100 * off,
      100 * std::max(idle, 0.0),
      within             ? ""
      : idle > kMostIdle ? "  not clear"
                         : "  MISSED");
}

} // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  libbpf_set_print(nullptr);
  bench::pin_to(0);
  bench::SideBySide sides([](const yardsticks *yard) { return yard->progs.arrive; },
                          uint64_t{2} << 30);
  std::atomic<bool> stop = false;
  Status status;
  std::thread process([&] { // a thread a direction, on any processor
    pin_to_all();
    status = sides.run.run(stop, {}, [](const WireReport &) { return true; });
  });
  for (const uint32_t bytes : {64U, 1024U}) {
    double most = 0;
    {
      bench::Sender sender("a0", bytes, 1);
      const bench::Turning turning([&] { sides.forwarder.turn(); });
      const auto samples = measure(sender, sides.forwarded(), 0);
      most =
          (samples.back().frames - samples.front().frames) / (samples.back().s - samples.front().s);
    }
    std::printf("frames of %u bytes: the forwarder moves %.0f a second\n", bytes, most);
    bench::Sender sender("c0", bytes, 1);
    for (const double percent : {1.0, 10.0, 80.0})
      ask(sides.run, sender, sides.wired(), bytes, percent, most);
  }
  stop = true;
  process.join();
  if (!status)
    fail(status.error().message);
  return 0;
}
