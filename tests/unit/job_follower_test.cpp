// SPDX-License-Identifier: Apache-2.0
// A job from the bursts that a port keeps: the steps that a capture of the same frames has, and the
// rank that starts late; read often or seldom.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "analysis/job_follower.h"
#include "native/native_datapath.h"
#include "sanitized.h"
#include "unit/job_frames.h"

namespace xr::test::job_follower_test {
namespace {

constexpr uint64_t kStart = 1'000'000'000, kWireNs = 5'000, kComputeNs = 100'000'000;

// Frames in the order of time: to the analyzer, and to a port that keeps bursts.
class Wire {
public:
  void message(uint64_t ns, uint8_t from, uint8_t to) {
    frames_.push_back({ns, from, to, ROCE_RC_RDMA_WRITE_FIRST});
    frames_.push_back({ns + kWireNs, from, to, ROCE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE});
  }
  void long_message(uint64_t ns, uint64_t took_ns, uint8_t from, uint8_t to) {
    frames_.push_back({ns, from, to, ROCE_RC_RDMA_WRITE_FIRST});
    frames_.push_back({ns + took_ns, from, to, ROCE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE});
  }
  // Reads the port after `every` ns of each time.
  void pass(uint64_t every) {
    std::ranges::stable_sort(frames_, {}, &Timed::ns);
    for (const Timed &timed : frames_) {
      for (; read_ + every < timed.ns; read_ += every)
        follower.add(port_.job(), read_ + every);
      const Frame built =
          job_frame(timed.opcode, timed.from, timed.to, psns_[{timed.from, timed.to}]++, 1024);
      const CapturedFrame frame = captured(built, timed.ns);
      analyzer.frame(frame);
      port_.frame({.data = built.bytes.data(),
                   .captured = frame.captured,
                   .length = built.length,
                   .time_ns = timed.ns,
                   .number = 0,
                   .order = 0,
                   .damaged = false});
      now_ = timed.ns;
    }
    frames_.clear();
  }
  JobTraffic live() {
    follower.add(port_.job(), now_ + kComputeNs / 2);
    return follower.live().job;
  }

