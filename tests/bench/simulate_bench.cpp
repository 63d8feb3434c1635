// SPDX-License-Identifier: Apache-2.0
// Speed of the simulator in packet-hops (a frame of any kind that crosses a link) a second, beside
// a bare event queue (std::priority_queue) with as many events and as many of them pending; the
// same by the number of flows that send at once; memory of 10,000 flows, and of a flow that waits
// and one that sends; processor time of more and more packets.
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <queue>
#include <string>

#include "base/clock.h"
#include "base/draw.h"
#include "base/processors.h"
#include "simulate/simulation.h"
#include "simulate/traffic.h"
#include "spread.h"
#include "wire/link_words.h"

namespace {

using namespace xr;
using namespace xr::simulate;

constexpr uint64_t kMs = 1'000'000, kGbit = 1'000'000'000;
constexpr int kPieces = 31, kCrowdPieces = 9;

double seconds_of(clockid_t clock) { return static_cast<double>(clock_ns(clock)) * 1e-9; }
double processor_s() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

// "VmRSS:" or "VmHWM:" in MiB.
double memory_mib(const char *key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == key) {
      double kib = 0;
      status >> kib;
      return kib / 1024;
    }
  return 0;
}

// Bytes that are allocated.
double heap() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

FlowSetup flow_of(const std::string &src, const std::string &dst, uint64_t bytes, bool reliable) {
  FlowSetup setup;
  setup.src = src;
  setup.dst = dst;
  setup.reliable = reliable;
  setup.flow.verb = packet::Verb::Write;
  setup.flow.size.parts = {{.bytes = bytes, .weight = 1}};
  setup.flow.control.kind = congestion::Control::Kind::Dcqcn;
  return setup;
}

std::unique_ptr<Simulation> made(const Scenario &scenario) {
  auto simulation = Simulation::make(scenario);
  if (!simulation) {
    std::fprintf(stderr, "simulate_bench: %s\n", simulation.error().message.c_str());
    std::exit(1);
  }
  return std::move(simulation).get();
}

// 16 senders with DCQCN, 40 Gbit/s, messages of 1 MB.
Scenario incast(bool reliable) {
  Scenario scenario;
  scenario.topology.senders = 16;
  scenario.topology.rate = 40 * kGbit;
  scenario.duration_ns = 1'000'000 * kMs;
  scenario.queue = wire::parse_link({"buffer", "12M", "red", "5k", "200k", "1%"}).get();
  scenario.cnp.mode = congestion::NpMode::Window;
  for (int i = 1; i <= 16; i++)
    scenario.flows.push_back(
        flow_of("sender-" + std::to_string(i), "receiver", 1'000'000, reliable));
  return scenario;
}

