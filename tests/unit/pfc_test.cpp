// SPDX-License-Identifier: Apache-2.0
// PFC and PAUSE frames byte by byte, the words of `send IF pfc`, and when frames are sent.
#include "requester/pfc.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "parse/words.h"

namespace xr::requester::pfc_test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kStart = 1'000'000'000;
constexpr packet::Mac kMac{2, 0, 0, 0, 0, 7};

Pfc words(const std::string &text) {
  auto pfc = parse_pfc(parse::split(text));
  EXPECT_TRUE(pfc.ok()) << text << ": " << pfc.error().message;
  Pfc made = pfc.ok() ? pfc.get() : Pfc{};
  made.src_mac = made.src_mac.value_or(kMac);
  return made;
}

// IEEE 802.3 annex 31B and 802.1Qbb: destination, source, 0x8808, opcode, then fields, and zeros up
// to 60 bytes.
Bytes frame(const Bytes &fields, Bytes src = {2, 0, 0, 0, 0, 7}) {
  Bytes bytes = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
  bytes.insert(bytes.end(), src.begin(), src.end());
  bytes.insert(bytes.end(), {0x88, 0x08});
  bytes.insert(bytes.end(), fields.begin(), fields.end());
  bytes.resize(60);
  return bytes;
}

// The first frame that the words send, and the XON at the end.
std::pair<Bytes, Bytes> frames(const std::string &text) {
  PfcSource source(words(text));
  std::vector<packet::Outgoing> out(1);
  EXPECT_EQ(source.next(kStart, out), 1U);
  const Bytes first(out[0].raw.begin(), out[0].raw.end());
  if (!source.last(out))
    return {first, {}};
  return {first, Bytes(out[0].raw.begin(), out[0].raw.end())};
}

