// SPDX-License-Identifier: Apache-2.0
// The training job in captured traffic: pattern, steps, late ranks, incast, reordering, storms.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "sanitized.h"
#include "unit/job_frames.h"

namespace xr::test::job_traffic_test {
namespace {

constexpr uint64_t kStart = 1'000'000'000, kWireNs = 5'000, kComputeNs = 100'000'000;

// Frames in any order, analyzed in order of time.
class Traffic {
public:
  void packet(uint64_t ns, uint8_t from, uint8_t to, uint8_t opcode, uint32_t payload,
              uint32_t psn) {
    frames_.push_back({ns, from, to, opcode, payload, psn});
  }
  // With the next PSN at that time.
  void next(uint64_t ns, uint8_t from, uint8_t to, uint8_t opcode, uint32_t payload) {
    packet(ns, from, to, opcode, payload, kNext);
  }
  // A message of two packets, the last `kWireNs` after the first.
  void message(uint64_t ns, uint8_t from, uint8_t to) {
    next(ns, from, to, ROCE_RC_RDMA_WRITE_FIRST, 1024);
    next(ns + kWireNs, from, to, ROCE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 1024);
  }
  void cts(uint64_t ns, uint8_t from, uint8_t to) {
    next(ns, from, to, ROCE_RC_RDMA_WRITE_ONLY, 64);
  }
  void analyze(Analyzer &analyzer) {
    std::ranges::stable_sort(frames_, {}, &Timed::ns);
    for (const Timed &timed : frames_) {
      uint32_t psn = timed.psn;
      if (psn == kNext)
        psn = psns_[{timed.from, timed.to}]++;
      const Frame built = job_frame(timed.opcode, timed.from, timed.to, psn, timed.payload);
      analyzer.frame(captured(built, timed.ns));
    }
    frames_.clear();
  }
  JobTraffic found() {
    Analyzer analyzer({.check_icrc = false, .job = true});
    analyze(analyzer);
    return analyzer.job();
  }

private:
  static constexpr uint32_t kNext = UINT32_MAX;
  struct Timed {
    uint64_t ns = 0;
    uint8_t from = 0, to = 0, opcode = 0;
    uint32_t payload = 0, psn = 0;
  };
  std::vector<Timed> frames_;
  std::map<std::pair<uint8_t, uint8_t>, uint32_t> psns_;
};

using Late = std::function<uint64_t(int step, uint8_t rank)>;
uint64_t never(int, uint8_t) { return 0; }

// All-reduce by a ring: in each stage a rank sends what came in the stage before. Ranks are 1 to
// `ranks`. `sender` and `receiver` are late with their first data and their first CTS of a step.
struct Ring {
  uint8_t ranks = 4;
  bool cts = true;
  Late sender = never, receiver = never;