class BareQueue {
public:
  explicit BareQueue(uint32_t pending) {
    for (uint32_t i = 0; i < pending; i++)
      queue_.push({draw_below(1, i, kSpan), sequence_++, i});
  }
  void run(uint64_t events) {
    for (uint64_t i = 0; i < events; i++) {
      Event event = queue_.top();
      queue_.pop();
      event.time += (random_ = mix(random_ + 1)) % kSpan;
      event.sequence = sequence_++;
      queue_.push(event);
    }
  }

private:
  static constexpr uint64_t kSpan = 8000; // ns
  struct Event {
    uint64_t time, sequence;
    uint32_t entity;
    bool operator>(const Event &other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  uint64_t sequence_ = 0, random_ = 1;
};

// One a piece, by one clock.
struct Speeds {
  std::vector<double> hops, ratios;
};

// Seconds that a piece took.
struct Spent {
  double ours, bare;
};

void add(Speeds &speeds, const Spent &spent, double hops) {
  speeds.hops.push_back(hops / spent.ours / 1e6);
  speeds.ratios.push_back(spent.bare / spent.ours);
}

// The clock, and processor time.
std::array<double, 2> both_clocks() { return {seconds_of(CLOCK_MONOTONIC), processor_s()}; }

void speed(const char *what, bool reliable) {
  const auto simulation = made(incast(reliable));
  BareQueue bare(34 + 17); // wires and hosts
  simulation->run_until(10 * kMs);
  std::array<Speeds, 2> speeds;
  for (int i = 0; i < kPieces; i++) {
    const FrameTotals before = simulation->totals();
    const auto begin = both_clocks();
    simulation->run_until(simulation->now() + 4 * kMs);
    const auto middle = both_clocks();
    const FrameTotals &after = simulation->totals();
    bare.run(after.events - before.events);
    const auto end = both_clocks();
    for (size_t c = 0; c < speeds.size(); c++)
      add(speeds[c], {middle[c] - begin[c], end[c] - middle[c]},
          static_cast<double>(after.hops - before.hops));
  }
  std::printf("16 to 1, %s (median of %d, and quartiles)\n", what, kPieces);
  const auto &[time, processor] = speeds;
  bench::print("packet-hops a second", bench::spread(time.hops), bench::at_least(4), " M");
  bench::print("the same by processor time", bench::spread(processor.hops), {}, " M");
  bench::print("bare event queue's time / the simulator's", bench::spread(time.ratios),
               bench::at_least(0.4));
  bench::print("the same by processor time", bench::spread(processor.ratios));
}

// Many flows at once on a leaf-spine.
struct Crowd {
  uint64_t flows;
  unsigned leaves, spines, each; // hosts of a leaf
  uint64_t time_ns;
};

uint64_t hosts_of(const Crowd &crowd) { return uint64_t{crowd.leaves} * crowd.each; }

Scenario crowded(const Crowd &crowd) {
  const uint64_t hosts = hosts_of(crowd);
  Scenario scenario;
  scenario.topology = {.kind = Topology::Kind::LeafSpine,
                       .leaves = crowd.leaves,
                       .spines = crowd.spines,
                       .hosts = crowd.each};
  scenario.topology.rate = 100 * kGbit;
  scenario.duration_ns = crowd.time_ns;
  scenario.queue = wire::parse_link({"buffer", "12M", "red", "100k", "400k", "20%"}).get();
  for (uint64_t i = 0; i < crowd.flows; i++) {
    const uint64_t src = draw_below(1, i, hosts),
                   dst = (src + 1 + draw_below(2, i, hosts - 1)) % hosts;
    scenario.flows.push_back(flow_of("host-" + std::to_string(src + 1),
                                     "host-" + std::to_string(dst + 1), 1'000'000, true));
  }
  return scenario;
}

void memory(const Crowd &crowd) {
  const double before = memory_mib("VmRSS:");
  const uint64_t hosts = hosts_of(crowd);
  const Scenario scenario = crowded(crowd);
  const auto simulation = made(scenario);
  const double begin = processor_s();
  simulation->run_until(scenario.duration_ns);
  const double seconds = processor_s() - begin;
  std::printf("%lu flows at once on a leaf-spine of %lu hosts, %.1f ms\n", crowd.flows, hosts,
              static_cast<double>(crowd.time_ns) / 1e6);
  std::printf("  memory %.0f MiB (must be <= 4096)%s; %.2f M packet-hops, %.2f M a second\n",
              memory_mib("VmHWM:") - before,
              memory_mib("VmHWM:") - before <= 4096 ? "" : "  MISSED",
              static_cast<double>(simulation->totals().hops) / 1e6,
              static_cast<double>(simulation->totals().hops) / 1e6 / seconds);
}

std::string with_commas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;)
    text.insert(at -= 3, ",");
  return text;
}

void memory_of_one(const char *what, double bytes, uint64_t flows) {
  const double kib = bytes / static_cast<double>(flows) / 1024;
  bench::print(what, {kib, kib, kib}, {}, " KiB");
}

// All flows send from the start; the memory of one that does has its packets on the way in it.
void crowd_speed(uint64_t flows) {
  constexpr uint64_t kWarm = 30'000, kFewestHops = 50'000; // ns; of a piece
  constexpr uint64_t kFewestForMemory = 1000;              // flows
  const Crowd crowd = {flows, 32, 16, 32, 1000 * kMs};
  double network = 0;
  {
    const Scenario scenario = crowded({1, crowd.leaves, crowd.spines, crowd.each, crowd.time_ns});
    const double before = heap();
    const auto empty = made(scenario);
    network = heap() - before;
  }
  Scenario scenario = crowded(crowd);
  scenario.threads = 1;
  const double before = heap() + network;
  const auto simulation = made(scenario);
  const double waiting = heap() - before;
  simulation->run_until(kWarm);
  const double sending = heap() - before;
  Speeds time, processor;
  for (int i = 0; i < kCrowdPieces; i++) {
    const uint64_t hops = simulation->totals().hops;
    const auto begin = both_clocks();
    while (simulation->totals().hops - hops < kFewestHops)
      simulation->run_until(simulation->now() + 4000);
    const auto end = both_clocks();
    const auto done = static_cast<double>(simulation->totals().hops - hops) / 1e6;
    time.hops.push_back(done / (end[0] - begin[0]));
    processor.hops.push_back(done / (end[1] - begin[1]));
  }
  std::printf("%s flows send at once on a leaf-spine of %s hosts (median of %d, and quartiles)\n",
              with_commas(flows).c_str(), with_commas(hosts_of(crowd)).c_str(), kCrowdPieces);
  bench::print("packet-hops a second", bench::spread(time.hops), {}, " M");
  bench::print("the same by processor time", bench::spread(processor.hops), {}, " M");
  if (flows < kFewestForMemory)
    return;
  memory_of_one("memory of a flow that waits", waiting, flows);
  memory_of_one("memory of a flow that sends", sending, flows);
}

