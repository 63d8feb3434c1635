// SPDX-License-Identifier: Apache-2.0
// What a packet costs in the XDP program, beside yardsticks. Everything is measured once a round,
// in pieces of a million packets, and what is compared is of the same round. A piece is the slope
// between two repeat counts of BPF_PROG_TEST_RUN, pinned to a CPU, so that what a call costs beside
// its packets drops out; of the feeder's pieces, the feeder's own cost is taken off.
// Not made with Google Benchmark: it repeats one measurement before it begins the next, or mixes
// them at random, and pairs none.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sched.h>
#include <string>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "programs.h"
#include "spread.h"

namespace {

using xr::bench::Counting;
using xr::bench::fail;
using xr::bench::Impairing;
using xr::bench::kFlowsMax;
using xr::bench::mirrored_frame;
using xr::bench::send_middle;
using xr::bench::send_middle_ipv6;
using xr::bench::strangers;
using xr::bench::Yard;

// Nanoseconds of one BPF_PROG_TEST_RUN call of n packets, by the clock.
double call(int fd, std::vector<uint8_t> &frame, uint32_t n) {
  const uint64_t start = xr::monotonic_ns();
  xr::bench::run_program(fd, frame, n);
  return static_cast<double>(xr::monotonic_ns() - start);
}

constexpr uint32_t kShort = 100'000, kLong = 1'100'000;
constexpr size_t kRounds = 41;

double slope(int fd, std::vector<uint8_t> &frame) {
  const double s = call(fd, frame, kShort);
  return std::max(0.0, call(fd, frame, kLong) - s) / (kLong - kShort);
}

// What the kernel charges for a map, as bpftool prints it.
uint64_t memlock(const bpf_map *map) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(bpf_map__fd(map)));
  std::string key;
  for (uint64_t value = 0; info >> key; info.ignore(256, '\n'))
    if (key == "memlock:" && info >> value)
      return value;
  return 0;
}

// From its file into the kernel, by the clock: most of it is the verifier's.
void print_load() {
  constexpr int kLoads = 11;
  std::vector<double> ms;
  for (int i = 0; i < kLoads; i++) {
    const uint64_t start = xr::monotonic_ns();
    const Counting loaded(true, 65536);
    ms.push_back(static_cast<double>(xr::monotonic_ns() - start) / 1e6);
  }
  std::printf("loading the program (median of %d, and quartiles)\n", kLoads);
  xr::bench::print("count and track", xr::bench::spread(ms), xr::bench::at_most(50), " ms");
}

using Pieces = std::vector<double>; // ns a packet, one a round
std::map<std::string, Pieces> results;

} // namespace

