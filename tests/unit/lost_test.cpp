// SPDX-License-Identifier: Apache-2.0
// What was lost before an observer: paths with known losses through include/roce (README.md 7).
// XR_SEEDS=n runs n seeds of each path.
#include <cstdlib>

#include <gtest/gtest.h>

#include "lossy_path.h"
#include "model/stream_loss.h"
#include "sanitized.h"
#include "steps.h"

namespace xr::test::lost_test {
namespace {

uint64_t seeds() {
  const char *text = getenv("XR_SEEDS");
  return text ? strtoull(text, nullptr, 0) : kSanitized ? 2 : 6;
}

struct Sum {
  PathLosses truth;
  uint64_t least = 0, most = 0, late = 0, after = 0; // as counted
  uint64_t runs = 0;
  // Runs in which `least` is more than the truth, `most` less than what can be seen, and `most`
  // with the losses that are hidden less than the truth.
  uint64_t too_many = 0, too_few = 0, above = 0;

  uint64_t visible() const { return truth.before - truth.hidden; }
};

uint64_t count(const roce_stream &s, int counter) { return roce_stream_counter(&s, counter); }

void add_run(Sum &sum, const PathLosses &truth, const roce_stream &s) {
  const roce_lost lost = roce_stream_lost(&s);
  const uint64_t most = lost.sure + lost.unsure;
  sum.runs++;
  sum.truth.before += truth.before;
  sum.truth.hidden += truth.hidden;
  sum.truth.after += truth.after;
  sum.truth.late += truth.late;
  sum.least += lost.sure;
  sum.most += most;
  sum.late += count(s, ROCE_LATE);
  sum.after += count(s, ROCE_LOST_AFTER);
  sum.too_many += lost.sure > truth.before;
  sum.too_few += most < truth.before - truth.hidden;
  sum.above += most + hidden_losses(go_backs(s), most, roce_stream_packets(&s)) < truth.before;
}

Sum run(LossyPath path, double lost, bool naks_pass) {
  Sum sum;
  path.lost_before = lost;
  for (uint64_t seed = 1; seed <= seeds(); seed++) {
    const uint32_t base = static_cast<uint32_t>(seed * 0x51234567) & 0xffffff;
    MemoryTable table(16);
    roce_env env(table);
    const auto packet = [&](uint32_t psn) {
      feed(env, frame_of(only(static_cast<int>(psn)), base));
    };
    const auto nak = [&](uint32_t psn) {
      if (!naks_pass)
        return;
      roce_stream &s = table.streams.at(0);
      roce_lost_nak(&s, s.word & ROCE_WORD_PSN, (base + psn) & 0xffffff);
    };
    const PathLosses truth = run_lossy_path(path, seed, packet, nak);
    add_run(sum, truth, table.streams.at(0));
  }
  printf(
      "%.1f %%: %lu lost before, %lu of them hidden; counted %lu to %lu; %lu of %lu late, %lu of "
      "%lu after\n",
      lost * 100, sum.truth.before, sum.truth.hidden, sum.least, sum.most, sum.late, sum.truth.late,
      sum.after, sum.truth.after);
  return sum;
}

constexpr double kLosses[] = {0.001, 0.01, 0.02, 0.05, 0.2};

// A share of `whole`, in percent.
uint64_t share(uint64_t percent, uint64_t whole) { return percent * whole / 100; }

TEST(Lost, NothingIsNothing) {
  for (const bool selective : {false, true}) {
    const Sum sum = run({.selective = selective}, 0, true);
    EXPECT_EQ(sum.most + sum.late + sum.after, 0u);
  }
}

// Exact but for what is lost just before a go-back, which no observer sees.
TEST(Lost, GoBackN) {
  for (const LossyPath &path : {LossyPath{}, LossyPath{.naks_lost = 0.02, .acks_lost = 0.02}})
    for (const bool naks_pass : {false, true})
      for (const double lost : kLosses) {
        const Sum sum = run(path, lost, naks_pass);
        EXPECT_EQ(sum.too_many, 0u);
        EXPECT_GE(sum.least, share(99, sum.visible()));
        EXPECT_LE(sum.above, 1 + share(15, sum.runs));
        EXPECT_LE(sum.late, 1 + sum.runs / 20);
      }
}

TEST(Lost, LatePacketsAreNotLost) {
  const Sum sum = run({.late = 0.01}, 0, false);
  EXPECT_LE(sum.too_many, 1 + share(15, sum.runs));
  EXPECT_LE(sum.least, share(1, sum.truth.late));
  EXPECT_GE(sum.late, share(60, sum.truth.late));
}

TEST(Lost, LateAndLost) {
  for (const bool naks_pass : {false, true})
    for (const double lost : kLosses) {
      const Sum sum = run({.late = 0.01}, lost, naks_pass);
      EXPECT_LE(sum.too_many, 1 + share(15, sum.runs));
      EXPECT_LE(sum.too_few, share(5, sum.runs));
    }
}

// A resent packet that is lost, too, leaves no trace.
TEST(Lost, SelectiveRepeatWithItsNaks) {
  for (const double lost : {0.001, 0.01, 0.02}) {
    const Sum sum = run({.selective = true}, lost, true);
    EXPECT_EQ(sum.too_many, 0u);
    EXPECT_GE(sum.least, share(90, sum.visible()));
    EXPECT_GE(sum.most, share(99, sum.visible()));
  }
}

// Without the NAKs, a packet that is sent again alone looks late.
TEST(Lost, SelectiveRepeatWithoutNaks) {
  for (const LossyPath &path :
       {LossyPath{.selective = true}, LossyPath{.late = 0.02, .selective = true, .silent = true}})
    for (const double lost : kLosses) {
      const Sum sum = run(path, lost, false);
      EXPECT_LE(sum.too_many, share(2, sum.runs));
      EXPECT_GE(sum.most, share(lost < 0.1 ? 90 : 80, sum.visible()));
    }
}

TEST(Lost, AfterTheObserver) {
  const Sum none = run({.lost_after = 0.01}, 0, true);
  EXPECT_EQ(none.most, 0u);
  for (const double lost : kLosses) {
    const Sum sum = run({.lost_after = 0.01}, lost, true);
    EXPECT_EQ(sum.too_many, 0u);
    EXPECT_GE(sum.least, share(98, sum.visible()));
    EXPECT_LE(sum.after, sum.truth.after);
    EXPECT_GE(sum.after, share(lost < 0.05 ? 50 : 10, sum.truth.after));
  }
}

TEST(Lost, AfterTheObserverWithoutNaks) {
  for (const double lost : kLosses) {
    const Sum sum = run({.lost_after = 0.01}, lost, false);
    EXPECT_EQ(sum.too_many, 0u);
    EXPECT_EQ(sum.after, 0u);
    EXPECT_GE(sum.most, share(95, sum.visible()));
  }
}

} // namespace
} // namespace xr::test::lost_test
