// SPDX-License-Identifier: Apache-2.0
// Frames that no rule holds, between two ports of a running `wire` whose rule holds another stream:
// processor time of a frame in the kernel, beside a bridge with the same rule and no process, and a
// bridge without rules. A socket sends batches, a program at the far end counts and drops; in turn,
// on one processor. The process sleeps on whatever processor it likes.
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "datapath/attach.h"
#include "datapath/bridge.h"
#include "endpoint/wire.h"
#include "spread.h"
#include "wire_traffic.h"
#include "yards.h"

namespace {

using namespace xr;
using bench::arrived;
using bench::fail;

constexpr int kRounds = 41;
constexpr uint32_t kPiece = 256; // batches
constexpr const char *kRule = "dest-qp 99 delay 1ms";

uint64_t processor_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// ns of processor time a frame that arrived.
double piece(bench::Sender &sender, const yardsticks *yard) {
  const uint64_t before = arrived(yard), start = processor_ns();
  for (uint32_t i = 0; i < kPiece; i++)
    sender.send();
  const uint64_t all = processor_ns() - start;
  return static_cast<double>(all) / static_cast<double>(arrived(yard) - before);
}

void compare(const std::array<yardsticks *, 3> &yards, uint32_t bytes) {
  constexpr std::array kFrom = {"a0", "c0", "e0"};
  std::array<std::unique_ptr<bench::Sender>, 3> senders;
  std::array<std::vector<double>, 3> times;
  for (size_t i = 0; i < senders.size(); i++) {
    senders[i] = std::make_unique<bench::Sender>(kFrom[i], bytes, 1);
    piece(*senders[i], yards[i]);
  }
  for (int round = 0; round < kRounds; round++)
    for (size_t turn = 0; turn < senders.size(); turn++) {
      const size_t i = round % 2 ? senders.size() - 1 - turn : turn;
      times[i].push_back(piece(*senders[i], yards[i]));
    }
  std::printf("frames of %u bytes, sent, forwarded in the kernel and counted (median of %d, and "
              "quartiles)\n",
              bytes, kRounds);
  bench::print("bridge without rules", bench::spread(times[0]), {}, " ns");
  bench::print("bridge, a rule for another stream", bench::spread(times[1]), {}, " ns");
  bench::print("wire, the same rule", bench::spread(times[2]), {}, " ns");
  bench::print("ratio of rates, wire to bridge with the rule",
               bench::spread(bench::ratios(times[1], times[2])), bench::at_least(1));
  bench::print("ratio of rates, wire to bridge without rules",
               bench::spread(bench::ratios(times[0], times[2])));
}

void make_bridge(const char *from, const char *to) {
  if (auto made = datapath::bridge(from, to, "", {}, false); !made)
    fail(made.error().message);
}

} // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  libbpf_set_print(nullptr);
  bench::Wires wires({"a", "b", "c", "d", "e", "f"});
  std::array<yardsticks *, 3> yards{};
  const std::array sinks = {"b1", "d1", "f1"};
  for (size_t i = 0; i < yards.size(); i++) {
    yards[i] = bench::open_yard();
    bench::put_on(sinks[i], yards[i]->progs.arrive);
  }
  make_bridge("a1", "b0");
  make_bridge("c1", "d0");
  make_bridge("e1", "f0");
  bench::set_rule("c1", kRule);
  bench::set_rule("e1", kRule);
  endpoint::WireRequest request;
  request.first = "e1";
  request.second = "f0";
  auto run = endpoint::WireRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  std::atomic<bool> stop = false;
  Status status;
  std::thread process(
      [&] { status = run->run(stop, {}, [](const WireReport &) { return true; }); });
  bench::pin_to(1);
  for (const uint32_t bytes : {64U, 1024U})
    compare(yards, bytes);
  stop = true;
  process.join();
  const uint64_t taken = run->report().ports[0].counts->in.taken;
  std::printf("frames that the process took over: %lu (must be 0)%s\n", taken,
              taken ? "  MISSED" : "");
  if (!status)
    fail(status.error().message);
  if (auto done = run->close(); !done)
    fail(done.error().message);
  for (const char *port : {"a1", "c1", "e1"}) // the other port of a bridge goes with it
    if (auto done = datapath::detach({port, ""}); !done)
      fail(done.error().message);
  for (yardsticks *yard : yards)
    yardsticks__destroy(yard);
  return 0;
}
