// SPDX-License-Identifier: Apache-2.0
// What a packet costs in the XDP program, beside yardsticks measured in the same run. A figure is
// the slope between two repeat counts of BPF_PROG_TEST_RUN, pinned to a CPU, so that what a call
// costs beside its packets drops out; of the feeder's runs, the feeder's own cost is taken off.
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sched.h>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "impair/rule.h"
#include "parse/words.h"
#include "roce/config.h"
#include "roce/stream.h"
#include "xdp_roce.skel.h"
#include "yardsticks.skel.h"

namespace {

constexpr uint32_t kFlowsMax = 100000;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "datapath_bench: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::vector<uint8_t> ipv4_frame(uint32_t payload) {
  const uint16_t udp = static_cast<uint16_t>(8 + 12 + payload + 4);
  std::vector<uint8_t> f(14 + 20 + udp);
  f[12] = 0x08;
  f[14] = 0x45;
  const uint16_t total = htons(static_cast<uint16_t>(20 + udp));
  std::memcpy(&f[16], &total, 2);
  f[22] = 64;
  f[23] = 17;
  f[26] = f[30] = 192;
  f[28] = f[32] = 2;
  f[29] = 1;
  f[33] = 2;
  const uint16_t port = htons(4791), length = htons(udp);
  std::memcpy(&f[36], &port, 2);
  std::memcpy(&f[38], &length, 2);
  f[42] = 0x01; // RC SEND MIDDLE
  return f;
}

std::vector<uint8_t> ipv6_frame(uint32_t payload) {
  const std::vector<uint8_t> v4 = ipv4_frame(payload);
  std::vector<uint8_t> f(v4.size() + 20);
  f[12] = 0x86;
  f[13] = 0xdd;
  f[14] = 0x60;
  const uint16_t length = htons(static_cast<uint16_t>(v4.size() - 34));
  std::memcpy(&f[18], &length, 2);
  f[20] = 17;
  f[21] = 64;
  for (int i = 0; i < 2; i++) {
    const uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0,
                                 0,    0,    0,    0,    0, 0, 0, static_cast<uint8_t>(i + 1)};
    std::memcpy(&f[22 + 16 * i], address, 16);
  }
  std::copy(v4.begin() + 34, v4.end(), f.begin() + 54);
  return f;
}

// Seconds of one BPF_PROG_TEST_RUN call of n packets.
double call(int fd, std::vector<uint8_t> &frame, uint32_t n) {
  LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.data(),
              .data_size_in = static_cast<__u32>(frame.size()), .repeat = static_cast<int>(n));
  const auto start = std::chrono::steady_clock::now();
  if (bpf_prog_test_run_opts(fd, &opts))
    fail("BPF_PROG_TEST_RUN");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A call ends on a tick of the kernel's clock (4 ms at 250 Hz): 16 million packets make that 0.25
// ns.
constexpr uint32_t kShort = 200000, kLong = 16200000;

double slope(int fd, std::vector<uint8_t> &frame) {
  const double s = call(fd, frame, kShort);
  return std::max(0.0, call(fd, frame, kLong) - s) / (kLong - kShort);
}

struct Counting {
  xdp_roce *skel = xdp_roce__open();
  Counting(bool track, uint32_t streams, uint32_t features = 0, uint32_t uses = 0) {
    if (!skel)
      fail("open");
    skel->rodata->config.features = features;
    skel->rodata->config.uses = uses;
    if (!features)
      for (bpf_map *map : {skel->maps.rule_states, skel->maps.rule_counts, skel->maps.rule_points,
                           skel->maps.rule_notes, skel->maps.paces, skel->maps.peers})
        bpf_map__set_max_entries(map, 1);
    bpf_program__set_autoload(skel->progs.cnp_egress, false);
    skel->rodata->config.track = track;
    skel->rodata->config.streams = streams;
    skel->rodata->config.buckets = ROCE_BUCKETS_FOR(streams);
    skel->rodata->config.hash_seed = 42;
    bpf_map__set_max_entries(skel->maps.streams, streams);
    bpf_map__set_max_entries(skel->maps.buckets, ROCE_BUCKETS_FOR(streams));
    if (xdp_roce__load(skel))
      fail("load");
  }
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;
  ~Counting() { xdp_roce__destroy(skel); }
  int fd() const { return bpf_program__fd(skel->progs.xdp_roce); }
};

std::unique_ptr<roce_ruleset> ruleset(const std::vector<std::string> &lines) {
  std::vector<xr::impair::Rule> rules;
  for (const std::string &line : lines) {
    auto rule = xr::impair::parse(xr::parse::split(line));
    if (!rule)
      fail(rule.error().message.c_str());
    rule->compiled.slot = static_cast<uint32_t>(rules.size());
    rules.push_back(std::move(*rule));
  }
  return xr::impair::make_ruleset(rules);
}

