// SPDX-License-Identifier: Apache-2.0
// How much later than asked `wire` lets frames go: from the moment before a frame is sent until a
// program at the far end has it, less the delay; less the same time through a minimal forwarder,
// which holds nothing. 100,000 frames a second. Two processors are busy: the sender's, and that of
// what forwards. Where others use them too, frames that were due while the forwarding thread was
// not running, or whose sending was interrupted, are left out, on both sides; the figures of all
// frames are printed too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include <sys/mman.h>

#include "base/clock.h"
#include "endpoint/wire.h"
#include "forwarder.h"
#include "spread.h"
#include "turning.h"
#include "wire_traffic.h"

namespace {

using namespace xr;
using bench::fail;

constexpr uint64_t kUs = 1'000, kMs = 1'000'000;
constexpr uint64_t kGap = 10 * kUs; // 100,000 a second
constexpr uint32_t kFrames = 20'000, kArrivals = 131'072;
constexpr int kRounds = 5;
constexpr double kCalm = 0.5;          // part of the frames without which there is no verdict
constexpr uint64_t kNear = kMs;        // around a stall, frames wait for one another
constexpr uint64_t kSlowSend = 20'000; // ns: it was interrupted
constexpr size_t kEnough = 1000;       // frames for quantiles of a round

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

  // One frame every kGap: when each was sent, and whether that was at once. What is late is not
  // made up for.
  void send(std::vector<uint64_t> &sent, std::vector<bool> &at_once) {
    uint64_t next = monotonic_ns();
    for (uint32_t i = 0; i < kFrames; i++, next += kGap) {
      uint64_t now = monotonic_ns();
      while (now < next)
        now = monotonic_ns();
      next = std::max(next, now - kGap);
      std::memcpy(&socket_.frames()[0][54], &i, sizeof(i));
      sent[i] = monotonic_ns();
      socket_.send_first();
      at_once[i] = monotonic_ns() - sent[i] < kSlowSend;
    }
  }

private:
  bench::PacketSocket socket_;
};

struct Times {
  std::vector<double> all, calm; // us, of each frame
  uint32_t lost = 0;
};

class Path {
public:
  Path(const char *from, const yardsticks *yard, std::function<void()> turn)
      : sender_(from), arrivals_(yard), turn_(std::move(turn)) {}

  Times run(uint64_t delay) {
    arrivals_.clear();
    std::vector<uint64_t> sent(kFrames);
    std::vector<bool> at_once(kFrames);
    bench::Turning turning(turn_);
    sender_.send(sent, at_once);
    const uint64_t until = monotonic_ns() + delay + 50 * kMs;
    while (monotonic_ns() < until)
      usleep(1000);
    const auto &stalls = turning.end();
    Times times;
    size_t stall = 0;
    for (uint32_t i = 0; i < kFrames; i++) {
      const uint64_t due = sent[i] + delay, came = arrivals_[i];
      if (!came) {
        times.lost++;
        continue;
      }
      const double late = (static_cast<double>(came) - static_cast<double>(due)) / 1000;
      times.all.push_back(late);
      while (stall < stalls.size() && settled(stalls[stall]) < due)
        stall++;
      if (at_once[i] && (stall == stalls.size() || stalls[stall].from > due + kNear))
        times.calm.push_back(late);
    }
    return times;
  }

private:
  // When what came during a stall has gone too.
  static uint64_t settled(const bench::Stall &stall) {
    return stall.to + 2 * (stall.to - stall.from) + kNear;
  }

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

void print_rows(const char *what, const std::vector<Times> &forwarder,
                const std::vector<Times> &wire, std::vector<double> Times::*frames, bool targets) {
  for (const Row &row : kRows) {
    std::vector<double> own, more;
    for (size_t i = 0; i < wire.size(); i++) {
      if ((forwarder[i].*frames).size() < kEnough || (wire[i].*frames).size() < kEnough)
        continue;
      own.push_back(quantile(forwarder[i].*frames, row.part));
      more.push_back(quantile(wire[i].*frames, row.part) - own.back());
    }
    if (own.empty()) {
      std::printf("  %s %s: no round with enough of them\n", what, row.name);
      continue;
    }
    const std::string name = fmt::format("{} {}: the forwarder's own", what, row.name);
    bench::print(name.c_str(), bench::spread(own), {}, " us");
    bench::print("  wire, less the delay, less that", bench::spread(more),
                 targets ? row.target : bench::Target(), " us");
  }
}

void compare(Path &forwarder, Path &wire, const char *words, uint64_t delay) {
  bench::set_rule("c1", std::string("delay ") + words);
  std::vector<Times> own, held;
  size_t calm = 0, all = 0, lost = 0;
  for (int round = -1; round < kRounds; round++) { // the first one warms up
    Times a = forwarder.run(0), b = wire.run(delay);
    if (round < 0)
      continue;
    calm += a.calm.size() + b.calm.size();
    all += a.all.size() + b.all.size();
    lost += a.lost + b.lost;
    own.push_back(std::move(a));
    held.push_back(std::move(b));
  }
  const double part = static_cast<double>(calm) / static_cast<double>(std::max<size_t>(all, 1));
  std::printf("delay %s (median of %d rounds, and quartiles): %.0f %% of frames while both threads "
              "ran, %zu lost%s\n",
              words, kRounds, 100 * part, lost,
              part < kCalm ? "  not clear: the machine is too busy" : "");
  print_rows("while it ran,", own, held, &Times::calm, part >= kCalm);
  print_rows("all frames,", own, held, &Times::all, false);
}

} // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  libbpf_set_print(nullptr);
  bench::pin_to(0);
  bench::Wires wires({"a", "b", "c", "d"});
  yardsticks *yards[2];
  for (yardsticks *&yard : yards)
    if (!(yard = yardsticks__open_and_load()))
      fail("open");
  bench::put_on("a1", yards[0]->progs.to_socket);
  bench::put_on("b1", yards[0]->progs.arrive_at);
  bench::put_on("d1", yards[1]->progs.arrive_at);
  bench::Forwarder forwarder(yards[0], "a1", "b0");
  endpoint::WireRequest request;
  request.first = "c1";
  request.second = "d0";
  request.copy = true;
  request.memory = 256 << 20;
  auto run = endpoint::WireRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  Path bare("a0", yards[0], [&] { forwarder.turn(); });
  Path wire("c0", yards[1], [&] {
    if (auto done = run->turn(); !done)
      fail(done.error().message);
  });
  const std::pair<const char *, uint64_t> delays[] = {{"50us", 50 * kUs},
                                                      {"100us", 100 * kUs},
                                                      {"1ms", kMs},
                                                      {"10ms", 10 * kMs},
                                                      {"100ms", 100 * kMs}};
  for (const auto &[words, ns] : delays)
    compare(bare, wire, words, ns);
  if (auto done = run->close(); !done)
    fail(done.error().message);
  for (yardsticks *yard : yards)
    yardsticks__destroy(yard);
  return 0;
}