  Analyzer analyzer{{.check_icrc = false, .job = true}};
  JobFollower follower;

private:
  struct Timed {
    uint64_t ns = 0;
    uint8_t from = 0, to = 0, opcode = 0;
  };
  NativeDatapath port_{{.hash_seed = 3, .features = ROCE_FEATURE_JOB}};
  std::vector<Timed> frames_;
  std::map<std::pair<uint8_t, uint8_t>, uint32_t> psns_;
  uint64_t read_ = kStart, now_ = 0;
};

// A ring: in each stage a rank sends what came in the stage before, `late(step, rank)` after it
// could begin with the first.
template <typename Late>
void ring(Wire &wire, uint8_t ranks, int steps, uint64_t every, const Late &late) {
  uint64_t at = kStart;
  for (int step = 0; step < steps; step++) {
    std::vector<uint64_t> sent(ranks, at), came(ranks, at), next(ranks);
    for (int stage = 0; stage < 2 * (ranks - 1); stage++) {
      for (uint8_t i = 0; i < ranks; i++) {
        const uint64_t go = std::max(sent[i], came[i]) + 20'000 + (stage ? 0 : late(step, i + 1));
        wire.message(go, i + 1, (i + 1) % ranks + 1);
        sent[i] = next[(i + 1) % ranks] = go + kWireNs;
      }
      came = next;
    }
    at = *std::ranges::max_element(came) + kComputeNs;
    wire.pass(every);
  }
}

unsigned host_of(const JobTraffic &job, uint32_t rank) { return job.ranks[rank][3] >> 24; }

TEST(JobFollower, FindsTheStepsOfACapture) {
  for (const uint8_t ranks : {3, 4, 8})
    for (const uint64_t every : {uint64_t{1'000'000}, uint64_t{70'000'000}}) {
      Wire wire;
      ring(wire, ranks, 40, every, [](int, uint8_t) { return uint64_t{0}; });
      const JobTraffic seen = wire.analyzer.job(), live = wire.live();
      EXPECT_TRUE(live.is_job());
      EXPECT_EQ(live.pattern, JobPattern::Ring);
      EXPECT_EQ(seen.pattern, JobPattern::Ring);
      EXPECT_EQ(live.ranks.size(), ranks);
      ASSERT_EQ(live.steps.size(), seen.steps.size());
      for (size_t i = 0; i < seen.steps.size(); i++) {
        EXPECT_EQ(live.steps[i].first_ns, seen.steps[i].first_ns);
        EXPECT_EQ(live.steps[i].last_ns, seen.steps[i].last_ns);
        EXPECT_EQ(live.steps[i].bytes, seen.steps[i].bytes);
      }
      EXPECT_EQ(live.period_ns, seen.period_ns);
      EXPECT_TRUE(live.stragglers.empty());
      EXPECT_EQ(wire.follower.live().missed, 0U);
    }
}

// On a slow link the stages of the first two steps look like steps, with a long silence after each
// sixth: none of them is called late.
TEST(JobFollower, StagesAreNotSettledSteps) {
  constexpr uint64_t kTookNs = 13'000'000, kDelayNs = 4'000'000;
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<uint64_t> jitter(0, 1'000'000);
    Wire wire;
    uint64_t at = kStart;
    for (int step = 1; step <= 12; step++) {
      std::vector<uint64_t> ready(4, at);
      for (int stage = 0; stage < 6; stage++) {
        std::vector<uint64_t> next(4);
        for (uint8_t i = 0; i < 4; i++) {
          const uint64_t go = ready[i] + jitter(random);
          wire.long_message(go, kTookNs, i + 1, (i + 1) % 4 + 1);
          next[i] = std::max(next[i], go + kTookNs);
          next[(i + 1) % 4] = std::max(next[(i + 1) % 4], go + kTookNs + kDelayNs);
        }
        ready = next;
      }
      at = *std::ranges::max_element(ready) + kComputeNs;
      wire.pass(100'000'000);
      const size_t steps = wire.live().steps.size();
      const bool settled = wire.follower.live().settled;
      EXPECT_EQ(settled, step >= 8) << steps << " steps of " << step;
      if (settled) {
        EXPECT_EQ(steps, step);
      }
    }
  }
}

TEST(JobFollower, NamesTheRankThatStartsLate) {
  Wire wire;
  ring(wire, 4, 30, 50'000'000,
       [](int step, uint8_t rank) { return step >= 20 && rank == 3 ? 30'000'000U : 0U; });
  const JobTraffic live = wire.live();
  ASSERT_EQ(live.stragglers.size(), 1U);
  EXPECT_EQ(host_of(live, live.stragglers[0].rank), 3U);
  EXPECT_EQ(live.stragglers[0].first_step, 20U);
  EXPECT_EQ(live.steps[20].late_rank, live.stragglers[0].rank);
  EXPECT_NEAR(static_cast<double>(live.steps[20].late_ns), 30e6, 1e6);
  EXPECT_EQ(live.steps[19].late_rank, JobStep::kNoRank);
}

// Late by four times the noise of all, which in one step may be chance. It is measured from when
// its data had come, so as less.
TEST(JobFollower, NamesARankThatIsModeratelyLateInNoise) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(3e6, 1e6);
    const auto late = [&](int, uint8_t rank) {
      return static_cast<uint64_t>(std::max(0.0, noise(random)) + (rank == 2 ? 4e6 : 0));
    };
    Wire wire;
    ring(wire, 4, 128, 50'000'000, late);
    for (const JobTraffic &job : {wire.live(), wire.analyzer.job()}) {
      ASSERT_FALSE(job.stragglers.empty());
      for (const JobStraggler &one : job.stragglers)
        EXPECT_EQ(host_of(job, one.rank), 2U);
      EXPECT_NEAR(static_cast<double>(job.stragglers[0].late_ns), 4e6, 1.5e6);
    }
  }
}

TEST(JobFollower, NoAlarmInJitter) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> few(std::log(1e6), 1.0);
  Wire wire;
  const int steps = kSanitized ? 300 : 3000;
  ring(wire, 4, steps, 50'000'000,
       [&](int, uint8_t) { return static_cast<uint64_t>(few(random)); });
  EXPECT_TRUE(wire.live().stragglers.empty());
  EXPECT_TRUE(wire.analyzer.job().stragglers.empty());
  const LiveJob live = wire.follower.live();
  EXPECT_EQ(live.steps_before + live.job.steps.size(), static_cast<uint64_t>(steps));
  EXPECT_LE(live.job.steps.size(), 2 * JobFollower::kSteps + 1);
}

// Read too seldom: what was overwritten is counted, and what is left is of one piece.
TEST(JobFollower, CountsWhatItMissed) {
  Wire wire;
  ring(wire, 8, 40, 1'000'000'000, [](int, uint8_t) { return uint64_t{0}; });
  const JobTraffic live = wire.live();
  EXPECT_GT(wire.follower.live().missed, 0U);
  for (const JobStraggler &one : live.stragglers)
    ADD_FAILURE() << host_of(live, one.rank);
}

} // namespace
} // namespace xr::test::job_follower_test