TEST(PfcFrame, BytesOfTheCases) {
  const Bytes off = {0x01, 0x01, 0x00, 0x18};
  auto [pause, resume] = frames("pfc 3,4 quanta 1,0xffff every 1ms");
  EXPECT_EQ(pause, frame({1, 1, 0, 0x18, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff}));
  EXPECT_EQ(resume, frame(off));
  // a zero source MAC
  std::tie(pause, resume) = frames("pfc 0 src-mac 00:00:00:00:00:00 every 1ms");
  EXPECT_EQ(pause, frame({1, 1, 0, 1, 0xff, 0xff}, Bytes(6)));
  // unset enable bits: quanta without their class
  std::tie(pause, resume) = frames("pfc 3 enable 0 quanta 100 every 1ms");
  EXPECT_EQ(pause, frame({1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100}));
  // global pause
  std::tie(pause, resume) = frames("pfc global quanta 0x1234 every 1ms");
  EXPECT_EQ(pause, frame({0, 1, 0x12, 0x34}));
  EXPECT_EQ(resume, frame({0, 1, 0, 0}));
  std::tie(pause, resume) = frames("pfc 0-7 every 1ms no-xon");
  EXPECT_EQ(pause, frame({1,    1,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  EXPECT_TRUE(resume.empty());
}

TEST(PfcFrame, ParsesWhatItBuilds) {
  packet::Pause pause{.src = kMac, .enable = 0x81, .quanta = {1, 2, 3, 4, 5, 6, 7, 8}};
  Bytes bytes = packet::build_pause(pause);
  auto back = packet::parse_pause(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->src, kMac);
  EXPECT_EQ(back->dst, packet::kPauseGroup);
  EXPECT_EQ(back->enable, 0x81);
  EXPECT_EQ(back->quanta, pause.quanta);
  EXPECT_FALSE(back->global);
  for (size_t cut = 0; cut < 34; cut++)
    EXPECT_FALSE(packet::parse_pause({bytes.data(), cut}));
  EXPECT_TRUE(packet::parse_pause({bytes.data(), 34}));
  pause.global = true;
  bytes = packet::build_pause(pause);
  back = packet::parse_pause(bytes);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->global);
  EXPECT_EQ(back->quanta[7], 1);
  bytes[15] = 2; // another opcode of MAC control
  EXPECT_FALSE(packet::parse_pause(bytes));
  EXPECT_EQ(packet::pause_ns(65535, 100'000'000'000), 335'539U);
  EXPECT_EQ(packet::pause_ns(65535, 400'000'000'000), 83'884U);
  EXPECT_EQ(packet::pause_ns(65535, 0), 0U);
}

struct Wrong {
  const char *words, *named;
};
constexpr Wrong kWrong[] = {
    {"pfc", "priorities"},
    {"pfc 8 every 1ms", "8"},
    {"pfc 3,3 every 1ms", "twice"},
    {"pfc 1-3,2 every 1ms", "twice"},
    {"pfc 3", "when"},
    {"pfc 3 every 1ms storm", "contradict"},
    {"pfc 3 every 0s", "0s"},
    {"pfc 3 every 1ms every 2ms", "twice"},
    {"pfc 3 quanta 65536 every 1ms", "65536"},
    {"pfc 3,4 quanta 1,2,3 every 1ms", "3 values"},
    {"pfc 3 quanta 0 storm", "quanta 0"},
    {"pfc global enable 1 every 1ms", "global"},
    {"pfc 3 every 1ms lin 100gbit", "lin"},
    {"pfc 3 storm line fast", "line"},
    {"pfc 3 enable 0x10000 every 1ms", "0x10000"},
    {"pfc 3 every 1ms src-mac 1", "src-mac"},
    {"pfc 3 every 1ms count 0", "count"},
};

TEST(PfcWords, WrongOnesAreNamed) {
  for (const Wrong &wrong : kWrong) {
    const auto pfc = parse_pfc(parse::split(wrong.words));
    ASSERT_FALSE(pfc.ok()) << wrong.words;
    EXPECT_NE(pfc.error().message.find(wrong.named), std::string::npos)
        << wrong.words << ": " << pfc.error().message;
    EXPECT_FALSE(pfc.error().hint.empty()) << wrong.words;
  }
}

TEST(PfcWords, AStormNeedsALineRate) {
  EXPECT_FALSE(check_pfc(words("pfc 3 storm")).ok());
  EXPECT_TRUE(check_pfc(words("pfc 3 storm line 100gbit")).ok());
  EXPECT_TRUE(check_pfc(words("pfc 3 every 1us")).ok());
  EXPECT_FALSE(check_pfc(words("pfc 3 quanta 1 storm line 100gbit")).ok());
}

// When frames are sent, in ns since the start; a frame takes no time.
std::vector<uint64_t> times(PfcSource &source, uint64_t until) {
  std::vector<uint64_t> all;
  std::vector<packet::Outgoing> out(4);
  uint64_t now = kStart;
  while (!source.done() && now <= kStart + until) {
    for (size_t i = source.next(now, out); i > 0; i--)
      all.push_back(now - kStart);
    source.flushed(now);
    now = std::max(now + 1, source.wake_at());
  }
  return all;
}

TEST(PfcSource, EveryAndCount) {
  PfcSource source(words("pfc 3 every 1ms count 4"));
  EXPECT_EQ(times(source, 1'000'000'000), (std::vector<uint64_t>{0, 1000000, 2000000, 3000000}));
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.expected(), 4U);
  EXPECT_EQ(source.report().gap_ns.max(), 1'000'000U);
  EXPECT_EQ(source.report().late, 0U); // the line rate is unknown
}

TEST(PfcSource, ForItsTime) {
  PfcSource source(words("pfc 3 every 1ms for 10ms"));
  EXPECT_EQ(times(source, 1'000'000'000).size(), 10U);
  std::vector<packet::Outgoing> out(1);
  EXPECT_EQ(source.last(out), 1U);
  EXPECT_EQ(source.last(out), 0U); // once
  EXPECT_EQ(source.counts().packets, 11U);
}

// Each refresh before half of the pause: 335.5 us at 100 Gbit/s.
TEST(PfcSource, StormRefreshesBeforeHalfOfThePause) {
  PfcSource source(words("pfc 3 storm line 100gbit for 1s"));
  const auto all = times(source, 2'000'000'000);
  EXPECT_GT(all.size(), 2 * 1'000'000'000 / 335'539U);
  for (size_t i = 1; i < all.size(); i++)
    ASSERT_LT(all[i] - all[i - 1], 335'539U / 2);
  EXPECT_EQ(source.report().late, 0U);
  EXPECT_EQ(source.report().lapsed, 0U);
  EXPECT_EQ(source.report().pause_ns, 335'539U);
}

// The priority with the least quanta is the one that lapses first.
TEST(PfcSource, StormOfDifferentQuanta) {
  PfcSource source(words("pfc 3,4 quanta 65535,1000 storm line 10gbit for 100ms"));
  EXPECT_EQ(source.report().pause_ns, 51'200U);
  EXPECT_LT(source.report().interval_ns, 25'600U);
}

// A loop that is late: the gaps are reported, and no burst follows.
TEST(PfcSource, LateRefreshesAreReported) {
  PfcSource source(words("pfc 3 storm line 100gbit"));
  std::vector<packet::Outgoing> out(8);
  uint64_t now = kStart;
  for (const uint64_t gap : {0, 200'000, 400'000, 135'000, 1'000'000}) {
    now += gap;
    EXPECT_EQ(source.next(now, out), 1U) << gap;
    EXPECT_EQ(source.next(now, out), 0U) << gap;
    source.flushed(now);
    source.flushed(now + 5); // nothing was sent
  }
  EXPECT_EQ(source.report().gap_ns.count(), 4U);
  EXPECT_EQ(source.report().gap_ns.max(), 1'000'000U);
  EXPECT_EQ(source.report().late, 3U);
  EXPECT_EQ(source.report().lapsed, 2U);
}

TEST(PfcSource, NothingSentNothingResumed) {
  PfcSource source(words("pfc 3 every 1ms"));
  std::vector<packet::Outgoing> out(1);
  EXPECT_EQ(source.last(out), 0U);
}

} // namespace
} // namespace xr::requester::pfc_test
