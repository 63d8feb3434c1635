// SPDX-License-Identifier: Apache-2.0
// How much memory rules and links need, against arithmetic by hand.
#include <gtest/gtest.h>

#include "wire/memory_needs.h"
#include "wire_frames.h"

namespace xr::wire::wire_memory_test {
namespace {

constexpr uint64_t kMs = 1'000'000, kGbit = 1'000'000'000;

Hold delay(uint64_t ns) {
  Hold hold;
  hold.kind = Hold::Kind::Delay;
  hold.delay_ns = ns;
  return hold;
}

TEST(WireMemory, DelayOfASlowLine) {
  // 100 Mbit/s x 1 s = 12.5 MB: 12,207 frames of 1,024 bytes, 208,333 of 60
  const HeldMost got = held_most(
      {.rules = {delay(1000 * kMs)}, .ingress_rate = kGbit / 10, .egress_rate = kGbit / 10});
  EXPECT_EQ(got.bytes, 12'500'000U);
  EXPECT_EQ(got.least, 12'207U);
  EXPECT_EQ(got.frames, 208'333U);
}

TEST(WireMemory, AProcessMovesTwoMillionFramesASecond) {
  const HeldMost ten = held_most(
      {.rules = {delay(1000 * kMs)}, .ingress_rate = 10 * kGbit, .egress_rate = 10 * kGbit});
  EXPECT_EQ(ten.least, 1'220'703U);
  EXPECT_EQ(ten.frames, 2'000'000U);
  // 100 Gbit/s in frames of 1,024 bytes are more than that
  const HeldMost hundred = held_most(
      {.rules = {delay(1000 * kMs)}, .ingress_rate = 100 * kGbit, .egress_rate = 100 * kGbit});
  EXPECT_EQ(hundred.least, 12'207'031U);
  EXPECT_EQ(hundred.frames, 12'207'031U);
  const HeldMost unknown = held_most({.rules = {delay(10 * kMs)}});
  EXPECT_EQ(unknown.least, 0U);
  EXPECT_EQ(unknown.frames, 20'000U);
}

// Before a slow link, a rule holds what the fast line brings.
TEST(WireMemory, DelayBeforeASlowLink) {
  const LinkSpec link = link_spec("rate 100mbit delay 10ms buffer 600k");
  const HeldMost got = held_most({.rules = {delay(100 * kMs)},
                                  .link = &link,
                                  .ingress_rate = kGbit,
                                  .egress_rate = 10 * kGbit});
  EXPECT_EQ(got.bytes, 1'250'000U + 600'000 + 125'000);
  EXPECT_EQ(got.most_bytes, 12'500'000U + 600'000 + 125'000);
  EXPECT_EQ(got.least, 1'220U + 585 + 122);
  EXPECT_EQ(got.frames, 200'000U + 10'000 + 2'083); // 12.5 MB / 60 would be 208,333
}

TEST(WireMemory, JitterAndNumbersOfFrames) {
  Hold uniform = delay(1 * kMs);
  uniform.jitter = Jitter::Uniform;
  uniform.b = 3 * kMs;
  Hold gaussian = delay(1 * kMs);
  gaussian.jitter = Jitter::Gaussian;
  gaussian.a = 2 * kMs;
  gaussian.b = kMs / 4;
  Hold reorder;
  reorder.kind = Hold::Kind::Reorder;
  reorder.depth = 7;
  Hold accumulate;
  accumulate.kind = Hold::Kind::Accumulate;
  accumulate.frames = 100;
  Hold shape;
  shape.kind = Hold::Kind::Shape;
  shape.queue = 61'440;
  // 4 ms twice, at 8 Mbit/s
  const HeldMost got = held_most(
      {.rules = {uniform, gaussian, reorder, accumulate, shape}, .egress_rate = 8'000'000});
  EXPECT_EQ(got.bytes, 2 * 4'000U + 107 * 1024 + 61'440);
  EXPECT_EQ(got.least, 2 * 3U + 107 + 60);
}

TEST(WireMemory, PlanForBothDirections) {
  const std::array<HeldMost, 2> held = {HeldMost{102'400'000, 102'400'000, 100'000, 400'000}, {}};
  MemoryLimits limits{.buffer = 2048, .rings = {8192, 8192}, .smallest = 64 << 20};
  limits.free = uint64_t{8} << 30;
  MemoryPlan plan = plan_memory(held, limits);
  EXPECT_EQ(plan.least, (100'000U + 16'384) * 2048);
  EXPECT_EQ(plan.needed, (400'000U + 16'384) * 2048);
  EXPECT_EQ(plan.bytes, plan.needed);
  EXPECT_EQ(plan.buffers, (std::array<uint64_t, 2>{408'192, 8192}));
  EXPECT_TRUE(plan.fits && plan.any_length);

  // Half of the free memory is 200,000 buffers: 83,616 more than the least.
  limits.free = 400'000 * 2048;
  plan = plan_memory(held, limits);
  EXPECT_EQ(plan.bytes, 200'000U * 2048);
  EXPECT_EQ(plan.buffers, (std::array<uint64_t, 2>{191'808, 8192}));
  EXPECT_TRUE(plan.fits && !plan.any_length);
  EXPECT_EQ(plan.mean_frame, 558U); // 102.4 MB in 183,616 buffers

  limits.free = 100'000 * 2048;
  EXPECT_EQ(plan_memory(held, limits).bytes, plan.least);

  limits.given = plan.least - 1;
  EXPECT_FALSE(plan_memory(held, limits).fits);
  limits.given = plan.needed + 1000 * 2048;
  plan = plan_memory(held, limits);
  EXPECT_EQ(plan.buffers, (std::array<uint64_t, 2>{408'692, 8692}));
}

TEST(WireMemory, NothingIsHeldYet) {
  const MemoryPlan plan = plan_memory(
      {}, {.buffer = 2048, .rings = {8192, 8192}, .smallest = 64 << 20, .free = 1 << 30});
  EXPECT_EQ(plan.bytes, 64U << 20);
  EXPECT_EQ(plan.buffers, (std::array<uint64_t, 2>{16'384, 16'384}));
}

// 1 Gbit/s in frames of 1,024 bytes, a buffer of 2,048 each: 250 MB for a second.
TEST(WireMemory, LargestDelayThatFits) {
  const LinkSpec link = link_spec("rate 1gbit delay 10s buffer 1M");
  std::array<HoldingPath, 2> paths;
  paths[0].link = &link;
  const auto fit = largest_fit(paths, {.free = 500'000'000});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->of, LargestFit::Of::LinkDelay);
  EXPECT_EQ(fit->path, 0U);
  EXPECT_EQ(fit->most, 1'990'000'000U); // (500 MB - 976 * 2,048) / 2,048 * 1,024 bytes: 1,992 ms
  const auto needs = [&](uint64_t delay) {
    LinkSpec other = link;
    other.delay = delay;
    return plan_memory({held_most({.link = &other}), HeldMost{}}, {.free = 500'000'000}).bytes;
  };
  EXPECT_LE(needs(fit->most), 500'000'000U);
  EXPECT_GT(needs(fit->most + 10'000'000), 500'000'000U);
}

TEST(WireMemory, LargestBufferOrRuleThatFits) {
  const LinkSpec link = link_spec("rate 1gbit delay 1ms buffer 4G");
  std::array<HoldingPath, 2> paths;
  paths[1].link = &link;
  auto fit = largest_fit(paths, {.given = 100'000'000, .free = 500'000'000});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->of, LargestFit::Of::LinkBuffer);
  EXPECT_EQ(fit->path, 1U);
  EXPECT_EQ(fit->most, 49'800'000U); // 100 MB / 2, without 125 kB in transit
  paths[1] = {
      .rules = {delay(kMs), delay(100'000 * kMs)}, .ingress_rate = kGbit, .egress_rate = kGbit};
  fit = largest_fit(paths, {.free = 500'000'000});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->of, LargestFit::Of::RuleDelay);
  EXPECT_EQ(fit->rule, 1U);
  EXPECT_EQ(fit->most, 1'990'000'000U);
  EXPECT_FALSE(largest_fit(paths, {.rings = {1'000'000, 0}, .free = 500'000'000}));
}

} // namespace
} // namespace xr::wire::wire_memory_test
