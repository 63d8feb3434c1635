// SPDX-License-Identifier: Apache-2.0
// Time of a frame through `wire`, beside that of a minimal AF_XDP forwarder of the same copies and
// batches. Both are there all the time, each between two virtual wires of its own, and run in turn,
// on one CPU: a socket sends a batch of frames, the process forwards a batch, a program at the far
// end counts and drops. The verdict is by the clock; processor time is printed beside it.
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "endpoint/wire.h"
#include "forwarder.h"
#include "spread.h"
#include "wire_traffic.h"
#include "yards.h"

namespace {

using namespace xr;
using bench::arrived;
using bench::fail;
using bench::put_on;
using bench::Sender;
using bench::set_link;
using bench::set_rule;

constexpr int kRounds = 31;
constexpr uint32_t kPiece = 64; // batches
static_assert(bench::PacketSocket::kBatch == bench::Forwarder::kBatch);

// The clock, and processor time.
struct Ns {
  double clock = 0, processor = 0;
};
Ns now() {
  return {static_cast<double>(monotonic_ns()),
          static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID))};
}
Ns since(const Ns &begin) {
  const Ns end = now();
  return {end.clock - begin.clock, end.processor - begin.processor};
}

// What forwards, between NAME0 ~ NAME1 and the next pair.
struct Side {
  std::string from;       // where frames are sent
  const yardsticks *sink; // at the far end
  std::function<void()> turn;
};

struct Piece {
  Ns process; // a frame that arrived, of the process's calls
  Ns all;     // of the sender, the receiving port and the process
};

Piece run(const Side &side, Sender &sender, uint32_t batches) {
  const uint64_t before = arrived(side.sink);
  const Ns start = now();
  Ns process;
  for (uint32_t i = 0; i < batches; i++) {
    sender.send();
    const Ns begin = now();
    side.turn();
    const Ns turn = since(begin);
    process.clock += turn.clock;
    process.processor += turn.processor;
  }
  const Ns all = since(start);
  const auto frames = static_cast<double>(arrived(side.sink) - before);
  return {{process.clock / frames, process.processor / frames},
          {all.clock / frames, all.processor / frames}};
}

// What a side took, one a round.
struct Pieces {
  std::vector<double> clock, processor;
  void add(const Ns &ns) {
    clock.push_back(ns.clock);
    processor.push_back(ns.processor);
  }
};

// How fast the wire is beside the forwarder.
void print_ratio(const char *what, const Pieces &forwarder, const Pieces &wire,
                 const bench::Target &target) {
  bench::print(what, bench::spread(bench::ratios(forwarder.clock, wire.clock)), target);
  bench::print("the same by processor time",
               bench::spread(bench::ratios(forwarder.processor, wire.processor)));
}

struct Bed {
  Side bare, minimal, wire;
};

void compare(const char *what, const Bed &bed, uint32_t bytes, uint32_t streams,
             const bench::Target &target) {
  const Side *sides[] = {&bed.bare, &bed.minimal, &bed.wire};
  std::array<std::unique_ptr<Sender>, 3> senders;
  std::array<Pieces, 3> process, all;
  for (size_t i = 0; i < senders.size(); i++) {
    senders[i] = std::make_unique<Sender>(sides[i]->from.c_str(), bytes, streams);
    run(*sides[i], *senders[i], 4 * kPiece); // what is held, and caches
  }
  for (int round = 0; round < kRounds; round++)
    for (size_t turn = 0; turn < senders.size(); turn++) {
      const size_t i = round % 2 ? senders.size() - 1 - turn : turn;
      const Piece piece = run(*sides[i], *senders[i], kPiece);
      process[i].add(piece.process);
      all[i].add(piece.all);
    }
  const auto minus = [](const auto &a, const auto &b) { return bench::each(a, b, std::minus<>()); };
  const auto forwarder = minus(all[1].clock, all[0].clock),
             wire = minus(all[2].clock, all[0].clock);
  std::printf("%s\n", what);
  bench::print("forwarder: process", bench::spread(process[1].clock), {}, " ns");
  bench::print("wire: process", bench::spread(process[2].clock), {}, " ns");
  bench::print("sender alone", bench::spread(all[0].clock), {}, " ns");
  bench::print("forwarder: receive, process, send", bench::spread(forwarder), {}, " ns");
  bench::print("wire: receive, process, send", bench::spread(wire), {}, " ns");
  print_ratio("ratio of rates, of the process alone", process[1], process[2], target);
  bench::print("the same, with receiving", bench::spread(bench::ratios(forwarder, wire)));
  print_ratio("the same, all on one CPU", all[1], all[2], target);
}

// Until the process has read them, and what it held has left.
void settle(const Side &side) {
  const uint64_t until = monotonic_ns() + 300'000'000;
  while (monotonic_ns() < until)
    side.turn();
}

} // namespace

// --no-track: the wire's ports do not follow streams.
int main(int argc, char **argv) {
  libbpf_set_print(nullptr);
  bench::pin_to(1);
  bench::Wires wires({"a", "b", "c", "d", "e"});
  yardsticks *yards[3];
  for (yardsticks *&yard : yards)
    yard = bench::open_yard();
  put_on("b1", yards[1]->progs.arrive);
  put_on("d1", yards[2]->progs.arrive);
  put_on("e1", yards[0]->progs.arrive);
  put_on("a1", yards[1]->progs.to_socket);
  bench::Forwarder forwarder(yards[1], "a1", "b0");
  endpoint::WireRun run = bench::open_wire("c1", "d0", uint64_t{2} << 30,
                                           argc < 2 || std::string(argv[1]) != "--no-track");
  const Bed bed = {{"e0", yards[0], [] {}},
                   {"a0", yards[1], [&] { forwarder.turn(); }},
                   {"c0", yards[2], [&] { bench::turn(run); }}};
  const auto with = [&](const char *what, const std::string &rule, const std::string &link,
                        uint32_t bytes, uint32_t streams, const bench::Target &target) {
    set_rule("c1", rule);
    set_link("d0", link);
    settle(bed.wire);
    compare(what, bed, bytes, streams, target);
  };
  const std::string aqm = "rate 40gbit buffer 1M red 100k 400k 10%";
  for (const uint32_t bytes : {64U, 1024U}) {
    std::printf("== frames of %u bytes, ns a frame (median of %d, and quartiles)\n", bytes,
                kRounds);
    with("rule: delay 100us", "delay 100us", "", bytes, 1, bench::at_least(0.95));
    with("link: delay 100us", "", "delay 100us", bytes, 1, bench::at_least(0.95));
    with("rule: shape; link: RED; 1,000 streams", "shape 40gbit burst 100k queue 10M", aqm, bytes,
         1000, bench::at_least(0.85));
    for (const char *delay : {"1ms", "10ms", "100ms"})
      with((std::string("rule: delay ") + delay).c_str(), std::string("delay ") + delay, "", bytes,
           1, std::string(delay) == "1ms" ? bench::Target{} : bench::at_least(0.85));
  }
  const WireReport report = run.report();
  for (const auto &port : report.ports)
    std::printf("%s: taken %lu, left %lu, ring full %lu, no buffer %lu, TX full %lu\n",
                port.ifname.c_str(), port.counts->in.taken, port.counts->in.left,
                port.counts->in.ring_full, port.counts->in.no_buffer, port.counts->out.tx_dropped);
  if (auto done = run.close(); !done)
    fail(done.error().message);
  for (yardsticks *yard : yards)
    yardsticks__destroy(yard);
  return 0;
}
