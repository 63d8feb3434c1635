// SPDX-License-Identifier: Apache-2.0
// Applies rules to frames twice: in the XDP program by BPF_PROG_TEST_RUN, and in the native
// compilation. In addition to a test's expectation, the two must agree.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <linux/if_link.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/fd.h"
#include "bpf/program_object.h"
#include "bpf/wire_checks.h"
#include "impair/rule.h"
#include "native/native_datapath.h"
#include "roce/config.h"
#include "roce/found.h"
#include "roce/times.h"
#include "unit/frames.h"

namespace xr::test {

// What became of a frame: both agreed on it.
struct Passed {
  Fate fate = Fate::GoOn;
  Bytes bytes; // as it is forwarded, or as the CNP that goes back
  Bytes cnp;   // GoOnWithCnp: as the native compilation makes it
};

inline uint32_t features_of(const std::vector<impair::Rule> &rules, bool bridge) {
  uint32_t features = ROCE_FEATURE_RULES | (bridge ? ROCE_FEATURE_FORWARD : 0);
  for (const impair::Rule &rule : rules)
    features |= impair::needs(rule, bridge);
  return features;
}

inline std::vector<impair::Rule> rules_of(const std::vector<std::string> &words) {
  std::vector<impair::Rule> rules;
  for (const std::string &one : words) {
    auto rule = impair::parse({one});
    EXPECT_TRUE(rule.ok()) << one << ": " << (rule.ok() ? "" : rule.error().message);
    if (!rule.ok())
      continue;
    rules.push_back(*rule);
    rules.back().compiled.slot = static_cast<uint32_t>(rules.size()) - 1;
    rules.back().compiled.id = static_cast<uint32_t>(rules.size());
  }
  return rules;
}

class Twins {
public:
  static constexpr uint32_t kStreams = 512, kPairs = 512;
  static constexpr uint64_t kSeed = 7;
  static constexpr uint64_t kCnpWindow = 3'600'000'000'000; // no clock decides what a CNP is for

  explicit Twins(uint32_t features, uint32_t uses = ~0u, bool track = true)
      : features_(features), track_(track) {
    libbpf_set_print(std::getenv("XR_LIBBPF") ? print : nullptr);
    skel_ = open_program();
    if (!skel_)
      return;
    roce_config &config = config_of(*skel_);
    config.track = track;
    config.streams = kStreams;
    config.buckets = ROCE_BUCKETS_FOR(kStreams);
    config.hash_seed = kSeed;
    config.features = features;
    config.uses = uses;
    config.cnp_window_ns = kCnpWindow;
    if (features & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME)) {
      config.pairs = kPairs;
      bpf_map__set_max_entries(skel_->maps.pairs, kStreams);
      bpf_map__set_max_entries(skel_->maps.pair_hints, ROCE_PAIR_HINTS);
      bpf_map__set_max_entries(skel_->maps.follows, kPairs);
      bpf_map__set_max_entries(skel_->maps.episodes, ROCE_FOUND_KEPT);
      bpf_map__set_max_entries(skel_->maps.findings, ROCE_FOUND_KEPT);
      bpf_map__set_max_entries(skel_->maps.timings, kPairs);
      bpf_map__set_max_entries(skel_->maps.pair_times, kPairs * ROCE_TIME_SERIES);
      bpf_map__set_max_entries(skel_->maps.port_times, ROCE_TIME_SERIES);
    }
    if (features & ROCE_FEATURE_JOB) {
      bpf_map__set_max_entries(skel_->maps.job_of, kStreams);
      bpf_map__set_max_entries(skel_->maps.job_pairs, ROCE_JOB_PAIRS);
    }
    bpf_map__set_max_entries(skel_->maps.streams, kStreams);
    bpf_map__set_max_entries(skel_->maps.buckets, ROCE_BUCKETS_FOR(kStreams));
    error_ = load_program(*skel_);
    if (error_)
      return;
    const uint32_t zero = 0;
    const bpf_devmap_val somewhere{.ifindex = 1, .bpf_prog = {.fd = -1}};
    EXPECT_EQ(0, bpf_map__update_elem(skel_->maps.forward, &zero, sizeof(zero), &somewhere,
                                      sizeof(somewhere), 0));
    begin({});
  }
  Twins(const Twins &) = delete;
  Twins &operator=(const Twins &) = delete;
  ~Twins() { xdp_roce__destroy(skel_); }