  uint64_t step(Traffic &traffic, int number, uint64_t at) const {
    std::vector<uint64_t> sent(ranks, at), came(ranks, at);
    for (int stage = 0; stage < 2 * (ranks - 1); stage++) {
      std::vector<uint64_t> next(ranks);
      for (uint8_t i = 0; i < ranks; i++) {
        const uint8_t to = (i + 1) % ranks;
        uint64_t clear = came[to] + 100, go = std::max(sent[i], came[i]) + 200;
        if (!stage) {
          clear += receiver(number, to + 1);
          go += sender(number, i + 1);
        }
        if (cts) {
          traffic.cts(clear, to + 1, i + 1);
          go = std::max(go, clear + 300);
        }
        traffic.message(go, i + 1, to + 1);
        sent[i] = next[to] = go + kWireNs;
      }
      came = next;
    }
    return *std::ranges::max_element(came);
  }
};

JobTraffic ring(const Ring &ring, int steps) {
  Traffic traffic;
  uint64_t at = kStart;
  for (int i = 0; i < steps; i++)
    at = ring.step(traffic, i, at) + kComputeNs;
  return traffic.found();
}

// The address is 192.0.2.RANK.
unsigned host_of(const JobTraffic &job, uint32_t rank) { return job.ranks[rank][3] >> 24; }

Late late_from(int step, uint8_t rank, uint64_t ns) {
  return [=](int at, uint8_t of) { return at >= step && of == rank ? ns : 0; };
}

// Each step all `edges` at once.
JobTraffic exchange(const std::vector<std::pair<uint8_t, uint8_t>> &edges) {
  Traffic traffic;
  for (uint64_t step = 0; step < 4; step++)
    for (const auto &edge : edges)
      traffic.message(kStart + step * kComputeNs, edge.first, edge.second);
  return traffic.found();
}

TEST(JobTraffic, ARingWithClearToSend) {
  const JobTraffic job = ring({}, 10);
  EXPECT_TRUE(job.is_job());
  EXPECT_EQ(job.ranks.size(), 4u);
  EXPECT_EQ(job.pattern, JobPattern::Ring);
  EXPECT_TRUE(job.cts);
  ASSERT_EQ(job.steps.size(), 10u);
  EXPECT_EQ(job.steps[0].bytes, 4u * 6 * 2048);
  // 6 stages of 200 or 400 ns and 5 us.
  EXPECT_EQ(job.steps[0].last_ns - job.steps[0].first_ns, 6 * kWireNs + 5 * 400);
  EXPECT_EQ(job.period_ns, kComputeNs + 6 * kWireNs + 6 * 400);
  EXPECT_TRUE(job.stragglers.empty());
  for (const JobEdge &edge : job.edges) {
    EXPECT_EQ(edge.messages, 60u);
    EXPECT_EQ(edge.cts, 60u);
  }
}

TEST(JobTraffic, TwoStepsAreNoPeriod) {
  const JobTraffic job = ring({}, 2);
  EXPECT_FALSE(job.is_job());
  EXPECT_EQ(job.period_ns, 0u);
}

// Less and more than an exchange takes, and more than the compute.
TEST(JobTraffic, AClientAndItsServerAreNoJob) {
  EXPECT_FALSE(exchange({{1, 2}, {2, 1}}).is_job());
  EXPECT_FALSE(exchange({{1, 2}, {3, 2}}).is_job());
  EXPECT_TRUE(exchange({{1, 2}, {2, 3}, {3, 1}}).is_job());
  EXPECT_TRUE(exchange({{1, 4}, {2, 4}, {3, 4}}).is_job());
}

TEST(JobTraffic, StepsOfAnyBytesOrTimesAreNoJob) {
  Traffic bytes, times;
  uint64_t at = kStart;
  for (unsigned step = 1; step < 12; step++) {
    at += kComputeNs * step * step;
    for (uint8_t from = 1; from <= 3; from++) {
      const uint8_t to = from % 3 + 1;
      times.message(at, from, to);
      for (unsigned i = 0; i < step * step; i++)
        bytes.message(kStart + step * kComputeNs + i, from, to);
    }
  }
  EXPECT_FALSE(bytes.found().is_job());
  EXPECT_FALSE(times.found().is_job());
}

TEST(JobTraffic, ALateSenderIsNamed) {
  for (const uint64_t late : {40'000u, 2'000'000u, 300'000'000u}) {
    const JobTraffic job = ring({.sender = late_from(5, 3, late)}, 12);
    ASSERT_EQ(job.steps.size(), 12u) << late;
    ASSERT_EQ(job.stragglers.size(), 1u) << late;
    const JobStraggler &one = job.stragglers[0];
    EXPECT_EQ(host_of(job, one.rank), 3u);
    EXPECT_EQ(one.cause, JobCause::LateSender);
    EXPECT_EQ(one.first_step, 5u);
    EXPECT_EQ(one.steps, 7u);
    // It could go on when the three messages before it in the ring had come, after 16 us.
    EXPECT_LE(one.late_ns, late + 1000);
    EXPECT_GE(one.late_ns, late - 16'000);
  }
}

TEST(JobTraffic, ALateReceiverIsNamed) {
  const JobTraffic job = ring({.receiver = late_from(5, 2, 1'000'000)}, 12);
  ASSERT_EQ(job.stragglers.size(), 1u);
  EXPECT_EQ(host_of(job, job.stragglers[0].rank), 2u);
  EXPECT_EQ(job.stragglers[0].cause, JobCause::LateReceiver);
  EXPECT_EQ(job.stragglers[0].first_step, 5u);
}

TEST(JobTraffic, WithoutClearToSendItIsALateStart) {
  const JobTraffic job = ring({.cts = false, .sender = late_from(5, 3, 1'000'000)}, 12);
  EXPECT_FALSE(job.cts);
  ASSERT_EQ(job.stragglers.size(), 1u);
  EXPECT_EQ(host_of(job, job.stragglers[0].rank), 3u);
  EXPECT_EQ(job.stragglers[0].cause, JobCause::LateStart);
}

// Late with its data in one step, with its clear-to-send in the next: one rank, from the first
// step.
TEST(JobTraffic, LateAsOneAndAsTheOther) {
  const auto in = [](int parity) {
    return [parity](int step, uint8_t rank) {
      return step >= 6 && step <= 12 && step % 2 == parity && rank == 3 ? 2'000'000u : 0u;
    };
  };
  const JobTraffic job = ring({.sender = in(0), .receiver = in(1)}, 20);
  ASSERT_EQ(job.stragglers.size(), 1u);
  EXPECT_EQ(host_of(job, job.stragglers[0].rank), 3u);
  EXPECT_EQ(job.stragglers[0].first_step, 6u);
  EXPECT_EQ(job.stragglers[0].steps, 7u);
}

TEST(JobTraffic, OneOfTwo) {
  const auto late = [](int step, uint8_t rank) {
    return step >= 3 && step < 10 && rank == 2 ? 2'000'000u : 0u;
  };
  const JobTraffic job = ring({.ranks = 2, .sender = late}, 14);
  ASSERT_EQ(job.stragglers.size(), 1u);
  EXPECT_EQ(host_of(job, job.stragglers[0].rank), 2u);
  EXPECT_EQ(job.stragglers[0].first_step, 3u);
  EXPECT_EQ(job.stragglers[0].steps, 7u);
}

// In the last step all send but one, and then only answers pass.
TEST(JobTraffic, ARankThatHangs) {
  for (const uint8_t hangs : {0, 3}) {
    Traffic traffic;
    const Ring of;
    uint64_t at = kStart;
    for (int i = 0; i < 8; i++)
      at = of.step(traffic, i, at) + kComputeNs;
    for (uint8_t from = 1; hangs && from <= 4; from++)
      if (from != hangs)
        traffic.message(at, from, from % 4 + 1);
    traffic.packet(at + 20 * kComputeNs, 2, 1, ROCE_RC_ACKNOWLEDGE, 0, 5);
    const JobTraffic job = traffic.found();
    EXPECT_TRUE(job.is_job());
    ASSERT_EQ(job.silent.size(), hangs ? 1u : 0u);
    if (hangs) {
      EXPECT_EQ(host_of(job, job.silent[0]), hangs);
      EXPECT_NEAR(static_cast<double>(job.silent_ns), 20. * kComputeNs, 2. * kWireNs);
    }
  }
}

TEST(JobTraffic, OnceIsNoStraggler) {
  const JobTraffic job = ring(
      {.sender = [](int step, uint8_t rank) { return step == 5 && rank == 3 ? 1'000'000u : 0u; }},
      12);
  EXPECT_TRUE(job.stragglers.empty());
}

// An hour of steps of 100 ms, ranks late at random, often by much more than all others.
// Steps of a tenth of a second; fewer where each takes ten times as long.
constexpr int kHour = kSanitized ? 2000 : 36'000;

TEST(JobTraffic, NoAlarmInAnHourOfJitter) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> few(std::log(20'000.0), 1.0);
    const Late jitter = [&](int, uint8_t) { return static_cast<uint64_t>(few(random)); };
    const Ring of{
        .ranks = uint8_t(seed == 3 ? 2 : 4), .cts = true, .sender = jitter, .receiver = jitter};
    Traffic traffic;
    Analyzer analyzer({.check_icrc = false, .job = true});
    uint64_t at = kStart;
    for (int i = 0; i < kHour; i++) {
      at = of.step(traffic, i, at) + kComputeNs;
      traffic.analyze(analyzer);
    }
    const JobTraffic job = analyzer.job();
    EXPECT_EQ(job.steps.size(), static_cast<size_t>(kHour));
    EXPECT_EQ(job.stragglers.size(), 0u);
    EXPECT_EQ(job.samples_full, 0u);
  }
}

JobPattern pattern(unsigned ranks, const std::function<bool(unsigned, unsigned)> &sends) {
  std::vector<std::pair<uint8_t, uint8_t>> edges;
  for (unsigned from = 0; from < ranks; from++)
    for (unsigned to = 0; to < ranks; to++)
      if (from != to && sends(from, to))
        edges.emplace_back(from + 1, to + 1);
  return exchange(edges).pattern;
}

TEST(JobTraffic, Patterns) {
  const auto power = [](unsigned n) { return (n & (n - 1)) == 0; };
  EXPECT_EQ(pattern(8, [](unsigned a, unsigned b) { return b == (a + 1) % 8; }), JobPattern::Ring);
  EXPECT_EQ(pattern(8, [](unsigned a, unsigned b) { return b == (a + 1) % 8 || a == (b + 1) % 8; }),
            JobPattern::BidirectionalRing);
  for (const unsigned ranks : {4u, 8u, 16u})
    EXPECT_EQ(pattern(ranks, [&](unsigned a, unsigned b) { return power(a ^ b); }),
              JobPattern::Pairs);
  EXPECT_EQ(
      pattern(7, [](unsigned a,
                    unsigned b) { return (a && (a - 1) / 2 == b) || (b && (b - 1) / 2 == a); }),
      JobPattern::Tree);
  EXPECT_EQ(pattern(5, [](unsigned, unsigned) { return true; }), JobPattern::AllToAll);
  EXPECT_EQ(pattern(9, [](unsigned, unsigned b) { return b == 0; }), JobPattern::Incast);
  // Two circles, and a random graph.
  EXPECT_EQ(
      pattern(8, [](unsigned a, unsigned b) { return a / 4 == b / 4 && b % 4 == (a + 1) % 4; }),
      JobPattern::Other);
  EXPECT_EQ(pattern(8, [](unsigned a, unsigned b) { return (a * 5 + b * 3) % 7 == 1; }),
            JobPattern::Other);
}

TEST(JobTraffic, IncastOfKnownDegree) {
  Traffic traffic;
  for (uint8_t from = 1; from <= 12; from++) // each 2 us one: 5 within 10 us, half open
    traffic.next(kStart + from * 2000u, from, 20, ROCE_RC_RDMA_WRITE_ONLY, 1024);
  traffic.next(kStart + 500'000, 13, 20, ROCE_RC_RDMA_WRITE_ONLY, 1024);
  const JobTraffic job = traffic.found();
  EXPECT_EQ(job.incast[0].senders, 5u);
  EXPECT_EQ(job.incast[1].senders, 12u);
  EXPECT_EQ(job.incast[2].senders, 13u);
  EXPECT_EQ(job.incast[2].at_ns, kStart + 500'000);
  EXPECT_EQ(host_of(job, job.incast[0].to), 20u);
}

void send(Traffic &traffic, const std::vector<uint32_t> &psns) {
  uint64_t at = kStart;
  for (const uint32_t psn : psns)
    traffic.packet(at += 1000, 1, 2, ROCE_RC_RDMA_WRITE_ONLY, 1024, psn);
}

TEST(JobTraffic, ReorderingExtents) {
  Traffic traffic;
  // 2 came one packet late; 5 came five late, 10 never.
  send(traffic, {0, 1, 3, 2, 4, 6, 7, 8, 9, 11, 5, 12});
  const JobTraffic job = traffic.found();
  EXPECT_EQ(job.reordered[0], 1u);
  EXPECT_EQ(job.reordered[2], 1u);
  EXPECT_EQ(std::accumulate(job.reordered.begin(), job.reordered.end(), uint64_t{0}), 2u);
  EXPECT_EQ(job.extents_unknown, 0u);
}

TEST(JobTraffic, SentAgainIsNotReordered) {
  Traffic traffic;
  send(traffic, {0, 1, 3, 4, 5, 2, 3, 4, 5, 6});
  const JobTraffic job = traffic.found();
  EXPECT_EQ(std::accumulate(job.reordered.begin(), job.reordered.end(), uint64_t{0}), 0u);
  EXPECT_EQ(job.extents_unknown, 0u);
}

// `streams` go back within 1 ms, one again each 2 ms.
TEST(JobTraffic, AStormIsOfManyAtOnce) {
  for (const uint8_t streams : {3, 6}) {
    Traffic traffic;
    for (uint8_t from = 1; from <= streams; from++) {
      uint64_t at = kStart + from * 100'000u;
      for (const uint32_t psn : {0u, 1u, 2u, 3u, 1u, 2u, 3u, 4u})
        traffic.packet(at += 1000, from, 20, ROCE_RC_RDMA_WRITE_ONLY, 1024, psn);
    }
    for (uint64_t i = 1; i < 10; i++)
      for (const uint32_t psn : {4u, 5u, 6u, 5u, 6u})
        traffic.packet(kStart + i * 2'000'000 + psn, 1, 20, ROCE_RC_RDMA_WRITE_ONLY, 1024, psn);
    const JobTraffic job = traffic.found();
    ASSERT_EQ(job.storms.size(), streams >= 4 ? 1u : 0u);
    if (streams >= 4) {
      EXPECT_EQ(job.storms[0].qps, 6u);
      EXPECT_EQ(job.storms[0].rewinds, 6u);
      EXPECT_LT(job.storms[0].last_ns, kStart + 1'000'000);
    }
  }
}

} // namespace
} // namespace xr::test::job_traffic_test
