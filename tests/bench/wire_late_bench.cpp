// SPDX-License-Identifier: Apache-2.0
// How much later than asked `wire` lets frames go: from the moment before a frame is sent until a
// program at the far end has it, less the delay; less the same time through a minimal forwarder,
// which holds nothing. 100,000 frames a second, in pieces of 20 ms, of which each has its
// quantiles: where the machine takes a processor away for milliseconds, most pieces do not show it.
// Two processors are busy: the sender's, and that of what forwards. What interrupts both at once
// (timer ticks are aligned) delays the frames that a wire lets go meanwhile, while the forwarder
// has none under way: frames that are due while the sender is interrupted are left out, on both
// sides.
#include <algorithm>
#include <cstdio>
#include <functional>

#include <sys/mman.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "side_by_side.h"
#include "spread.h"
#include "turning.h"

namespace {

using namespace xr;
using bench::fail;

constexpr uint64_t kUs = 1'000, kMs = 1'000'000;
constexpr uint64_t kGap = 10 * kUs; // 100,000 a second
constexpr uint32_t kFrames = 2'000, kArrivals = 131'072;
constexpr int kRounds = 61;
constexpr size_t kEnough = kFrames / 2;     // frames for quantiles
constexpr uint64_t kInterrupted = 12 * kUs; // of the sender's loop, which takes 5 us

struct Pause {
  uint64_t from, to; // ns
  // Until the frames that waited have gone too.
  bool covers(uint64_t time) const { return time >= from && time <= to + 2 * (to - from); }
};

class Arrivals {
public:
  explicit Arrivals(const yardsticks *yard) {
    void *at = mmap(nullptr, kArrivals * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                    bpf_map__fd(yard->maps.arrivals), 0);
    if (at == MAP_FAILED)
      fail("arrivals");
    times_ = static_cast<volatile uint64_t *>(at);
  }
  void clear() {
    for (uint32_t i = 0; i < kFrames; i++)
      times_[i] = 0;
  }
  uint64_t operator[](uint32_t i) const { return times_[i]; }

private:
  volatile uint64_t *times_ = nullptr;
};

class Sender {
public:
  explicit Sender(const char *port) : socket_(port, bench::frame_of(128)) {}

  // One frame every kGap: when each was sent. A late frame is not made up for. Then waits
  // `more` ns without frames. Returns when the loop was interrupted.
  std::vector<Pause> send(std::vector<uint64_t> &sent, uint64_t more) {
    std::vector<Pause> pauses;
    uint64_t last = monotonic_ns();
    const auto wait_until = [&](uint64_t time) {
      do {
        const uint64_t now = monotonic_ns();
        if (now - last > kInterrupted)
          pauses.push_back({last, now});
        last = now;
      } while (last < time);
    };
    uint64_t next = last;
    for (uint32_t i = 0; i < kFrames; i++, next += kGap) {
      wait_until(next);
      next = std::max(next, last - kGap);
      std::memcpy(&socket_.frames()[0][54], &i, sizeof(i));
      sent[i] = monotonic_ns();
      socket_.send_first();
    }
    wait_until(last + more);
    return pauses;
  }

private:
  bench::PacketSocket socket_;
};

struct Times {
  std::vector<double> late; // us, of each frame
  uint32_t lost = 0, left_out = 0;
};

class Path {
public:
  Path(const char *from, const yardsticks *yard, std::function<void()> turn)
      : sender_(from), arrivals_(yard), turn_(std::move(turn)) {}

  Times run(uint64_t delay) {
    arrivals_.clear();
    std::vector<uint64_t> sent(kFrames);
    const bench::Turning turning(turn_);
    usleep(2'000); // the thread runs
    const std::vector<Pause> pauses = sender_.send(sent, delay + kMs);
    usleep(20'000); // what is late
    Times times;
    for (uint32_t i = 0; i < kFrames; i++) {
      const uint64_t due = sent[i] + delay, came = arrivals_[i];
      if (came && std::ranges::any_of(pauses, [due](const Pause &p) { return p.covers(due); }))
        times.left_out++;
      else if (came)
        times.late.push_back((static_cast<double>(came) - static_cast<double>(due)) / 1000);
      else
        times.lost++;
    }
    return times;
  }

private:
  Sender sender_;
  Arrivals arrivals_;
  std::function<void()> turn_;
};

double quantile(std::vector<double> values, double part) {
  const auto at = static_cast<size_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

struct Row {
  const char *name;
  double part;
  bench::Target target;
};
const Row kRows[] = {
    {"p50", 0.5, bench::at_most(2)}, {"p99", 0.99, bench::at_most(20)}, {"p99.9", 0.999, {}}};

void compare(Path &forwarder, Path &wire, const char *words, uint64_t delay) {
  bench::set_rule("c1", std::string("delay ") + words);
  std::vector<Times> own, held;
  size_t lost = 0, left_out = 0;
  for (int round = -1; round < kRounds; round++) { // the first one warms up
    Times a = forwarder.run(0), b = wire.run(delay);
    if (round < 0)
      continue;
    lost += a.lost + b.lost;
    left_out += a.left_out + b.left_out;
    own.push_back(std::move(a));
    held.push_back(std::move(b));
  }
  std::printf("delay %s (median of %d pieces, and quartiles), %zu frames lost, %.1f %% left out\n",
              words, kRounds, lost,
              100.0 * static_cast<double>(left_out) / (2.0 * kRounds * kFrames));
  for (const Row &row : kRows) {
    std::vector<double> bare, more;
    for (size_t i = 0; i < held.size(); i++) {
      if (std::min(own[i].late.size(), held[i].late.size()) < kEnough)
        continue;
      bare.push_back(quantile(own[i].late, row.part));
      more.push_back(quantile(held[i].late, row.part) - bare.back());
    }
    if (bare.empty()) {
      std::printf("  %s: not clear: the machine is too busy\n", row.name);
      continue;
    }
    const std::string name = fmt::format("{}: the forwarder's own", row.name);
    bench::print(name.c_str(), bench::spread(bare), {}, " us");
    bench::print("  wire, less the delay, less that", bench::spread(more), row.target, " us");
  }
}

} // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  libbpf_set_print(nullptr);
  bench::pin_to(0);
  bench::SideBySide sides([](const yardsticks *yard) { return yard->progs.arrive_at; }, 256 << 20);
  Path bare("a0", sides.forwarded(), [&] { sides.forwarder.turn(); });
  Path wire("c0", sides.wired(), [&] { bench::turn(sides.run); });
  const std::pair<const char *, uint64_t> delays[] = {{"50us", 50 * kUs},
                                                      {"100us", 100 * kUs},
                                                      {"1ms", kMs},
                                                      {"10ms", 10 * kMs},
                                                      {"100ms", 100 * kMs}};
  for (const auto &[words, ns] : delays)
    compare(bare, wire, words, ns);
  return 0;
}
