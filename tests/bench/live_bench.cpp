// SPDX-License-Identifier: Apache-2.0
// Frames a second that `send --engine live` puts on a virtual wire, beside the fastest minimal
// program of live frames, which redirects one constant frame and does nothing else, and beside
// `send` over AF_XDP in copy mode. All on one CPU, native XDP at the other end.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/kept_program.h"
#include "endpoint/live_engine.h"
#include "endpoint/send.h"
#include "senders.h"
#include "spread.h"

namespace {

using namespace xr;
using bench::fail;
using bench::flow_of;
using bench::measure;
using bench::Rates;

constexpr int kRounds = 31;

// One constant frame, in calls of 50 ms that wait for nothing (datapath/kept_program.h).
class Minimal {
public:
  Minimal(const yardsticks *yard, std::span<const uint8_t> frame, uint32_t batch)
      : program_(bpf_program__fd(yard->progs.redirect)), frame_(frame.begin(), frame.end()),
        batch_(batch) {
    auto kept = datapath::KeptProgram::keep(program_);
    if (!kept)
      fail(kept.error().message);
    kept_ = std::move(*kept);
  }

  void run(uint64_t until) {
    for (uint64_t now = monotonic_ns(); now < until;) {
      const auto times = static_cast<uint32_t>(std::clamp(
          static_cast<double>(std::min<uint64_t>(until - now, 50'000'000)) / ns_, 1.0, 1e8));
      LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame_.data(),
                  .data_size_in = static_cast<__u32>(frame_.size()),
                  .repeat = static_cast<int>(times), .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
                  .batch_size = batch_);
      if (bpf_prog_test_run_opts(program_, &options))
        fail("live frames");
      const uint64_t after = monotonic_ns();
      if (times > 1000)
        ns_ = static_cast<double>(after - now) / times;
      now = after;
    }
  }

private:
  int program_;
  std::vector<uint8_t> frame_;
  uint32_t batch_;
  double ns_ = 250;
  datapath::KeptProgram kept_;
};

class Live {
public:
  explicit Live(const std::string &words) {
    auto engine = endpoint::LiveEngine::open(requester::LiveFlow(flow_of(words), 1e10),
                                             if_nametoindex("a0"), "");
    if (!engine)
      fail(engine.error().message);
    engine_ = std::move(*engine);
  }
  void run(uint64_t until) { bench::run_until(*engine_, until); }
  const endpoint::LiveEngine &engine() const { return *engine_; }

private:
  std::unique_ptr<endpoint::LiveEngine> engine_;
};

// Frames are alike for both: of this flow.
void compare(const yardsticks *yard, const char *what, const std::string &words,
             const bench::Target &target, const bench::Target *copied = nullptr) {
  const requester::LiveFlow flow(flow_of(words), 1e10);
  Rates yardstick, ours, sockets;
  for (int round = 0; round < kRounds; round++) {
    const auto measure_yardstick = [&] {
      Minimal minimal(yard, flow.frame(), 64);
      measure(yard, yardstick, [&](uint64_t until) { minimal.run(until); });
    };
    if (round % 2)
      measure_yardstick();
    {
      Live live(words);
      measure(yard, ours, [&](uint64_t until) { live.run(until); });
    }
    if (round % 2 == 0)
      measure_yardstick();
    if (copied) {
      bench::Send send(words);
      measure(yard, sockets, [&](uint64_t until) { send.run(until); });
    }
  }
  std::printf("%s (median of %d, and quartiles)\n", what, kRounds);
  bench::print("one constant frame", bench::spread(yardstick.time), {}, " M");
  bench::print("send --engine live", bench::spread(ours.time), {}, " M");
  bench::print("ratio, of the pieces of a round",
               bench::spread(bench::ratios(ours.time, yardstick.time)), target);
  bench::print("the same by processor time",
               bench::spread(bench::ratios(ours.processor, yardstick.processor)));
  if (!copied)
    return;
  bench::print("send over AF_XDP, copied", bench::spread(sockets.time), {}, " M");
  bench::print("ratio of live to it", bench::spread(bench::ratios(ours.time, sockets.time)),
               *copied);
  bench::print("the same by processor time",
               bench::spread(bench::ratios(ours.processor, sockets.processor)));
}

