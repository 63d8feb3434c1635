// SPDX-License-Identifier: Apache-2.0
// The rules of DCQCN's reaction point, each with its source. Rates in Mbit/s.
#include "congestion/dcqcn.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace xr::congestion::dcqcn_test {
namespace {

constexpr uint64_t kUs = 1000;
constexpr double kMbit = 1e6;

size_t preset_named(std::string_view name) {
  const auto names = dcqcn_presets();
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == name)
      return i;
  ADD_FAILURE() << name;
  return 0;
}

// A QP of a preset; `words` change its parameters.
class Qp {
public:
  Qp(std::string_view preset, std::initializer_list<const char *> words, double line = 100e9)
      : dcqcn_(settings(preset, words, line)) {
    dcqcn_.start(0);
  }
  static std::shared_ptr<const DcqcnSettings>
  settings(std::string_view preset, std::initializer_list<const char *> words, double line) {
    DcqcnParameters parameters(preset_named(preset));
    for (const char *word : words)
      EXPECT_TRUE(parameters.set(word).ok()) << word;
    return std::make_shared<const DcqcnSettings>(resolve(parameters, line));
  }
  double rate(uint64_t us) { return dcqcn_.state(us * kUs).rate / kMbit; }
  double target(uint64_t us) { return dcqcn_.state(us * kUs).target / kMbit; }
  double alpha(uint64_t us) { return dcqcn_.state(us * kUs).alpha; }
  ControlState state(uint64_t us) { return dcqcn_.state(us * kUs); }
  void cnp(uint64_t us) { dcqcn_.cnp(us * kUs); }
  void sent(uint64_t us, uint32_t bytes) { dcqcn_.sent(us * kUs, bytes); }
  Dcqcn &operator*() { return dcqcn_; }

private:
  Dcqcn dcqcn_;
};

// SIGCOMM'15, figure 7: the target is the rate before; the old alpha cuts; then alpha rises.
TEST(Dcqcn, PaperCutsWithTheOldAlpha) {
  Qp qp("paper", {"g=1/256"}, 40e9);
  EXPECT_EQ(qp.rate(0), 40000);
  qp.cnp(10);
  EXPECT_EQ(qp.rate(10), 20000);
  EXPECT_EQ(qp.target(10), 40000);
  EXPECT_EQ(qp.alpha(10), 1);
  const double alpha = qp.alpha(10 + 55);
  EXPECT_DOUBLE_EQ(alpha, .99609375); // g 1/256: 1 -> .99609375
  Qp low("paper", {"alpha-initial=0.5"}, 40e9);
  low.cnp(10);
  EXPECT_EQ(low.rate(10), 40000 * .75);
  EXPECT_DOUBLE_EQ(low.alpha(10), 0.5 * 255 / 256 + 1.0 / 256);
}

