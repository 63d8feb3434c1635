// SPDX-License-Identifier: Apache-2.0
// The program of ports with its settings and rules, and the yardsticks, as benchmarks run them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <fmt/format.h>

#include "datapath/kept_program.h"
#include "frames.h"
#include "impair/rule.h"
#include "parse/words.h"
#include "roce/config.h"
#include "roce/counters.h"
#include "roce/job_record.h"
#include "roce/stream.h"
#include "wires.h"
#include "xdp_roce.skel.h"
#include "yardsticks.skel.h"

namespace xr::bench {

inline constexpr uint32_t kFlowsMax = 100000;

struct Counting {
  xdp_roce *skel = xdp_roce__open();
  Counting(bool track, uint32_t streams, uint32_t features = 0, uint32_t uses = 0) {
    if (!skel)
      fail("open");
    skel->rodata->config.features = features;
    skel->rodata->config.uses = uses;
    if (features & ROCE_FEATURE_DECAP) {
      skel->rodata->config.decap = ROCE_TUNNELS_ALL;
      bpf_map__set_max_entries(skel->maps.mirrors, ROCE_MIRRORS);
      bpf_map__set_max_entries(skel->maps.mirrored, streams);
    }
    if (features & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME)) {
      skel->rodata->config.pairs = streams;
      bpf_map__set_max_entries(skel->maps.pairs, streams);
      bpf_map__set_max_entries(skel->maps.pair_hints, ROCE_PAIR_HINTS);
      bpf_map__set_max_entries(skel->maps.follows, features & ROCE_FEATURE_FOLLOW ? streams : 1);
      bpf_map__set_max_entries(skel->maps.timings, features & ROCE_FEATURE_TIME ? streams : 1);
    }
    if (features & ROCE_FEATURE_JOB) {
      bpf_map__set_max_entries(skel->maps.job_of, streams);
      bpf_map__set_max_entries(skel->maps.job_pairs, ROCE_JOB_PAIRS);
    }
    if (!(features & ROCE_FEATURE_RULES))
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

inline std::unique_ptr<roce_ruleset> ruleset(const std::vector<std::string> &lines) {
  std::vector<impair::Rule> rules;
  for (const std::string &line : lines) {
    auto rule = impair::parse(parse::split(line));
    if (!rule)
      fail(rule.error().message);
    rule->compiled.slot = static_cast<uint32_t>(rules.size());
    rules.push_back(std::move(*rule));
  }
  return impair::make_ruleset(rules);
}

// BPF_PROG_TEST_RUN of `fd`, which waits for nothing (datapath/kept_program.h).
inline void run_program(int fd, const std::vector<uint8_t> &frame, uint32_t times) {
  static std::map<int, datapath::KeptProgram> kept; // until the end of the process
  if (!kept.contains(fd)) {
    auto place = datapath::KeptProgram::keep(fd);
    kept[fd] = place ? std::move(*place) : datapath::KeptProgram();
  }
  LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
              .data_size_in = static_cast<__u32>(frame.size()), .repeat = static_cast<int>(times));
  if (bpf_prog_test_run_opts(fd, &options))
    fail("BPF_PROG_TEST_RUN");
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

// Rules of each kind of match, none of which the measured packets meet.
inline std::vector<std::string> strangers() {
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
  Yard(uint32_t flows, uint32_t bth, uint32_t tos = 0, uint32_t sequence = 0) {
    if (!skel)
      fail("open yardsticks");
    skel->rodata->flows = flows;
    skel->rodata->bth_offset = bth;
    skel->rodata->tos = tos;
    skel->rodata->sequence_offset = sequence;
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

} // namespace xr::bench
