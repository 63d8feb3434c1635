// SPDX-License-Identifier: Apache-2.0
// The words of `link IF WORDS`.
#include "wire_frames.h"

namespace xr::wire::wire_words_test {
namespace {

struct Words {
  const char *given, *canonical;
};

const Words kWords[] = {
    {"rate 10gbit", "rate 10gbit buffer 1M"},
    {"rate 10g l2 buffer 1000000", "rate 10gbit buffer 1M"},
    {"buffer 64KiB rate 25gbit l1 delay 0.5ms mtu 4200",
     "rate 25gbit l1 delay 500us mtu 4200 buffer 64KiB"},
    {"delay 1ms", "delay 1ms buffer 1M"},
    {"trace /tmp/cell.up buffer 200k", "trace /tmp/cell.up buffer 200k"},
    {"rate 1gbit red 5k 200k 1%", "rate 1gbit buffer 1M red 5k 200k 0.01"},
    {"rate 1gbit red 5k 200k 0.1 weight 0.002 drop at enqueue",
     "rate 1gbit buffer 1M red 5k 200k 0.1 weight 0.002 drop at enqueue"},
    {"rate 1gbit step 65k ce only at dequeue", "rate 1gbit buffer 1M step 65k ce only"},
    {"rate 1gbit blue", "rate 1gbit buffer 1M blue 0.0025 0.00025 100ms"},
    {"rate 1gbit blue 50ppm 1e-5 10us over 20k",
     "rate 1gbit buffer 1M blue 5e-05 1e-05 10us over 20k"},
    {"class 3 weight 4 share 40% red 5k 200k 1% class 6 strict rate 1gbit step 10k",
     "rate 1gbit buffer 1M step 10k class 3 weight 4 share 40% reserve 8% red 5k 200k 0.01 "
     "class 6 strict reserve 8%"},
    {"class 3 reserve 0% class 4 share 5%",
     "buffer 1M class 3 weight 1 reserve 0% class 4 weight 1 share 5% reserve 5%"},
    {"rate 1gbit step 10k class 3 share 40",
     "rate 1gbit buffer 1M step 10k class 3 weight 1 share 40% reserve 12%"},
    {"map 26:3,48-55:7", "buffer 1M map 48-55:7"},
    {"map 26:3", "buffer 1M map 0:0"},
    {"map 0-63:5", "buffer 1M map 0-39:5,48-63:5"},
    {"pfc xoff 200k xon 150k", "buffer 1M pfc xoff 200k xon 150k"},
    {"pfc xoff 200k xon 150k priorities 3-4,6 alpha 0.125 headroom 50k buffer 2M",
     "buffer 2M pfc xoff 200k xon 150k headroom 50k alpha 0.125 priorities 3,4,6"},
    {"flap 100ms every 5s", "buffer 1M flap 100ms every 5s"},
    {"flap 100ms every 1m count 3", "buffer 1M flap 100ms every 1m count 3"},
    {"flap 100ms every 1m count 3 carrier", "buffer 1M flap 100ms every 1m count 3 carrier"},
    {"flap 100ms every 5s drop red 1k 2k 10% drop",
     "buffer 1M red 1k 2k 0.1 drop flap 100ms every 5s drop"},
};

TEST(WireWords, CanonicalTextParsesBack) {
  for (const Words &one : kWords) {
    SCOPED_TRACE(one.given);
    const auto spec = parse_link(parse::split(one.given));
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(link_text(spec.get()), one.canonical);
    const auto again = parse_link(parse::split(link_text(spec.get())));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.get(), spec.get());
  }
}

TEST(WireWords, Values) {
  const LinkSpec spec = link_spec("rate 10gbit l1 delay 1ms mtu 1500 buffer 2M red 5k 200k 1% "
                                  "map 26:6 class 3 weight 4 share 40% step 7k at enqueue "
                                  "pfc xoff 200k xon 150k headroom 9k alpha 2 priorities 3");
  EXPECT_EQ(spec.rate, 10'000'000'000u);
  EXPECT_TRUE(spec.layer1);
  EXPECT_EQ(spec.delay, 1'000'000u);
  EXPECT_EQ(spec.mtu, 1500u);
  EXPECT_EQ(spec.buffer, 2'000'000u);
  EXPECT_EQ(spec.aqm.kind, LinkAqm::Kind::Red);
  EXPECT_EQ(spec.aqm.low, 5000u);
  EXPECT_EQ(spec.aqm.high, 200'000u);
  EXPECT_DOUBLE_EQ(spec.aqm.most, 0.01);
  EXPECT_TRUE(spec.by_dscp);
  EXPECT_EQ(spec.map[26], 6);
  EXPECT_EQ(spec.map[27], 3);
  EXPECT_EQ(spec.classes[3].weight, 4u);
  EXPECT_EQ(spec.classes[3].share, 40u);
  EXPECT_EQ(spec.classes[3].aqm.kind, LinkAqm::Kind::Step);
  EXPECT_TRUE(spec.classes[3].aqm.at_enqueue);
  EXPECT_FALSE(spec.classes[4].declared);
  EXPECT_EQ(spec.pfc.xoff, 200'000u);
  EXPECT_EQ(spec.pfc.xon, 150'000u);
  EXPECT_EQ(spec.pfc.headroom, 9000u);
  EXPECT_EQ(spec.pfc.alpha, 2);
  EXPECT_EQ(spec.pfc.priorities, 1 << 3);
}

TEST(WireWords, Errors) {
  const struct {
    const char *given, *message, *hint;
  } kErrors[] = {
      {"", "the words of the link are missing", "like rate 10gbit delay 100us buffer 1M"},
      {"rat 10gbit", "'rat' is not a word of a link", "did you mean rate?"},
      {"rate", "a rate from 125kbit to 10tbit is missing",
       "bits per second, like 10gbit or 500mbit"},
      {"rate 1gbit rate 2gbit", "'rate' is given twice", "each word once"},
      {"rate 1gbit trace f", "'rate' and 'trace' exclude each other",
       "a trace is a rate that varies"},
      {"delay 5", "'5' is not a duration", "a number with its unit, like 10us, 5ms, 2s or 1m"},
      {"delay -3s", "'-3s' is not a duration", "a number with its unit, like 10us, 5ms, 2s or 1m"},
      {"red 200k 5k 1%", "KMIN '200k' is not below KMAX '5k'",
       "red KMIN KMAX PMAX, like red 5k 200k 1%"},
      {"red 5k 200k 2", "'2' is not a probability", "from 0 to 1, like 0.01, 1e-6, 1% or 50ppm"},
      {"red 5k 200k 1% step 5k", "'step' is a second AQM of the link",
       "one for the link, and one after each `class N`"},
      {"step 5k ce", "only is missing", "`ce only`: frames that cannot be marked pass"},
      {"step 5k drop ce only", "`drop` and `ce only` exclude each other",
       "drop: no frame is marked; ce only: none is dropped"},
      {"step 5k at enqeue", "'enqeue' is not where the AQM decides", "did you mean enqueue?"},
      {"class 8", "'8' is not a class", nullptr},
      {"class 3 strict class 3 strict", "class 3 is given twice",
       "all words of a class follow one `class N`"},
      {"class 3 red 5k 200k 1% weight 5", "'5' is not the weight of RED's average",
       "above 0 and up to 1, like 0.002; the weight of a class is before its red"},
      {"class 3 share 0", "'0' is not a share of the buffer", "from 1% to 100%"},
      {"class 3 reserve 101%", "'101%' is not a reserve of the buffer", "from 0% to 100%"},
      {"class 3 share 5% reserve 6%", "the reserve of class 3, 6%, is above its share, 5%",
       "a share is the most that a class can use, a reserve is a part of it"},
      {"class 3 reserve 60% class 4 reserve 50%", "the classes reserve 110% of the buffer",
       "at most 100% together"},
      {"buffer 100k class 3 weight 1 class 5 weight 1 pfc xoff 90k xon 50k priorities 3",
       "class 3 never reaches xoff 90k: it can use 84k of the buffer, others reserve 16k",
       "a larger buffer, a smaller xoff, or smaller reserves: class N reserve 0%"},
      {"map 26", "'26' is not a DSCP with its class", "map DSCP:CLASS,..., like map 26:3,48-55:6"},
      {"map 1-5:2,3:4", "the map has two classes for DSCP 3",
       "map DSCP:CLASS,..., like map 26:3,48-55:6"},
      {"pfc xon 5k", "xoff is missing before 'xon'",
       "pfc xoff A xon B, like pfc xoff 200k xon 150k"},
      {"pfc xoff 5k xon 6k", "xon 6k is above xoff 5k",
       "a queue that has drained to xon resumes: xon is at most xoff"},
      {"pfc xoff 2M xon 1M", "xoff 2M is never reached: the buffer has 1M",
       "a larger buffer, or a smaller xoff"},
      {"pfc xoff 200k xon 150k priorities 3,8",
       "'8' is not a priority from 0 to 7, or two with a - between them",
       "like priorities 3,4 or 0-7"},
      {"flap 5s every 5s", "the link would be down for 5s in each 5s",
       "flap DOWN every PERIOD [count N] [carrier|drop], like flap 100ms every 5s"},
      {"mtu 60", "'60' is not an MTU from 68 to 65535", ""},
  };
  for (const auto &one : kErrors) {
    SCOPED_TRACE(one.given);
    const auto spec = parse_link(parse::split(one.given));
    ASSERT_FALSE(spec.ok());
    if (!one.hint) {
      EXPECT_TRUE(spec.error().message.starts_with(one.message)) << spec.error().message;
      continue;
    }
    EXPECT_EQ(spec.error().message, one.message);
    EXPECT_EQ(spec.error().hint, one.hint);
  }
}

TEST(WireWords, NamesOfDrops) {
  EXPECT_STREQ(link_drop_name(LinkDrop::Buffer), "buffer");
  EXPECT_STREQ(link_drop_name(LinkDrop::Down), "down");
}

} // namespace
} // namespace xr::wire::wire_words_test