// SIGCOMM'15: before the first CNP there is no limit, and alpha does not fall.
TEST(Dcqcn, NothingHappensBeforeTheFirstCnp) {
  Qp qp("paper", {}, 40e9);
  for (uint64_t us = 0; us < 10'000; us += 10)
    qp.sent(us, 50'000);
  EXPECT_EQ((*qp).wake_at(), kNever);
  EXPECT_EQ(qp.alpha(10'000), 1);
  qp.cnp(10'001);
  EXPECT_EQ(qp.rate(10'001), 20000);
}

// SIGCOMM'15: no CNP for 55 us: alpha falls, again and again; a CNP resets the timer.
TEST(Dcqcn, AlphaFallsWithoutCnps) {
  Qp qp("paper", {}, 40e9);
  qp.cnp(0);
  EXPECT_EQ(qp.alpha(54), 1);
  EXPECT_DOUBLE_EQ(qp.alpha(55 * 3), std::pow(255.0 / 256, 3));
  qp.cnp(200);
  const double raised = std::pow(255.0 / 256, 3) * 255 / 256 + 1.0 / 256;
  EXPECT_DOUBLE_EQ(qp.alpha(254), raised);
  EXPECT_DOUBLE_EQ(qp.alpha(255), raised * 255 / 256);
}

// SIGCOMM'15: fast recovery while max(T, B) < F, then additive.
TEST(Dcqcn, FastRecoveryThenAdditiveIncrease) {
  Qp qp("paper", {}, 40e9);
  qp.cnp(0);
  double rate = 20000, target = 40000;
  for (uint64_t i = 1; i <= 10; i++) {
    if (i >= 5)
      target = std::min(target + 40, 40000.0);
    rate = (rate + target) / 2;
    EXPECT_DOUBLE_EQ(qp.rate(i * 55), rate) << i;
  }
  const ControlState state = qp.state(550);
  EXPECT_EQ(state.fast, 4U);
  EXPECT_EQ(state.additive, 6U);
  EXPECT_EQ(state.hyper, 0U);
}

// SIGCOMM'15: B bytes are an increase too, and a CNP resets both counters.
TEST(Dcqcn, TheByteCounterIncreases) {
  Qp qp("paper", {"byte-counter=10000", "rate-timer=1000us"}, 40e9);
  qp.cnp(0);
  for (uint64_t i = 1; i <= 9; i++)
    qp.sent(i, 1000);
  EXPECT_EQ(qp.rate(9), 20000);
  qp.sent(10, 1000);
  EXPECT_EQ(qp.rate(10), 30000);
  for (uint64_t i = 11; i <= 19; i++)
    qp.sent(i, 1000);
  qp.cnp(20);
  const double cut = qp.rate(20);
  qp.sent(21, 1000);
  EXPECT_EQ(qp.rate(21), cut);
}

// SIGCOMM'15 and QCN: hyper increase once both counters passed F, by i x Rhai.
TEST(Dcqcn, HyperIncreaseNeedsBothCounters) {
  Qp qp("paper", {"byte-counter=1000", "rate-timer=100us", "threshold=2", "rhai=100mbit"}, 400e9);
  for (int i = 0; i < 8; i++)
    qp.cnp(0);
  for (uint64_t i = 1; i <= 6; i++)
    qp.sent(i, 1000); // six by bytes, none by time
  EXPECT_EQ(qp.state(6).hyper, 0U);
  EXPECT_EQ(qp.state(200).hyper, 0U); // two by time: min = F
  const double target = qp.target(200);
  EXPECT_DOUBLE_EQ(qp.target(300), target + 100); // min = 3: i = 1
  EXPECT_DOUBLE_EQ(qp.target(400), target + 300); // i = 2
  EXPECT_EQ(qp.state(400).hyper, 2U);
}

// Vectors worked out by hand, in whole Mbit/s: one increase each.
TEST(Dcqcn, IncreasesInWholeMbit) {
  // Rt 100000, Rc 10000 -> 55000 in fast recovery.
  Qp fast("nvidia",
          {"first-cnp=0", "threshold=5", "clamp-after-time=off", "alpha-initial=0.9999",
           "max-cut=90", "gd=10", "monitor-period=0", "cut-at=cnp", "min-rate=10000mbit"});
  fast.cnp(0);
  EXPECT_EQ(fast.rate(0), 10000);
  EXPECT_EQ(fast.target(0), 100000);
  EXPECT_EQ(fast.rate(300), 55000);
  EXPECT_EQ(fast.target(300), 100000);
}

// Increases in whole Mbit/s: additive 5 (Rt 90000, Rc 80000 -> 90005, 85002) and hyper 15 (90015,
// 85007), from a cut of a ninth at 90000.
TEST(Dcqcn, AdditiveAndHyperInWholeMbit) {
  struct Case {
    const char *stages, *threshold, *rhai;
    double target, rate;
  };
  for (const Case &c : {Case{"stages=count-first", "threshold=1", "rhai=15mbit", 90005, 85002},
                        Case{"stages=count-after", "threshold=1", "rhai=15mbit", 90000, 85000}}) {
    Qp qp("nvidia", {c.stages, c.threshold, c.rhai, "first-cnp=90000mbit", "cut-at=cnp", "clamp=on",
                     "monitor-period=0", "min-rate=80000mbit"});
    qp.cnp(0);
    EXPECT_EQ(qp.rate(0), 90000);
    qp.cnp(1); // by half, but not below 80000
    EXPECT_EQ(qp.rate(1), 80000);
    EXPECT_EQ(qp.target(1), 90000);
    EXPECT_EQ(qp.target(301), c.target);
    EXPECT_EQ(qp.rate(301), c.rate);
  }
  // Hyper at once: HPCC's order with F = 1 has fast, additive, hyper; with Rai 0 the target is
  // 90000 until the third.
  Qp qp("nvidia",
        {"stages=count-after", "threshold=1", "rai=0", "rhai=15mbit", "first-cnp=90000mbit",
         "cut-at=cnp", "clamp=on", "monitor-period=0", "min-rate=80000mbit"});
  qp.cnp(0);
  qp.cnp(1);
  EXPECT_EQ(qp.rate(601), 87500);
  EXPECT_EQ(qp.target(901), 90015);
  EXPECT_EQ(qp.rate(901), (87500 + 90015) / 2);
}

// CNP with alpha = 1 from Rt = Rc = 10000: Rc 5000, then 2500; Rt 10000, then 5000 with clamp, or
// 10000 without clamp and no stage passed.
TEST(Dcqcn, TheTargetWithAndWithoutClamp) {
  for (const bool clamp : {true, false}) {
    Qp qp("paper", {clamp ? "clamp=on" : "clamp=off", "clamp-after-time=off"}, 10e9);
    qp.cnp(0);
    EXPECT_EQ(qp.rate(0), 5000);
    EXPECT_EQ(qp.target(0), 10000);
    qp.cnp(50);
    EXPECT_NEAR(qp.rate(50), 2500, 1e-9);
    EXPECT_EQ(qp.target(50), clamp ? 5000 : 10000);
  }
}

// isekai and ns3-rdma rpr_cnm_received: without clamp, a byte stage clamps; a time stage if
// clamp-after-time is set.
TEST(Dcqcn, StagesThatClamp) {
  for (const bool after : {true, false}) {
    Qp time("nvidia", {after ? "clamp-after-time=on" : "clamp-after-time=off", "cut-at=cnp"});
    time.cnp(0);
    const double recovered = time.rate(300);
    time.cnp(310);
    EXPECT_EQ(time.target(310), after ? recovered : time.target(300)) << after;
  }
  Qp bytes("nvidia", {"clamp-after-time=off", "cut-at=cnp", "byte-counter=100"});
  bytes.cnp(0);
  bytes.sent(10, 6400);
  const double recovered = bytes.rate(10);
  bytes.cnp(20);
  EXPECT_EQ(bytes.target(20), recovered);
}

// A second CNP within the monitor period changes nothing.
TEST(Dcqcn, OneCutInAMonitorPeriod) {
  Qp irdma("irdma", {}, 40e9);
  irdma.cnp(0);
  const double rate = irdma.rate(0), alpha = irdma.alpha(0);
  irdma.cnp(49);
  EXPECT_EQ(irdma.rate(49), rate);
  EXPECT_EQ(irdma.alpha(49), alpha);
  EXPECT_EQ(irdma.state(49).cnps_unused, 1U);
  irdma.cnp(50);
  EXPECT_LT(irdma.rate(50), rate);
  Qp nvidia("nvidia", {});
  nvidia.cnp(0);
  EXPECT_EQ(nvidia.rate(3), 100000); // applied at the period's end
  nvidia.cnp(3);
  EXPECT_LT(nvidia.rate(5), 100000);
  EXPECT_EQ(nvidia.state(7).cuts, 1U);
  EXPECT_EQ(nvidia.state(7).cnps, 2U);
}

// alpha in 1/1024, G 1019: 1023 -> 1018 without a CNP, rounded down.
TEST(Dcqcn, AlphaInWhole1024ths) {
  Qp qp("nvidia", {"alpha-timer=55us"});
  qp.cnp(0);
  EXPECT_EQ(qp.alpha(0) * 1024, 1023);
  EXPECT_EQ(qp.alpha(55) * 1024, 1018);
  EXPECT_EQ(qp.alpha(110) * 1024, 1013); // 1018 x 1019 / 1024 = 1013.03
  qp.cnp(120);
  EXPECT_EQ(qp.alpha(165) * 1024, 1013 * 1019 / 1024 + 5);
}

// isekai: rate - (rate x alpha >> 11), at least rate x min_dec_fac / 100, at least the minimum.
TEST(Dcqcn, TheNicsCut) {
  Qp qp("nvidia", {"cut-at=cnp"});
  qp.cnp(0);
  EXPECT_EQ(qp.rate(0), 100000 - (100000 * 1023 >> 11));
  Qp whole("nvidia", {"cut-at=cnp", "gd=10"}); // alpha itself: limited by the largest cut
  whole.cnp(0);
  EXPECT_EQ(whole.rate(0), 50000);
  Qp otg("otg", {});
  otg.cnp(0);
  EXPECT_DOUBLE_EQ(otg.rate(0), 90000); // at most 10 %
}

TEST(Dcqcn, TheLeastRate) {
  Qp qp("paper", {"min-rate=300mbit"}, 1e9);
  qp.cnp(0);
  qp.cnp(1);
  EXPECT_EQ(qp.rate(1), 300);
}

// ns3-rdma rpr_cnm_received: alpha first.
TEST(Dcqcn, Ns3RaisesAlphaFirst) {
  Qp qp("ns3-rdma", {}, 40e9);
  qp.cnp(0);
  const double alpha = 0.5 * 255 / 256 + 1.0 / 256;
  EXPECT_DOUBLE_EQ(qp.alpha(0), alpha);
  EXPECT_EQ(qp.rate(0), std::floor(40e9 * (1 - alpha / 2)) / kMbit);
}

// ns3-rdma: F - 1 steps of fast recovery, hyper from min = F on, by Rhai x (min - F + 1), and the
// timer halves then; the target has no cap.
TEST(Dcqcn, Ns3HyperHalvesTheTimer) {
  Qp qp("ns3-rdma",
        {"threshold=2", "rate-timer=100us", "byte-counter=1000", "rai=10mbit", "rhai=100mbit",
         "alpha-initial=1"},
        400e9);
  for (int i = 0; i < 3; i++)
    qp.cnp(0);
  const double target = qp.target(0);
  EXPECT_EQ(qp.state(100).fast, 1U);
  qp.sent(110, 1000);
  qp.sent(120, 1000); // bytes 2, time 1: additive
  EXPECT_DOUBLE_EQ(qp.target(120), target + 10);
  EXPECT_DOUBLE_EQ(qp.target(200), target + 110); // time 2: hyper, 1 x
  EXPECT_DOUBLE_EQ(qp.target(299), target + 110); // this period was set before
  EXPECT_DOUBLE_EQ(qp.target(300), target + 210); // still min = 2
  EXPECT_DOUBLE_EQ(qp.target(350), target + 310); // halved
}

// ns3-rdma AdjustRates: the first increase divides a target above ten times the rate by 8.
TEST(Dcqcn, Ns3DividesAFarTarget) {
  Qp qp("ns3-rdma", {"clamp=off", "alpha-initial=1"}, 40e9);
  for (int i = 0; i < 4; i++)
    qp.cnp(0);
  EXPECT_EQ(qp.target(0), 40000);
  EXPECT_LT(qp.rate(0), 4000);
  EXPECT_EQ(qp.target(60), 5000);
  EXPECT_EQ(qp.target(120), 5000);
}

// HPCC cnp_received_mlx: the first CNP does not cut; the cut comes a period later, and again only
// with another CNP. CheckRateDecreaseMlx: the timer restarts at each cut.
TEST(Dcqcn, HpccCutsAtTicks) {
  Qp qp("hpcc", {"monitor-period=50us", "rate-timer=55us", "alpha-timer=55us"}, 40e9);
  qp.cnp(10);
  EXPECT_EQ(qp.rate(60), 40000);
  EXPECT_EQ(qp.rate(61), 20000);
  EXPECT_EQ(qp.rate(114), 20000);
  EXPECT_EQ(qp.rate(116), 30000);
  EXPECT_EQ(qp.state(116).cuts, 1U);
}

// HPCC UpdateAlphaMlx: once an interval, up if a CNP came in it, else down.
TEST(Dcqcn, HpccAlphaByTimer) {
  Qp qp("hpcc", {"alpha-timer=50us"}, 40e9);
  qp.cnp(0);
  EXPECT_EQ(qp.alpha(49), 1);
  EXPECT_DOUBLE_EQ(qp.alpha(50), 255.0 / 256);
  qp.cnp(60);
  qp.cnp(70);
  EXPECT_DOUBLE_EQ(qp.alpha(99), 255.0 / 256);
  EXPECT_DOUBLE_EQ(qp.alpha(100), 255.0 / 256 * 255 / 256 + 1.0 / 256);
}

// HPCC RateIncEventMlx: stage < F fast, = F additive once, then hyper, the same step each time.
TEST(Dcqcn, HpccCountsAfter) {
  Qp qp("hpcc", {"threshold=2", "rate-timer=100us", "rai=10mbit", "rhai=100mbit", "clamp=on"},
        40e9);
  qp.cnp(0);
  qp.cnp(5);
  qp.cnp(10);
  const uint64_t cut = 12; // at 12.001 us
  const double target = qp.target(cut + 1);
  EXPECT_EQ(qp.target(cut + 201), target);
  EXPECT_EQ(qp.target(cut + 301), target + 10);
  EXPECT_EQ(qp.target(cut + 401), target + 110);
  EXPECT_EQ(qp.target(cut + 501), target + 210);
}

// The rate of the first CNP: a number, or a part of the rate.
TEST(Dcqcn, TheFirstCnpsRate) {
  Qp nic("nvidia", {"first-cnp=85000mbit", "cut-at=cnp"});
  nic.cnp(0);
  EXPECT_EQ(nic.rate(0), 85000);
  Qp part("paper", {"first-cnp=25%"}, 40e9);
  part.cnp(0);
  EXPECT_EQ(part.rate(0), 10000);
  part.cnp(1);
  EXPECT_EQ(part.rate(1), 5000);
}

TEST(Dcqcn, AnIdleQpStartsAgainIfThePresetSaysSo) {
  Qp qp("paper", {"idle-restart=1000us", "rate-timer=100000us"}, 40e9);
  qp.cnp(0);
  qp.sent(10, 1000);
  qp.sent(1009, 1000);
  EXPECT_EQ(qp.rate(1009), 20000);
  qp.sent(2009, 1000);
  EXPECT_EQ(qp.rate(2009), 40000);
  Qp never("paper", {"rate-timer=100000us"}, 40e9);
  never.cnp(0);
  never.sent(90'000, 1000);
  EXPECT_EQ(never.rate(90'000), 20000);
}

// Timers that have passed are made up for: it does not matter how often the QP is asked.
TEST(Dcqcn, LateAndInTimeAreTheSame) {
  for (const char *preset : {"paper", "ns3-rdma", "hpcc", "nvidia", "ionic", "irdma", "otg"}) {
    Qp often(preset, {}, 40e9), seldom(preset, {}, 40e9);
    uint64_t cnp = 7;
    for (uint64_t us = 1; us < 30'000; us++) {
      if (us == cnp) {
        often.cnp(us);
        seldom.cnp(us);
        cnp += 3 + us * 7919 % 911;
      }
      if (us % 50 == 0) {
        often.sent(us, 4000);
        seldom.sent(us, 4000);
      }
      often.state(us);
    }
    const ControlState a = often.state(30'000), b = seldom.state(30'000);
    EXPECT_NEAR(a.rate / b.rate, 1, 1e-12) << preset;
    EXPECT_NEAR(a.target / b.target, 1, 1e-12) << preset;
    EXPECT_NEAR(a.alpha, b.alpha, 1e-12) << preset;
    EXPECT_EQ(a.cuts, b.cuts) << preset;
    EXPECT_NEAR(a.rate_seconds / b.rate_seconds, 1, 1e-9) << preset;
    EXPECT_GT(a.cuts, 20U) << preset;
  }
}

// wake_at() is the time of the next change of the rate, and none is announced at the line's rate.
TEST(Dcqcn, WakesWhenTheRateChanges) {
  Qp qp("paper", {}, 40e9);
  qp.cnp(10);
  EXPECT_EQ((*qp).wake_at(), 65 * kUs);
  (*qp).wake(65 * kUs);
  EXPECT_EQ((*qp).rate() * 8, 30e9);
  EXPECT_EQ((*qp).wake_at(), 120 * kUs);
  qp.state(10'000); // asking moves nothing
  EXPECT_EQ((*qp).wake_at(), 120 * kUs);
  (*qp).wake(10'000 * kUs);
  EXPECT_EQ((*qp).wake_at(), kNever);
  EXPECT_EQ(qp.rate(10'000), 40000);
  qp.cnp(10'010); // after all those periods, a cut as ever
  EXPECT_LT(qp.rate(10'010), 40000);
  EXPECT_EQ((*qp).wake_at(), 10'065 * kUs);
}

TEST(Dcqcn, TheMeanRateIsItsIntegral) {
  Qp qp("paper", {"rate-timer=1000000us"}, 40e9);
  qp.cnp(100);
  EXPECT_DOUBLE_EQ(qp.state(200).rate_seconds, (40e9 + 20e9) * 100e-6);
}

} // namespace
} // namespace xr::congestion::dcqcn_test