  int error() const { return skel_ ? error_ : ENOMEM; }
  xdp_roce *skeleton() const { return skel_; }
  NativeDatapath &native() { return *native_; }
  const roce_trace &native_trace() const { return native_->trace(); }

  // Resets both: nothing counted, and these rules.
  void begin(const std::vector<impair::Rule> &set) {
    native_ = std::make_unique<NativeDatapath>(NativeDatapath::Options{.track = track_,
                                                                       .streams = kStreams,
                                                                       .hash_seed = kSeed,
                                                                       .cnp_window_ns = kCnpWindow,
                                                                       .features = features_});
    for (bpf_map *map :
         {skel_->maps.opcodes, skel_->maps.totals, skel_->maps.buckets, skel_->maps.streams,
          skel_->maps.shared, skel_->maps.hints, skel_->maps.asides, skel_->maps.paces,
          skel_->maps.pairs, skel_->maps.pair_hints, skel_->maps.follows, skel_->maps.timings,
          skel_->maps.job_of, skel_->maps.job_pairs})
      clear(map);
    for (const auto &[key, src_qp] : peers_)
      native_->peer(key, src_qp);
    cnps_beside_ = not_cloned_beside_ = 0;
    rules(set);
  }

  // Sets other rules, without state; what was counted stays.
  void rules(const std::vector<impair::Rule> &set) {
    const uint32_t zero = 0;
    clear(skel_->maps.rule_states);
    clear(skel_->maps.rule_counts);
    std::map<uint32_t, std::vector<uint32_t>> points;
    for (const impair::Rule &rule : set) {
      uint32_t at = rule.compiled.slot * ROCE_RULE_POINTS;
      points[rule.compiled.slot] = rule.points;
      for (uint32_t point : rule.points) {
        EXPECT_EQ(0, bpf_map__update_elem(skel_->maps.rule_points, &at, 4, &point, 4, 0));
        at++;
      }
    }
    auto compiled = impair::make_ruleset(set);
    Fd inner(bpf_map_create(BPF_MAP_TYPE_ARRAY, "ruleset", 4, sizeof(roce_ruleset), 1, nullptr));
    EXPECT_EQ(0, bpf_map_update_elem(inner.get(), &zero, compiled.get(), 0));
    const int fd = inner.get();
    EXPECT_EQ(0, bpf_map__update_elem(skel_->maps.rules, &zero, 4, &fd, 4, 0))
        << std::strerror(errno);
    native_->rules(std::move(compiled), std::move(points));
    rule_count_ = static_cast<uint32_t>(set.size());
  }

  void peer(const std::string &words) {
    auto peer = impair::parse_peer({words});
    ASSERT_TRUE(peer.ok()) << peer.error().message;
    roce_peer key{};
    std::copy(peer->address.begin(), peer->address.end(), std::begin(key.src));
    key.dest_qp = peer->qp;
    EXPECT_EQ(0, bpf_map__update_elem(skel_->maps.peers, &key, sizeof(key), &peer->src_qp, 4, 0));
    native_->peer(key, peer->src_qp);
    peers_.emplace_back(key, peer->src_qp);
  }