// Is the yardstick's batch the fastest? And does everything arrive?
void measure_batches(const yardsticks *yard) {
  const requester::LiveFlow flow(flow_of("qp 0x11 size 1M"), 1e10);
  std::printf("the constant frame by frames in a batch (median of %d, and quartiles)\n", kRounds);
  const std::vector<uint32_t> batches = {16, 32, 64, 128, 256};
  std::vector<Rates> rates(batches.size());
  for (int round = 0; round < kRounds; round++)
    for (size_t i = 0; i < batches.size(); i++) {
      Minimal minimal(yard, flow.frame(), batches[i]);
      measure(yard, rates[i], [&](uint64_t until) { minimal.run(until); });
    }
  for (size_t i = 0; i < batches.size(); i++)
    bench::print(fmt::format("{}", batches[i]).c_str(), bench::spread(rates[i].time), {}, " M");
}

void measure_rates(const yardsticks *yard, double most) {
  std::printf("asked and achieved over 3 s (must be within 0.5 %%), how late and how evenly\n");
  for (const double pps : {1e3, 1e4, 1e5, 1e6, most / 2}) {
    endpoint::SendRequest request;
    request.ifname = "a0";
    request.engine = endpoint::SendEngine::Live;
    request.flows = {flow_of("qp 0x11 size 1M")};
    request.flows[0].pacing.rate = {congestion::Rate::Kind::Packets, pps, ""};
    request.flows[0].duration_ns = 3'000'000'000;
    auto run = endpoint::SendRun::prepare(std::move(request));
    if (!run)
      fail(run.error().message);
    const uint64_t before = bench::arrived(yard), worked = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const std::atomic<bool> never{false};
    if (auto done = run->run(never, {}, {}); !done)
      fail(done.error().message);
    const auto report = run->report();
    const auto busy = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - worked);
    const double got = static_cast<double>(report.engine.sent) / report.seconds;
    const auto us = [](const Histogram &h, double part) {
      return static_cast<double>(h.quantile(part)) / 1e3;
    };
    std::printf(
        "  %10.0f packets/s asked, %12.1f achieved%s; %lu of %lu arrived; late p50 %.1f us, p99 "
        "%.1f us, jitter p99 %.1f us, batches of %u, %.0f %% of a processor\n",
        pps, got, std::abs(got / pps - 1) <= 0.005 ? "" : "  MISSED", bench::arrived(yard) - before,
        report.engine.sent, us(report.engine.late_ns, 0.5), us(report.engine.late_ns, 0.99),
        us(report.engine.jitter_ns, 0.99), report.live_batch, busy / report.seconds / 1e7);
  }
}

} // namespace

int main() {
  libbpf_set_print(nullptr);
  bench::pin_to(1);
  bench::Wires wires({"a"});
  yardsticks *yard = bench::open_yard();
  bench::put_on("a1", yard->progs.arrive);
  const uint32_t zero = 0;
  const bpf_devmap_val out{if_nametoindex("a0"), {}};
  if (bpf_map__update_elem(yard->maps.out, &zero, sizeof(zero), &out, sizeof(out), 0))
    fail("port");
  measure_batches(yard);
  const bench::Target one = bench::at_least(0.9), many = bench::at_least(0.75),
                      copied = bench::at_least(4);
  compare(yard, "live frames a second, 1,024 B of payload, one RC flow", "qp 0x11 size 1M", one,
          &copied);
  compare(yard, "the same, 10,000 QPs", "qp 0x11 qps 10000 size 1M", many, &copied);
  compare(yard, "the same, messages of 4 packets", "qp 0x11 size 4k", {});
  compare(yard, "the same, messages of one packet", "qp 0x11 size 1k", {});
  compare(yard, "the same, IPv6", "src 2001:db8::1 dst 2001:db8::2 qp 0x11 size 1M", {});
  compare(yard, "the same, frames of 64 B", "qp 0x11 size 6", {});
  const requester::LiveFlow flow(flow_of("qp 0x11 size 1M"), 1e10);
  Rates quick;
  Minimal minimal(yard, flow.frame(), 64);
  measure(yard, quick, [&](uint64_t until) { minimal.run(until); });
  measure_rates(yard, quick.time.front() * 1e6);
  yardsticks__destroy(yard);
  return 0;
}