// The counting program with rules, one a line.
struct Impairing : Counting {
  Impairing(const std::vector<std::string> &lines, uint32_t features)
      : Impairing(ruleset(lines), features) {}
  Impairing(const std::unique_ptr<roce_ruleset> &set, uint32_t features)
      : Counting(true, 65536, ROCE_FEATURE_RULES | features, set->used) {
    const uint32_t zero = 0;
    const int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ruleset", 4, sizeof(*set), 1, nullptr);
    if (inner < 0 || bpf_map_update_elem(inner, &zero, set.get(), 0) ||
        bpf_map__update_elem(skel->maps.rules, &zero, 4, &inner, 4, 0))
      fail("rules");
    close(inner);
  }
};

// Of each kind of match, none of which the measured packets meet.
std::vector<std::string> strangers() {
  std::vector<std::string> lines;
  for (int i = 0; i < 8; i++) {
    lines.push_back(fmt::format("src 198.51.100.{} drop", i + 1));
    lines.push_back(fmt::format("dest-qp {} opcode data drop", 1000 + i));
    lines.push_back(fmt::format("psn {}-{} dscp {} ce", 100 * i, 100 * i + 9, i + 8));
    lines.push_back(fmt::format("dst 203.0.113.0/{} size {}- corrupt icrc", 24 + i, 2000 + i));
  }
  return lines;
}

struct Yard {
  yardsticks *skel = yardsticks__open();
  Yard(uint32_t flows, uint32_t bth, uint32_t tos = 0) {
    if (!skel)
      fail("open yardsticks");
    skel->rodata->flows = flows;
    skel->rodata->bth_offset = bth;
    skel->rodata->tos = tos;
    if (yardsticks__load(skel))
      fail("load yardsticks");
    for (uint32_t i = 0; i < flows; i++) {
      const struct {
        uint32_t src, dst, qp;
      } key = {htonl(0xc0000201), htonl(0xc0000202), htonl(i)};
      const uint64_t zero = 0;
      bpf_map__update_elem(skel->maps.flow_packets, &key, sizeof(key), &zero, sizeof(zero), 0);
    }
  }
  Yard(const Yard &) = delete;
  Yard &operator=(const Yard &) = delete;
  ~Yard() { yardsticks__destroy(skel); }
  int feeding(int target) {
    const uint32_t zero = 0;
    if (bpf_map__update_elem(skel->maps.target, &zero, sizeof(zero), &target, sizeof(target), 0))
      fail("set target");
    return bpf_program__fd(skel->progs.feed);
  }
  int fd(const bpf_program *p) const { return bpf_program__fd(p); }
};

// What the kernel charges for a map, as bpftool prints it.
uint64_t memlock(const bpf_map *map) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(bpf_map__fd(map)));
  std::string key;
  for (uint64_t value = 0; info >> key; info.ignore(256, '\n'))
    if (key == "memlock:" && info >> value)
      return value;
  return 0;
}

std::map<std::string, std::vector<double>> results; // ns per packet, each repetition

void measure(benchmark::State &state, const std::string &name,
             const std::function<double()> &seconds_per_packet) {
  for (auto _ : state) {
    const double s = seconds_per_packet();
    state.SetIterationTime(s * kLong);
    results[name].push_back(s * 1e9);
  }
  state.SetItemsProcessed(state.iterations() * kLong);
}

double median(const std::string &name) {
  std::vector<double> v = results.at(name);
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void ratio(const char *what, double a, double b, double limit) {
  std::printf("  %-52s %6.2f  (must be <= %.2f)%s\n", what, a / b, limit,
              a / b <= limit ? "" : "  MISSED");
}

} // namespace