  // The verdict and the resulting frame, of the program alone.
  uint32_t in_kernel(Bytes &frame) {
    Bytes out(frame.size() + 256);
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.data(), .data_out = out.data(),
                .data_size_in = static_cast<__u32>(frame.size()),
                .data_size_out = static_cast<__u32>(out.size()), .repeat = 1);
    EXPECT_EQ(0, bpf_prog_test_run_opts(bpf_program__fd(skel_->progs.xdp_roce), &opts))
        << std::strerror(errno);
    out.resize(opts.data_size_out);
    frame = std::move(out);
    return opts.retval;
  }

  Passed pass(const Bytes &frame) {
    Passed passed;
    passed.bytes = frame;
    Bytes kernel = frame;
    const uint64_t now = monotonic_ns();
    passed.fate = native_->impair(passed.bytes, now);
    if (passed.fate == Fate::GoOnWithCnp) {
      passed.cnp = native_->cnp();
      ++(passed.cnp.empty() ? not_cloned_beside_ : cnps_beside_);
    }
    const uint32_t verdict = in_kernel(kernel);
    EXPECT_EQ(verdict_of(passed.fate), verdict);
    EXPECT_EQ(passed.bytes, kernel);
    return passed;
  }

  roce_rule_count count(uint32_t slot) const {
    roce_rule_count sum{};
    for (const auto &c : per_cpu<roce_rule_count>(skel_->maps.rule_counts, slot)) {
      sum.matched += c.matched;
      sum.acted += c.acted;
      sum.matched_bytes += c.matched_bytes;
      sum.acted_bytes += c.acted_bytes;
      sum.spared += c.spared;
      sum.limited += c.limited;
      sum.not_applicable += c.not_applicable;
      sum.refused += c.refused;
    }
    return sum;
  }

  roce_rule_state state(uint32_t slot) const {
    roce_rule_state state{};
    bpf_map__lookup_elem(skel_->maps.rule_states, &slot, 4, &state, sizeof(state), 0);
    return state;
  }

  roce_totals totals() const {
    roce_totals sum{};
    for (const auto &t : per_cpu<roce_totals>(skel_->maps.totals, 0)) {
      auto *into = reinterpret_cast<__u64 *>(&sum);
      const auto *from = reinterpret_cast<const __u64 *>(&t);
      for (size_t i = 0; i < sizeof(t) / sizeof(*from); i++)
        into[i] += from[i];
    }
    return sum;
  }

  // Counters, streams and what the rules remember, but for what a clock decided.
  void expect_same(bool clocked = false) const {
    Snapshot native;
    native_->snapshot(native);
    roce_totals kernel = totals();
    kernel.cnps_sent += cnps_beside_; // by the program on the devmap, which no test run calls
    kernel.not_cloned += not_cloned_beside_;
    for (roce_totals *t : {&kernel, &native.totals})
      t->events_limited = t->events_dropped = 0;
    const auto *a = reinterpret_cast<const __u64 *>(&native.totals);
    const auto *b = reinterpret_cast<const __u64 *>(&kernel);
    for (size_t i = 0; i < sizeof(kernel) / sizeof(*a); i++)
      EXPECT_EQ(a[i], b[i]) << "total " << i;
    for (uint32_t i = 0; i < ROCE_OPCODE_COUNTS; i++)
      expect_same_opcode(native.opcodes[i], i);
    expect_same_streams(native.streams);
    for (uint32_t slot = 0; slot < rule_count_; slot++) {
      const roce_rule_count ours = native_->rule_count(slot), theirs = count(slot);
      EXPECT_EQ(ours.matched, theirs.matched) << "rule " << slot;
      EXPECT_EQ(ours.acted, theirs.acted) << "rule " << slot;
      EXPECT_EQ(ours.matched_bytes, theirs.matched_bytes) << "rule " << slot;
      EXPECT_EQ(ours.acted_bytes, theirs.acted_bytes) << "rule " << slot;
      EXPECT_EQ(ours.spared, theirs.spared) << "rule " << slot;
      EXPECT_EQ(ours.limited, theirs.limited) << "rule " << slot;
      EXPECT_EQ(ours.not_applicable, theirs.not_applicable) << "rule " << slot;
      EXPECT_EQ(ours.refused, theirs.refused) << "rule " << slot;
      roce_rule_state here = native_->rule_state(slot), there = state(slot);
      if (clocked) {
        here.backlog = there.backlog = 0;
        here.limited &= 0xffffffff; // the number of the period above depends on the clock
        there.limited &= 0xffffffff;
      }
      EXPECT_EQ(0, std::memcmp(&here, &there, sizeof(here)))
          << fmt::format("rule {}: place {} and {}, limited {} and {}, next {} and {}, word {} and "
                         "{}, draws {} and {}",
                         slot, here.place, there.place, here.limited, there.limited, here.next,
                         there.next, here.word, there.word, here.draws, there.draws);
    }
  }

