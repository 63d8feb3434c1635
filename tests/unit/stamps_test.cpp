// SPDX-License-Identifier: Apache-2.0
// Times that mirrors and packet brokers write into frames: their bytes by hand, from
// draft-foschiano-erspan-03 and from the layout of the trailer; the clocks by arithmetic.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "analysis/frame_stamp.h"
#include "analysis/stamp_clock.h"
#include "native/native_datapath.h"
#include "unit/tunnels.h"

namespace xr::test::stamps_test {
namespace {

using namespace tunnel;

constexpr uint64_t kBegin = 1'700'000'000'000'000'000; // ns since 1970

CapturedFrame captured(const Bytes &bytes) {
  return {.data = bytes.data(),
          .captured = static_cast<uint32_t>(bytes.size()),
          .length = static_cast<uint32_t>(bytes.size())};
}

// 12 bytes of ERSPAN III with the timestamp 0x89abcdef and session 0x155, then `rest`.
Bytes erspan(int granularity, const Bytes &subheader, const Bytes &rest) {
  Bytes out = from_hex("2064b95589abcdeffffffff8");
  out[11] = static_cast<uint8_t>(out[11] | granularity << 1 | !subheader.empty());
  out.insert(out.end(), subheader.begin(), subheader.end());
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

std::optional<FrameStamp> stamp_of(const Bytes &bytes) {
  NativeDatapath datapath({.decap = 1 << ROCE_TUNNEL_ERSPAN});
  NativeDatapath::FrameView view{bytes.data(), static_cast<uint32_t>(bytes.size()),
                                 static_cast<uint32_t>(bytes.size())};
  roce_packet packet;
  (void)datapath.unwrap(view, {}, packet);
  return erspan_stamp(captured(bytes), datapath.origin());
}

Bytes mirrored(int granularity, const Bytes &subheader = {}, const Ip &how = {},
               const Gre &gre_how = {.sequence = 1}) {
  const Bytes inside = FrameBuilder(0x04).payload(100).build().bytes;
  return ethernet(how.v6 ? 0x86dd : 0x0800,
                  ip(47, gre(0x22eb, erspan(granularity, subheader, inside), gre_how), how));
}

TEST(Stamps, GranularitiesOfErspan) {
  const uint64_t low = 0x89abcdef;
  for (int granularity = 0; granularity < 4; granularity++) {
    const auto stamp = stamp_of(mirrored(granularity));
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->unit, static_cast<StampUnit>(granularity));
    EXPECT_EQ(stamp->value, low);
    EXPECT_FALSE(stamp->whole);
    EXPECT_EQ(stamp->modulus, granularity == 2 ? 1'000'000'000 : uint64_t{1} << 32);
    EXPECT_EQ(stamp->valid, granularity != 2); // 0x89abcdef ns are more than a second
    EXPECT_EQ(stamp->session, 0x155u);
    EXPECT_EQ(stamp->src[3], roce_swap32(0xc6336401));
    EXPECT_EQ(stamp->dst[3], roce_swap32(0xcb0071fe));
  }
}

TEST(Stamps, SubheadersWithTheRestOfTheTime) {
  // platform id in 6 bits, 26 bits, then 32 bits
  for (const int platform : {0, 1, 2, 3, 4, 5, 6, 7, 8, 63}) {
    Bytes subheader = from_hex("03ffffff00012345");
    subheader[0] = static_cast<uint8_t>(subheader[0] | platform << 2);
    const bool upper = platform == 3 || platform == 7, seconds = platform == 5 || platform == 6;
    for (const int granularity : {0, 1, 3}) {
      const auto stamp = stamp_of(mirrored(granularity, subheader));
      ASSERT_TRUE(stamp);
      EXPECT_EQ(stamp->whole, upper) << platform;
      EXPECT_EQ(stamp->value, upper ? 0x0001234589abcdef : 0x89abcdef) << platform;
    }
    const auto stamp = stamp_of(mirrored(2, subheader));
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->whole, seconds) << platform;
    EXPECT_EQ(stamp->value, 0x89abcdef + (seconds ? 0x12345 * 1'000'000'000ull : 0)) << platform;
  }
}

TEST(Stamps, WhereTheHeaderIs) {
  const Ip kIps[] = {{}, {.options = 3}, {.v6 = true}, {.v6 = true, .extension = true}};
  const Gre kGres[] = {{}, {.sequence = 1}, {.sequence = 1, .key = 2, .checksum = true}};
  for (const Ip &ip : kIps)
    for (const Gre &gre : kGres) {
      const auto stamp = stamp_of(mirrored(1, {}, ip, gre));
      ASSERT_TRUE(stamp);
      EXPECT_EQ(stamp->value, 0x89abcdefu);
    }
  const Bytes inside = FrameBuilder(0x04).payload(100).build().bytes;
  EXPECT_FALSE(stamp_of(inside));
  EXPECT_FALSE(
      stamp_of(ethernet(0x0800, ip(47, gre(0x88be, erspan2(7, inside), {.sequence = 1})))));
  EXPECT_FALSE(stamp_of(ethernet(0x0800, ip(47, gre(0x88be, inside)))));
  EXPECT_FALSE(stamp_of(ethernet(0x0800, ip(47, gre(0x6558, inside)))));
  // a frame that ends early is read to its end only
  const Bytes whole = mirrored(1, from_hex("0c00000000012345"), {.v6 = true, .extension = true});
  for (size_t n = 0; n < whole.size(); n++)
    (void)stamp_of(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)));
}

Bytes with_trailer(Bytes frame, uint32_t fcs, bool outer_fcs) {
  put(frame, roce_swap32(fcs), 4);
  for (const uint8_t byte : from_hex("092f5b0c9a4d80000000004d"))
    frame.push_back(byte);
  if (outer_fcs)
    put(frame, 0x11223344, 4);
  return frame;
}

TEST(Stamps, TrailersAreKnownByTheOriginalFcs) {
  // 32 zeroes: their CRC-32 is 0x190a55ad
  const Bytes frame(32, 0);
  for (const bool outer_fcs : {false, true}) {
    const Bytes whole = with_trailer(frame, 0x190a55ad, outer_fcs);
    CapturedFrame at = captured(whole);
    const auto stamp = take_trailer(at);
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->device, 9);
    EXPECT_EQ(stamp->port, 0x2f);
    EXPECT_EQ(stamp->value, 0x5b0c9a4d * 1'000'000'000ull + 500'000'000); // 0x80.. / 2^40 = a half
    EXPECT_TRUE(stamp->whole);
    EXPECT_EQ(at.captured, frame.size());
    EXPECT_EQ(at.length, frame.size());
  }
  const Bytes wrong = with_trailer(frame, 0x190a55ae, true);
  CapturedFrame at = captured(wrong);
  EXPECT_FALSE(take_trailer(at));
  EXPECT_EQ(at.length, wrong.size());
  const Bytes whole = with_trailer(frame, 0x190a55ad, false);
  at = captured(whole);
  at.length += 10; // cut by the snap length
  EXPECT_FALSE(take_trailer(at));
  for (uint32_t n = 0; n < whole.size(); n++) {
    at = captured(whole);
    at.captured = at.length = n;
    EXPECT_FALSE(take_trailer(at));
  }
}

FrameStamp ticks(StampUnit unit, uint64_t value, uint64_t modulus) {
  return {.unit = unit, .value = value, .modulus = modulus, .src = {1}, .session = 5};
}
FrameStamp ns100(uint64_t value) { return ticks(StampUnit::Ns100, value & 0xffffffff, 1ull << 32); }
FrameStamp absolute(uint64_t ns, uint32_t src = 1) {
  return {.unit = StampUnit::Ieee1588, .whole = true, .value = ns, .src = {src}, .session = 5};
}

TEST(StampClock, TheFirstFrameSetsTheClock) {
  StampClock clock(FrameClock::Mirror, 0);
  EXPECT_EQ(clock.time(kBegin, ns100(1000)), kBegin);
  EXPECT_EQ(clock.time(kBegin + 900, ns100(1003)), kBegin + 300); // 600 ns more on its way
  EXPECT_EQ(clock.time(kBegin + 1500, std::nullopt), kBegin + 900);
  EXPECT_EQ(clock.time(kBegin + 1600, ns100(1020)), kBegin + 2000);
  EXPECT_EQ(clock.time(kBegin + 2500, ns100(1019)), kBegin + 1900); // sent before, came later
  const FrameTimes found = clock.result();
  EXPECT_EQ(found.stamped, 4u);
  EXPECT_EQ(found.unstamped, 1u);
  ASSERT_EQ(found.sources.size(), 1u);
  const StampSource &s = found.sources[0];
  EXPECT_EQ(s.frames, 4u);
  EXPECT_EQ(s.unusable, 0u);
  EXPECT_EQ(s.backward, 1u);
  EXPECT_EQ(s.backward_max_ns, 100u);
  EXPECT_EQ(s.delay_min_ns, -400);
  EXPECT_EQ(s.delay_max_ns, 600);
  EXPECT_FALSE(s.offset_ns); // of 32 bits nobody knows the date
  ASSERT_TRUE(s.drift_ppm);
  EXPECT_NEAR(*s.drift_ppm, (1900.0 / 2500 - 1) * 1e6, 1e-6);
}

TEST(StampClock, TimesWrapAsOftenAsTheCaptureSays) {
  constexpr uint64_t kRound = 429'496'729'600; // ns: 2^32 * 100
  StampClock clock(FrameClock::Mirror, 0);
  EXPECT_EQ(clock.time(kBegin, ns100(0xfffffff0)), kBegin);
  EXPECT_EQ(clock.time(kBegin + 3200, ns100(0x10)), kBegin + 3200);
  // after an idle time of three rounds and some, jitter in both directions
  EXPECT_EQ(clock.time(kBegin + 3 * kRound + 5000, ns100(0xfffffff0)), kBegin + 3 * kRound);
  EXPECT_EQ(clock.time(kBegin + 3 * kRound - 5000, ns100(0xfffffff1)), kBegin + 3 * kRound + 100);
  // a half round away from what is expected is the border
  EXPECT_EQ(clock.time(kBegin + 3 * kRound, ns100(0x7ffffff0)), kBegin + 3 * kRound + kRound / 2);
  StampClock second(FrameClock::Mirror, 0);
  const auto of = [](uint64_t ns) { return ticks(StampUnit::Ieee1588, ns, 1'000'000'000); };
  EXPECT_EQ(second.time(kBegin, of(999'999'000)), kBegin);
  EXPECT_EQ(second.time(kBegin + 400'000'000, of(400'000'000)), kBegin + 400'001'000);
  EXPECT_EQ(second.time(kBegin + 7'300'000'000, of(299'999'000)), kBegin + 7'300'000'000);
}

TEST(StampClock, SessionsOfOneSwitchAreOneClock) {
  StampClock clock(FrameClock::Mirror, 0);
  FrameStamp other = ns100(1010);
  other.session = 6;
  EXPECT_EQ(clock.time(kBegin, ns100(1000)), kBegin);
  EXPECT_EQ(clock.time(kBegin + 5000, other), kBegin + 1000);
  other.src = {2}; // another switch: set by its first frame
  EXPECT_EQ(clock.time(kBegin + 6000, other), kBegin + 6000);
  EXPECT_EQ(clock.result().sources.size(), 3u);
}

TEST(StampClock, AbsoluteClocksThatAgreeAreSetTogether) {
  StampClock clock(FrameClock::Mirror, 0);
  constexpr uint64_t kTai = 37'000'000'000;
  EXPECT_EQ(clock.time(kBegin, absolute(kBegin + kTai)), kBegin);
  EXPECT_EQ(clock.time(kBegin + 900, absolute(kBegin + kTai + 100, 2)), kBegin + 100);
  EXPECT_EQ(clock.time(kBegin + 950, absolute(kBegin + 200, 3)), kBegin + 950); // in UTC: not it
  const FrameTimes found = clock.result();
  ASSERT_EQ(found.sources.size(), 3u);
  EXPECT_EQ(found.sources[0].offset_ns, -int64_t{kTai});
  EXPECT_EQ(found.sources[1].offset_ns, 800 - int64_t{kTai});
  EXPECT_EQ(found.sources[2].offset_ns, 750);
}

TEST(StampClock, AUnitThatIsNotKnownIsMeasured) {
  const auto user = [](uint64_t value) { return ticks(StampUnit::User, value, 1ull << 32); };
  StampClock clock(FrameClock::Mirror, 0), told(FrameClock::Mirror, 8);
  for (uint64_t i = 0; i < 10; i++) {
    EXPECT_EQ(clock.time(kBegin + i * 800, user(0xffffffff - 200 + i * 100)), kBegin + i * 800);
    EXPECT_EQ(told.time(kBegin + i * 900, user((0xffffffff - 200 + i * 100) & 0xffffffff)),
              kBegin + i * 800);
  }
  // the same again: no time has passed
  EXPECT_EQ(clock.time(kBegin + 9 * 800, user(699)), kBegin + 9 * 800);
  const StampSource s = clock.result().sources.at(0);
  EXPECT_EQ(s.unusable, 11u);
  ASSERT_TRUE(s.tick_ns);
  EXPECT_NEAR(*s.tick_ns, 8, 1e-9);
  EXPECT_EQ(told.result().sources.at(0).unusable, 0u);
  EXPECT_FALSE(told.result().sources.at(0).tick_ns);
}

TEST(StampClock, WhatIsNoTimeIsCounted) {
  StampClock clock(FrameClock::Mirror, 0);
  FrameStamp bad = ticks(StampUnit::Ieee1588, 1'000'000'000, 1'000'000'000);
  bad.valid = false;
  EXPECT_EQ(clock.time(kBegin, bad), kBegin);
  FrameStamp upper{.unit = StampUnit::Us100, .whole = true, .value = 5, .src = {1}};
  EXPECT_EQ(clock.time(kBegin + 10, upper), kBegin + 10);
  upper.value = ~0ull >> 1; // a million years later
  EXPECT_EQ(clock.time(kBegin + 20, upper), kBegin + 20);
  upper.value = 6;
  EXPECT_EQ(clock.time(kBegin + 30, upper), kBegin + 100'010);
  const FrameTimes found = clock.result();
  EXPECT_EQ(found.stamped, 2u);
  EXPECT_EQ(found.unstamped, 2u);
  uint64_t unusable = 0;
  for (const StampSource &s : found.sources)
    unusable += s.unusable;
  EXPECT_EQ(unusable, 2u);
}

TEST(StampClock, ByTheCapturesClockStampsAreOnlyCompared) {
  StampClock clock(FrameClock::Capture, 0);
  EXPECT_EQ(clock.time(kBegin, ns100(1000)), kBegin);
  EXPECT_EQ(clock.time(kBegin + 900, ns100(1003)), kBegin + 900);
  EXPECT_EQ(clock.result().stamped, 0u);
  EXPECT_EQ(clock.result().unstamped, 0u);
  EXPECT_EQ(clock.result().sources.at(0).delay_max_ns, 600);
}

TEST(StampClock, ACaptureWithoutTimesHasThoseOfTheStamps) {
  StampClock clock(FrameClock::Mirror, 0);
  EXPECT_EQ(clock.time(0, absolute(kBegin)), kBegin);
  EXPECT_EQ(clock.time(0, absolute(kBegin + 100)), kBegin + 100);
  StampClock relative(FrameClock::Mirror, 0);
  const uint64_t first = relative.time(0, ns100(0xffffffff));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(relative.time(0, ns100(1)), first + 200);
}

TEST(StampClock, MoreSourcesThanThereIsRoomForAreCounted) {
  StampClock clock(FrameClock::Mirror, 0);
  for (uint32_t i = 0; i < 260; i++) {
    FrameStamp stamp = ns100(i);
    stamp.session = i;
    clock.time(kBegin + i * 100, stamp);
  }
  EXPECT_EQ(clock.result().sources.size(), 256u);
  EXPECT_EQ(clock.result().sources_full, 4u);
  EXPECT_EQ(clock.result().unstamped, 4u);
}

} // namespace
} // namespace xr::test::stamps_test