int main(int argc, char **argv) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(1 % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
  sched_setaffinity(0, sizeof(cpu), &cpu);
  libbpf_set_print(nullptr);

  constexpr uint32_t kPayload = 1024;
  auto v4 = ipv4_frame(kPayload), v6 = ipv6_frame(kPayload);
  Yard one(1, 42), one6(1, 62), many(kFlowsMax, 42), ect(1, 42, 2);
  Counting no_track(false, 1), track(true, 65536), track6(true, 65536), crowd(true, kFlowsMax);
  Impairing chance({"opcode data probability 1% drop"}, 0);
  Impairing none(strangers(), ROCE_FEATURE_EDIT);
  Impairing ce_full({"ce force"}, ROCE_FEATURE_EDIT);
  Impairing red_idle({"red 400k 1600k 20% rate 10tbit force"}, ROCE_FEATURE_EDIT);
  Impairing red_full({"red 100k 400k 20% rate 1gbit force"}, ROCE_FEATURE_EDIT);

  struct Row {
    const char *name;
    std::function<double()> run;
  };
  auto fed = [](Yard &yard, int target, std::vector<uint8_t> &frame) {
    return [&yard, target, &frame] { return slope(yard.feeding(target), frame); };
  };
  const std::vector<Row> rows = {
      {"empty", [&] { return slope(one.fd(one.skel->progs.empty), v4); }},
      {"bare", [&] { return slope(one.fd(one.skel->progs.bare), v4); }},
      {"hash", [&] { return slope(one.fd(one.skel->progs.hash), v4); }},
      {"no_track", [&] { return slope(no_track.fd(), v4); }},
      {"fed_empty", fed(one, one.fd(one.skel->progs.empty), v4)},
      {"fed_track_ipv4", fed(one, track.fd(), v4)},
      {"fed_chance", fed(one, chance.fd(), v4)},
      {"fed_none", fed(one, none.fd(), v4)},
      {"fed_red_idle", fed(one, red_idle.fd(), v4)},
      {"fed_ce_full", fed(ect, ce_full.fd(), v4)},
      {"fed_red_full", fed(ect, red_full.fd(), v4)},
      {"fed_empty_ect", fed(ect, ect.fd(ect.skel->progs.empty), v4)},
      {"fed_empty_ipv6", fed(one6, one6.fd(one6.skel->progs.empty), v6)},
      {"fed_track_ipv6", fed(one6, track6.fd(), v6)},
      {"fed_empty_100k", fed(many, many.fd(many.skel->progs.empty), v4)},
      {"fed_hash_100k", fed(many, many.fd(many.skel->progs.hash), v4)},
      {"fed_track_100k", fed(many, crowd.fd(), v4)},
  };
  for (const Row &row : rows)
    benchmark::RegisterBenchmark(
        row.name, [&row](benchmark::State &state) { measure(state, row.name, row.run); })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(5)
        ->ReportAggregatesOnly(true)
        ->Unit(benchmark::kMillisecond);
  // all streams are there before anything is measured
  for (int i = 0; i < 2; i++)
    call(many.feeding(crowd.fd()), v4, kLong);

  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  if (results.size() != rows.size())
    return 0; // a filter chose some: there is nothing to compare

  const double empty = median("empty");
  auto net = [&](const char *name, const char *feeder) {
    return std::max(0.0, median(name) - median(feeder)) + empty;
  };
  const double track4 = net("fed_track_ipv4", "fed_empty");
  const double trackv6 = net("fed_track_ipv6", "fed_empty_ipv6");
  const double with_chance = net("fed_chance", "fed_empty"),
               with_none = net("fed_none", "fed_empty");
  const double with_red = net("fed_red_idle", "fed_empty"),
               marking = net("fed_red_full", "fed_empty_ect"),
               marking_all = net("fed_ce_full", "fed_empty_ect");
  const double hash100k = net("fed_hash_100k", "fed_empty_100k");
  const double track100k = net("fed_track_100k", "fed_empty_100k");
  std::printf("\nns per packet, 1 KB RC SEND MIDDLE in order (median of 5; the feeder's cost taken "
              "off)\n");
  const std::pair<const char *, double> table[] = {
      {"empty: XDP_DROP", empty},
      {"bare: parse, per-CPU counter", median("bare")},
      {"hash: bare, hash lookup, increment", median("hash")},
      {"count, --no-track", median("no_track")},
      {"count and track, IPv4, one stream", track4},
      {"count and track, IPv6, one stream", trackv6},
      {"  and one rule: probability 1 % drop", with_chance},
      {"  and 32 rules that do not match", with_none},
      {"  and RED that does not mark", with_red},
      {"  and RED that marks every packet", marking},
      {"  and CE for every packet", marking_all},
      {"hash at 100,000 random flows", hash100k},
      {"count and track at 100,000 random streams", track100k},
  };
  for (const auto &[name, ns] : table)
    std::printf("  %-52s %6.1f\n", name, ns);
  std::printf("ratios\n");
  ratio("--no-track / bare", median("no_track"), median("bare"), 1.6);
  ratio("tracking IPv4 / hash", track4, median("hash"), 2.0);
  ratio("tracking IPv6 / tracking IPv4", trackv6, track4, 1.3);
  ratio("tracking / hash, both at 100,000", track100k, hash100k, 1.6);
  const auto over = [&](const char *what, double ns, double limit) {
    std::printf("  %-52s %6.1f  (must be <= %.1f)%s\n", what, ns - track4, limit,
                ns - track4 <= limit ? "" : "  MISSED");
  };
  std::printf("ns over counting and tracking\n");
  over("one probabilistic drop rule", with_chance, 12);
  over("32 rules that do not match", with_none, 40);
  over("RED that does not mark", with_red, 40);
  over("RED that marks every packet", marking, 40);
  const Counting million(true, 1000000);
  const double table_bytes = static_cast<double>(memlock(million.skel->maps.streams) +
                                                 memlock(million.skel->maps.buckets));
  std::printf("kernel memory, --streams 1000000 (map memlock)\n");
  std::printf("  %-52s %6.1f  (must be <= 256)\n", "bytes a stream, with its part of the index",
              table_bytes / 1e6);
  uint64_t fixed = 0;
  const bpf_map *map = nullptr;
  bpf_object__for_each_map(map, million.skel->obj) fixed += memlock(map);
  std::printf("  %-52s %6.1f\n", "KiB beside the table: counters, event ring",
              (static_cast<double>(fixed) - table_bytes) / 1024);
  return 0;
}
