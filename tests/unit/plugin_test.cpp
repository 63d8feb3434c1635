// SPDX-License-Identifier: Apache-2.0
// Congestion control in shared objects: what is refused, and that a plug-in does what the same
// algorithm does in the program.
#include <random>

#include <gtest/gtest.h>

#include "congestion/plugin_control.h"
#include "congestion/qp_pacing.h"

namespace xr::congestion::plugin_test {
namespace {

std::string file(const std::string &name) { return std::string(XR_PLUGINS) + "/" + name + ".so"; }

Control control(const std::string &name, const std::vector<std::string> &words = {}) {
  auto plugin = Plugin::load(file(name));
  EXPECT_TRUE(plugin.ok()) << plugin.error().message;
  Control control = Control::of(plugin.get());
  for (const std::string &word : words)
    EXPECT_TRUE(control.parameters()->set(word).ok()) << word;
  return control;
}

// tools/plugins/aimd.c, in the program.
class Aimd final : public RateControl {
public:
  explicit Aimd(double line) : line_(line), rate_(line) { publish(rate_ / 8); }
  void cnp(uint64_t now) override {
    rate_ /= 2;
    publish(rate_ / 8, now + kPeriod);
  }
  void wake(uint64_t now) override {
    rate_ = std::min(rate_ + 40e6, line_);
    publish(rate_ / 8, rate_ < line_ ? now + kPeriod : kNever);
  }
  ControlState state(uint64_t) const override { return {}; }

private:
  static constexpr uint64_t kPeriod = 55'000;
  double line_, rate_;
};

TEST(Plugins, AnAlgorithmInAFileIsTheSameAsInTheProgram) {
  const Control aimd = control("aimd");
  const auto inside = std::make_unique<Aimd>(10e9);
  const auto plugin = RateControlMaker(aimd, 10e9 / 8).make();
  plugin->start(0);
  std::mt19937_64 random(7);
  uint64_t now = 0;
  for (int i = 0; i < 100'000; i++) {
    now += random() % 100'000;
    for (RateControl *one : {static_cast<RateControl *>(inside.get()), plugin.get()}) {
      while (one->wake_at() <= now)
        one->wake(one->wake_at());
      if (i % 37 == 0)
        one->cnp(now);
    }
    ASSERT_EQ(inside->rate(), plugin->rate()) << i;
    ASSERT_EQ(inside->wake_at(), plugin->wake_at()) << i;
  }
  EXPECT_EQ(plugin->state(now).cnps, 2703U);
}

TEST(Plugins, ParametersAreWords) {
  Control aimd = control("aimd", {"step=5mbit", "period=10us"});
  EXPECT_EQ(aimd.parameters()->words(), "step=5mbit period=10us");
  const auto plugin = RateControlMaker(aimd, 10e9 / 8).make();
  plugin->cnp(1000);
  EXPECT_EQ(plugin->wake_at(), 11'000U);
  plugin->wake(11'000);
  EXPECT_NEAR(plugin->rate() * 8, 5e9 + 5e6, 1e-3);
  const Status wrong = aimd.parameters()->set("stop=5mbit");
  EXPECT_EQ(wrong.error().message, "'stop' is not a parameter");
  EXPECT_NE(wrong.error().hint.find("step"), std::string::npos);
  EXPECT_FALSE(aimd.parameters()->set("period=0us").ok()); // below its limit
}

TEST(Plugins, WindowsAndValues) {
  const Control delay = control("delay");
  EXPECT_EQ(delay.needs(), XDP_ROCE_NEEDS_ACKS | XDP_ROCE_NEEDS_EVERY_ACK);
  QpPacing pacing(1, delay, 10e9, {.payload = 1000, .frame = 1058});
  pacing.start(0, 1058);
  EXPECT_EQ(pacing.window(0), 10'000U);
  Ack ack{};
  ack.now_ns = 1000;
  ack.rtt_ns = 20'000;
  ack.bytes = ack.acked = 1000;
  ack.sent = 10'000;
  pacing.acked(0, ack);
  EXPECT_EQ(pacing.window(0), 11'000U);
  ack.now_ns = 2000;
  ack.rtt_ns = 40'000;
  ack.bytes = 9001;
  ack.acked = 10'001;
  ack.sent = 20'000;
  pacing.acked(0, ack);
  EXPECT_EQ(pacing.window(0), 9'900U);
  const auto names = pacing.control(0).names();
  ASSERT_EQ(names.size(), 2U);
  EXPECT_STREQ(names[0], "window_bytes");
  double values[2];
  pacing.control(0).read(2000, values);
  EXPECT_EQ(values[1], 40'000);
}

TEST(Plugins, WhatIsRefused) {
  const auto said = [](const std::string &path) {
    const auto plugin = Plugin::load(path);
    return plugin.ok() ? std::string("taken") : plugin.error().message;
  };
  EXPECT_NE(said("nosuch.so").find("nosuch.so: cannot be loaded"), std::string::npos);
  EXPECT_NE(said(file("version")).find("it is of version 99 of xdp-roce/congestion.h, this is 1"),
            std::string::npos);
  EXPECT_NE(said(file("nothing")).find("it has no function xdp_roce_algorithm()"),
            std::string::npos);
  EXPECT_NE(said(file("unit")).find("parameter rate: 'furlongs' is not a unit"), std::string::npos);
}

TEST(PluginsDeathTest, ACrashNamesTheFile) {
  const Control crash = control("crash");
  EXPECT_DEATH(
      {
        const auto one = RateControlMaker(crash, 10e9 / 8).make();
        one->cnp(1);
      },
      "plug-in .*crash.so crashed: SIGSEGV");
}

} // namespace
} // namespace xr::congestion::plugin_test
