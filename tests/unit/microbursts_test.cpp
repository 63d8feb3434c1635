// SPDX-License-Identifier: Apache-2.0
// Bursts against all windows that begin with a frame.
#include "analysis/microbursts.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace xr::test::microbursts_test {
namespace {

struct Sent {
  uint64_t ns;
  uint32_t bytes;
};

uint64_t most_in(const std::vector<Sent> &frames, uint64_t window_ns) {
  uint64_t most = 0;
  for (const Sent &first : frames) {
    uint64_t sum = 0;
    for (const Sent &f : frames)
      sum += f.ns >= first.ns && f.ns - first.ns < window_ns ? f.bytes : 0;
    most = std::max(most, sum);
  }
  return most;
}

Microbursts measured(const std::vector<Sent> &frames) {
  MicroburstMeter meter;
  for (const Sent &f : frames)
    meter.frame(f.ns, f.bytes);
  return meter.result();
}

TEST(Microbursts, WindowsAreHalfOpen) {
  const Microbursts found = measured({{1'000'000, 100},
                                      {1'009'999, 200},
                                      {1'010'000, 400}, // 10 us after the first
                                      {1'200'000, 50},
                                      {2'000'000, 1000}}); // 1,000 us after it
  ASSERT_EQ(found.windows.size(), 3u);
  EXPECT_EQ(found.windows[0].window_ns, 10'000u);
  EXPECT_EQ(found.windows[0].bytes, 1000u);
  EXPECT_EQ(found.windows[0].first_ns, 2'000'000u);
  EXPECT_EQ(found.windows[1].bytes, 1000u);
  EXPECT_EQ(found.windows[2].bytes, 1650u);
  EXPECT_EQ(found.windows[2].frames, 4u);
  EXPECT_EQ(found.windows[2].first_ns, 1'009'999u);
  EXPECT_EQ(found.first_ns, 1'000'000u);
}

TEST(Microbursts, EqualThoseOfAllWindows) {
  std::mt19937_64 random(11);
  for (const uint64_t step : {1u, 300u, 5'000u, 60'000u, 700'000u}) {
    std::vector<Sent> frames;
    uint64_t now = 1'000'000'000;
    for (int i = 0; i < 3000; i++)
      frames.push_back({now += random() % (2 * step), static_cast<uint32_t>(random() % 1500)});
    const Microbursts found = measured(frames);
    for (const Microburst &window : found.windows) {
      EXPECT_EQ(window.bytes, most_in(frames, window.window_ns)) << step;
      const auto first = std::ranges::find(frames, window.first_ns, &Sent::ns);
      ASSERT_NE(first, frames.end());
      uint64_t bytes = 0;
      for (size_t i = 0; i < window.frames; i++)
        bytes += (first + static_cast<ptrdiff_t>(i))->bytes;
      EXPECT_EQ(bytes, window.bytes);
    }
    EXPECT_EQ(found.late, 0u);
  }
}

TEST(Microbursts, FramesWithoutATimeAndFramesOutOfOrder) {
  const Microbursts found = measured({{1'000'000, 100}, {0, 7}, {999'000, 200}, {1'009'000, 1}});
  EXPECT_EQ(found.untimed, 1u);
  EXPECT_EQ(found.late, 1u);
  EXPECT_EQ(found.windows[0].bytes, 301u);
  EXPECT_TRUE(measured({}).windows[0].frames == 0);
}

} // namespace
} // namespace xr::test::microbursts_test