private:
  static int print(libbpf_print_level level, const char *format, va_list arguments) {
    return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, arguments);
  }

  uint32_t verdict_of(Fate fate) const {
    if (fate == Fate::Gone)
      return XDP_DROP;
    if (fate == Fate::BackAsCnp && !(features_ & ROCE_FEATURE_FORWARD))
      return XDP_TX;
    return features_ & ROCE_FEATURE_FORWARD ? XDP_REDIRECT : XDP_PASS;
  }

  void expect_same_opcode(const roce_opcode_count &native, uint32_t index) const {
    roce_opcode_count sum{};
    for (const auto &c : per_cpu<roce_opcode_count>(skel_->maps.opcodes, index)) {
      for (int e = 0; e < 4; e++)
        sum.packets[e] += c.packets[e];
      sum.bytes += c.bytes;
    }
    EXPECT_EQ(0, std::memcmp(&native, &sum, sizeof(sum))) << "opcode " << index;
  }

  // A stream's state without how it came about, and without clocks.
  static roce_stream folded(roce_stream s) {
    s.packets = roce_stream_packets(&s);
    s.bytes = roce_stream_bytes(&s);
    if (s.word & ROCE_WORD_FAST)
      s.last = s.word & ROCE_WORD_PSN;
    s.base = 0;
    s.word &= 0xffffffff;
    s.event_window = 0;
    s.event_count = 0;
    s.flags &=
        (1u << ROCE_STREAM_TRANSPORT_SHIFT) - 1; // of a QP of several, only slow packets show it
    return s;
  }

  void expect_same_streams(const std::vector<roce_stream> &native) const {
    roce_shared shared{};
    const uint32_t zero = 0;
    bpf_map__lookup_elem(skel_->maps.shared, &zero, 4, &shared, sizeof(shared), 0);
    std::vector<roce_stream> streams;
    for (uint32_t id = 0; id < shared.streams_used; id++) {
      roce_stream stream{};
      bpf_map__lookup_elem(skel_->maps.streams, &id, 4, &stream, sizeof(stream), 0);
      if (roce_stream_packets(&stream))
        streams.push_back(stream);
    }
    ASSERT_EQ(native.size(), streams.size());
    for (size_t i = 0; i < streams.size(); i++) {
      const roce_stream a = folded(native[i]), b = folded(streams[i]);
      const auto *left = reinterpret_cast<const uint8_t *>(&a);
      const auto *right = reinterpret_cast<const uint8_t *>(&b);
      EXPECT_TRUE(std::equal(left, left + sizeof(a), right))
          << "stream " << i << " differs at byte "
          << std::mismatch(left, left + sizeof(a), right).first - left;
    }
  }

  template <typename T> static std::vector<T> per_cpu(const bpf_map *map, uint32_t key) {
    std::vector<T> values(static_cast<size_t>(libbpf_num_possible_cpus()));
    EXPECT_EQ(0, bpf_map__lookup_elem(map, &key, sizeof(key), values.data(),
                                      values.size() * sizeof(T), 0));
    return values;
  }

  static void clear(const bpf_map *map) {
    const uint32_t entries = bpf_map__max_entries(map);
    size_t size = bpf_map__value_size(map);
    if (bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
      size = (size + 7) / 8 * 8 * static_cast<size_t>(libbpf_num_possible_cpus());
    const std::vector<uint8_t> zeros(entries * size);
    std::vector<uint32_t> keys(entries);
    for (uint32_t i = 0; i < entries; i++)
      keys[i] = i;
    __u32 count = entries;
    EXPECT_EQ(0, bpf_map_update_batch(bpf_map__fd(map), keys.data(), zeros.data(), &count, nullptr))
        << bpf_map__name(map) << ": " << std::strerror(errno);
  }

  xdp_roce *skel_ = nullptr;
  int error_ = 0;
  uint32_t features_, rule_count_ = 0;
  bool track_;
  uint64_t cnps_beside_ = 0, not_cloned_beside_ = 0;
  std::vector<std::pair<roce_peer, uint32_t>> peers_;
  std::unique_ptr<NativeDatapath> native_;
};

#define LOAD_OR_SKIP(program)                                                                      \
  if ((program).error() == EPERM) /* EACCES is the verifier's */                                   \
    GTEST_SKIP() << "no privilege to load BPF programs";                                           \
  ASSERT_EQ(0, (program).error()) << std::strerror((program).error())

} // namespace xr::test