// A permutation of the 1,024 hosts of a fat tree by one thread, and beside it by `threads`.
void by_threads(unsigned threads) {
  constexpr uint64_t kStep = 20'000; // ns
  Scenario scenario;
  scenario.topology.kind = Topology::Kind::FatTree;
  scenario.topology.k = 16;
  scenario.topology.rate = 100 * kGbit;
  scenario.duration_ns = kMs;
  scenario.queue = wire::parse_link({"buffer", "16M", "red", "400k", "1600k", "20%"}).get();
  for (unsigned i = 0; i < 1024; i++)
    scenario.flows.push_back(flow_of("host-" + std::to_string(i + 1),
                                     "host-" + std::to_string((i * 389 + 271) % 1024 + 1),
                                     100'000'000, true));
  std::erase_if(scenario.flows, [](const FlowSetup &flow) { return flow.src == flow.dst; });
  scenario.threads = 1;
  const auto one = made(scenario);
  scenario.threads = threads;
  const auto several = made(scenario);
  Speeds speeds;
  for (int i = 0; i < kPieces; i++) {
    const uint64_t before = one->totals().hops, until = one->now() + kStep;
    const double begin = seconds_of(CLOCK_MONOTONIC);
    one->run_until(until);
    const double middle = seconds_of(CLOCK_MONOTONIC);
    several->run_until(until);
    const double end = seconds_of(CLOCK_MONOTONIC);
    if (one->totals().hops != several->totals().hops) {
      std::fprintf(stderr, "simulate_bench: %u threads do something else than one\n", threads);
      std::exit(1);
    }
    add(speeds, {end - middle, middle - begin}, static_cast<double>(one->totals().hops - before));
  }
  std::printf("a permutation of 1,024 hosts, %u threads (median of %d, and quartiles)\n", threads,
              kPieces);
  bench::print("packet-hops a second", bench::spread(speeds.hops), {}, " M");
  bench::print("one thread's time / theirs", bench::spread(speeds.ratios),
               threads == 2 ? bench::at_least(1.8) : bench::Target{});
}

// Processor time for 10^5 to `most` packets.
void linearity(uint64_t most) {
  std::printf("16 to 1, ns of processor time a packet\n");
  const auto simulation = made(incast(false));
  double spent = 0;
  for (uint64_t packets = 100'000; packets <= most; packets *= 10) {
    while (simulation->totals().sent < packets) {
      const double begin = processor_s();
      simulation->run_until(simulation->now() + kMs / 4);
      spent += processor_s() - begin;
    }
    std::printf("  %9.0e packets  %7.1f  memory %.0f MiB\n", static_cast<double>(packets),
                spent / static_cast<double>(packets) * 1e9, memory_mib("VmRSS:"));
  }
}

} // namespace

// --long: 10^8 packets. --flows: 65,536 flows, and nothing else.
int main(int count, char **words) {
  if (count > 1 && !std::strcmp(words[1], "--flows")) {
    memory({65'536, 32, 16, 32, kMs / 4});
    return 0;
  }
  speed("open loop", false);
  speed("reliable", true);
  linearity(count > 1 && !std::strcmp(words[1], "--long") ? 100'000'000 : 1'000'000);
  memory({10'000, 8, 4, 16, 2 * kMs});
  for (const uint64_t flows : {16, 1024, 10'000, 65'536})
    crowd_speed(flows);
  for (unsigned threads = 2; threads <= processor_count(); threads *= 2)
    by_threads(threads);
}