int main() {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(1 % sysconf(_SC_NPROCESSORS_ONLN), &cpu);
  sched_setaffinity(0, sizeof(cpu), &cpu);
  libbpf_set_print(nullptr);

  constexpr uint32_t kPayload = 1024;
  auto v4 = send_middle(kPayload), v6 = send_middle_ipv6(kPayload), mirrored = mirrored_frame(v4);
  auto only = xr::bench::ipv4_frame(kPayload + xr::bench::kAroundPayload, 0x04); // RC SEND ONLY
  Yard one(1, 42), one6(1, 62), many(kFlowsMax, 42), ect(1, 42, 2), mirror(1, 92, 0, 38);
  // of their own: each of their streams continues where its program left it
  Yard to_track(kFlowsMax, 42), to_follow(kFlowsMax, 42);
  Counting no_track(false, 1), track(true, 65536), track6(true, 65536), crowd(true, kFlowsMax);
  constexpr uint32_t kFollow = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP;
  constexpr uint32_t kTime = ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP;
  Counting follow(true, 1024, kFollow), time(true, 1024, kTime), both(true, 1024, kFollow | kTime);
  Counting job(true, 1024, ROCE_FEATURE_JOB), job_follow(true, 1024, ROCE_FEATURE_JOB | kFollow);
  Counting followed_crowd(true, kFlowsMax, kFollow);
  Counting decap(true, 65536, ROCE_FEATURE_DECAP), decap_plain(true, 65536, ROCE_FEATURE_DECAP);
  Impairing chance({"opcode data probability 1% drop"}, 0);
  Impairing none(strangers(), ROCE_FEATURE_EDIT);
  Impairing passed1({"opcode data probability 0.001% drop next"}, ROCE_FEATURE_NEXT);
  Impairing passed9(std::vector<std::string>(9, "opcode data probability 0.001% drop next"),
                    ROCE_FEATURE_NEXT);
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
      {"fed_decap_plain", fed(one, decap_plain.fd(), v4)},
      {"fed_empty_mirror", fed(mirror, mirror.fd(mirror.skel->progs.empty), mirrored)},
      {"fed_decap", fed(mirror, decap.fd(), mirrored)},
      {"fed_chance", fed(one, chance.fd(), v4)},
      {"fed_none", fed(one, none.fd(), v4)},
      {"fed_passed1", fed(one, passed1.fd(), v4)},
      {"fed_passed9", fed(one, passed9.fd(), v4)},
      {"fed_red_idle", fed(one, red_idle.fd(), v4)},
      {"fed_ce_full", fed(ect, ce_full.fd(), v4)},
      {"fed_red_full", fed(ect, red_full.fd(), v4)},
      {"fed_empty_ect", fed(ect, ect.fd(ect.skel->progs.empty), v4)},
      {"fed_empty_ipv6", fed(one6, one6.fd(one6.skel->progs.empty), v6)},
      {"fed_track_ipv6", fed(one6, track6.fd(), v6)},
      {"fed_empty_100k", fed(many, many.fd(many.skel->progs.empty), v4)},
      {"fed_hash_100k", fed(many, many.fd(many.skel->progs.hash), v4)},
      {"fed_track_100k", fed(to_track, crowd.fd(), v4)},
      {"fed_follow", fed(one, follow.fd(), v4)},
      {"fed_time", fed(one, time.fd(), v4)},
      {"fed_both", fed(one, both.fd(), v4)},
      {"fed_job", fed(one, job.fd(), v4)},
      {"fed_job_follow", fed(one, job_follow.fd(), v4)},
      {"fed_empty_only", fed(one, one.fd(one.skel->progs.empty), only)},
      {"fed_track_only", fed(one, track.fd(), only)},
      {"fed_follow_only", fed(one, follow.fd(), only)},
      {"fed_time_only", fed(one, time.fd(), only)},
      {"fed_job_only", fed(one, job.fd(), only)},
      {"fed_follow_100k", fed(to_follow, followed_crowd.fd(), v4)},
  };
  // all streams are there before anything is measured
  for (int i = 0; i < 8; i++) {
    call(to_track.feeding(crowd.fd()), v4, kLong);
    call(to_follow.feeding(followed_crowd.fd()), v4, kLong);
  }
  // To and fro: what grows slower by the minute does so for the first rows as for the last.
  for (size_t round = 0; round < kRounds; round++)
    for (size_t i = 0; i < rows.size(); i++) {
      const Row &row = rows[round % 2 ? rows.size() - 1 - i : i];
      results[row.name].push_back(row.run());
    }

  const Pieces &empty = results["empty"], &bare = results["bare"], &hash = results["hash"],
               &no_tracking = results["no_track"];
  const auto minus = [](const Pieces &a, const Pieces &b) {
    return xr::bench::each(a, b, std::minus<>());
  };
  const auto net = [&](const char *name, const char *feeder) {
    return xr::bench::each(minus(results[name], results[feeder]), empty, std::plus<>());
  };
  const Pieces track4 = net("fed_track_ipv4", "fed_empty"),
               trackv6 = net("fed_track_ipv6", "fed_empty_ipv6"),
               decap_off = net("fed_decap_plain", "fed_empty"),
               decapped = net("fed_decap", "fed_empty_mirror"),
               with_chance = net("fed_chance", "fed_empty"),
               with_none = net("fed_none", "fed_empty"),
               with_passed1 = net("fed_passed1", "fed_empty"),
               with_passed9 = net("fed_passed9", "fed_empty"),
               with_red = net("fed_red_idle", "fed_empty"),
               marking = net("fed_red_full", "fed_empty_ect"),
               marking_all = net("fed_ce_full", "fed_empty_ect"),
               hash100k = net("fed_hash_100k", "fed_empty_100k"),
               track100k = net("fed_track_100k", "fed_empty_100k"),
               following = net("fed_follow", "fed_empty"), timing = net("fed_time", "fed_empty"),
               two = net("fed_both", "fed_empty"),
               track_only = net("fed_track_only", "fed_empty_only"),
               follow_only = net("fed_follow_only", "fed_empty_only"),
               time_only = net("fed_time_only", "fed_empty_only"),
               with_job = net("fed_job", "fed_empty"),
               job_following = net("fed_job_follow", "fed_empty"),
               job_only = net("fed_job_only", "fed_empty_only"),
               following100k = net("fed_follow_100k", "fed_empty_100k");
  const auto print = [](const char *what, const Pieces &pieces,
                        const xr::bench::Target &target = {}) {
    xr::bench::print(what, xr::bench::spread(pieces), target);
  };
  using xr::bench::at_most;
  using xr::bench::ratios;
  std::printf("ns per packet, 1 KB RC SEND MIDDLE in order (median of %zu, and quartiles; the "
              "feeder's cost taken off)\n",
              kRounds);
  print("empty: XDP_DROP", empty);
  print("bare: parse, per-CPU counter", bare);
  print("hash: bare, hash lookup, increment", hash);
  print("count, --no-track", no_tracking);
  print("count and track, IPv4, one stream", track4);
  print("count and track, IPv6, one stream", trackv6);
  print("count and track, IPv4, --decap, no tunnel", decap_off);
  print("count and track inside ERSPAN type II", decapped);
  print("  and one rule: probability 1 % drop", with_chance);
  print("  and 32 rules that do not match", with_none);
  print("  and one rule with next", with_passed1);
  print("  and nine of them", with_passed9);
  print("  and RED that does not mark", with_red);
  print("  and RED that marks every packet", marking);
  print("  and CE for every packet", marking_all);
  print("hash at 100,000 random flows", hash100k);
  print("count and track at 100,000 random streams", track100k);
  print("count, track and follow (--follow)", following);
  print("count, track and time (--latency)", timing);
  print("count, track and follow at 100,000", following100k);
  std::printf("ratios, of the pieces of a round\n");
  print("--no-track / bare", ratios(no_tracking, bare), at_most(1.6));
  print("tracking IPv4 / hash", ratios(track4, hash), at_most(2.0));
  print("tracking IPv6 / tracking IPv4", ratios(trackv6, track4), at_most(1.3));
  print("tracking / hash, both at 100,000", ratios(track100k, hash100k), at_most(1.6));
  std::printf("ns over counting and tracking, of the pieces of a round\n");
  print("--decap, inside ERSPAN type II", minus(decapped, track4), at_most(20));
  print("--decap, a frame without a tunnel", minus(decap_off, track4), at_most(8));
  print("--follow, one stream", minus(following, track4), at_most(15));
  print("--follow, 100,000 random streams", minus(following100k, track100k), at_most(25));
  print("--latency, one stream", minus(timing, track4), at_most(10));
  print("--follow --latency, one stream", minus(two, track4));
  print("--follow, messages of one packet", minus(follow_only, track_only), at_most(25));
  print("--latency, messages of one packet", minus(time_only, track_only), at_most(10));
  print("--job, one stream", minus(with_job, track4), at_most(15));
  print("--job with --follow, over --follow", minus(job_following, following), at_most(15));
  print("--job, messages of one packet", minus(job_only, track_only)); // 25 of it: the clock
  print("one probabilistic drop rule", minus(with_chance, track4), at_most(12));
  print("32 rules that do not match", minus(with_none, track4), at_most(20));
  print("a rule passed with next",
        xr::bench::each(with_passed9, with_passed1, [](double a, double b) { return (a - b) / 8; }),
        at_most(8));
  print("RED that does not mark", minus(with_red, track4), at_most(45)); // 25 of it: the clock
  print("RED that marks every packet", minus(marking, track4), at_most(45));
  print_load();
  const Counting million(true, 1000000);
  const double table_bytes = static_cast<double>(memlock(million.skel->maps.streams) +
                                                 memlock(million.skel->maps.buckets));
  std::printf("kernel memory, --streams 1000000 (map memlock)\n");
  std::printf("  %-44s %7.1f  (must be <= 256)%s\n", "bytes a stream, with its part of the index",
              table_bytes / 1e6, table_bytes / 1e6 <= 256 ? "" : "  MISSED");
  uint64_t fixed = 0;
  const bpf_map *map = nullptr;
  bpf_object__for_each_map(map, million.skel->obj) fixed += memlock(map);
  std::printf("  %-44s %7.1f\n", "KiB beside the table: counters, event ring",
              (static_cast<double>(fixed) - table_bytes) / 1024);
  return 0;
}
