// SPDX-License-Identifier: Apache-2.0
// The queue of a link: buffer, AQM, classes.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include <fmt/format.h>

#include "wire_frames.h"

namespace xr::wire::wire_queue_test {
namespace {

uint64_t drops(const Link &link, LinkDrop cause) {
  return link.counts().total().drops[static_cast<unsigned>(cause)];
}

// A FIFO of some bytes before a line of some rate, with exact fractions.
struct Reference {
  struct Waiting {
    uint64_t begins, bytes;
  };
  unsigned __int128 rate, free = 0; // when the line is free, in 1 / rate ns
  uint64_t buffer, held = 0, most = 0;
  double byte_ns = 0;
  std::deque<Waiting> queue = {};

  // When the last bit leaves; kNever: dropped.
  uint64_t add(uint64_t now, uint64_t bytes) {
    for (; !queue.empty() && queue.front().begins <= now; queue.pop_front())
      held -= queue.front().bytes;
    if (held + bytes > buffer)
      return kNever;
    const unsigned __int128 begins = std::max<unsigned __int128>(now * rate, free);
    free = begins + bytes * 8 * 1'000'000'000;
    const auto at = static_cast<uint64_t>(begins / rate);
    byte_ns += static_cast<double>(bytes) * static_cast<double>(at - now);
    if (at > now) {
      queue.push_back({at, bytes});
      held += bytes;
    }
    most = std::max(most, held);
    return static_cast<uint64_t>(free / rate);
  }
};

TEST(WireQueue, AgreesWithAReference) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    SCOPED_TRACE(seed);
    uint64_t n = 0, now = 0;
    const uint64_t rate = 1'000'000'000 + draw_below(seed, n++, 9'000'000'000);
    const uint64_t buffer = 5'000 + draw_below(seed, n++, 50'000);
    LinkSpec spec = link_spec("delay 7us");
    spec.rate = rate;
    spec.buffer = buffer;
    Link link(spec, {});
    Reference reference{.rate = rate, .buffer = buffer};
    std::vector<uint64_t> expected;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < 20'000; i++) {
      const uint64_t bytes = 64 + draw_below(seed, n++, 1450);
      now += draw_below(seed, n++, 2 * 8 * 780ULL * 1'000'000'000 / rate); // about its rate
      const uint64_t due = reference.add(now, bytes);
      const LinkDrop cause = link.enqueue(now, sized(i, static_cast<uint32_t>(bytes)));
      ASSERT_EQ(cause == LinkDrop::None, due != kNever) << i;
      if (due == kNever)
        lost++;
      else
        expected.push_back(due + 7000);
    }
    EXPECT_GT(lost, 0u);
    const auto frames = drained(link);
    ASSERT_EQ(frames.size(), expected.size());
    for (size_t i = 0; i < frames.size(); i++)
      ASSERT_EQ(frames[i].due, expected[i]) << i;
    EXPECT_EQ(drops(link, LinkDrop::Buffer), lost);
    EXPECT_EQ(link.counts().backlog_most, reference.most);
    link.update(expected.back());
    EXPECT_NEAR(link.counts().backlog.mean(),
                reference.byte_ns / static_cast<double>(expected.back()), 1e-6 * 50'000);
  }
}

TEST(WireQueue, SojournEndsWithTheLastBit) {
  Link link(link_spec("rate 1gbit delay 1ms"), {});
  for (uint32_t i = 0; i < 3; i++)
    link.enqueue(100, sized(i, 1000));
  drained(link);
  EXPECT_EQ(link.counts().sojourn.count(), 3u);
  EXPECT_EQ(link.counts().sojourn.min(), 8000u);
  EXPECT_EQ(link.counts().sojourn.max(), 24'000u);
  EXPECT_EQ(link.counts().sojourn.mean(), 16'000);
}

// SONiC's method (sonic-mgmt, docs/testplan/ECN_test.md): with the egress paused, KMAX + 10 packets
// of 1 KB; packet i, from 1 on, leaves with KMAX + 10 - i KB after it: itself does not count. At
// exactly KMAX the probability here is still PMAX (DCQCN), SONiC's plan has 1.
TEST(WireRed, AccuracyByTheMethodOfSonic) {
  constexpr uint64_t kMin = 500, kMax = 900, kFrames = kMax + 10, kRepeats = 200;
  const LinkSpec spec = link_spec("rate 10gbit buffer 2M red 500k 900k 5%");
  std::vector<unsigned> marked(kFrames + 1);
  for (uint64_t repeat = 0; repeat < kRepeats; repeat++) {
    Link link(spec, {.seed = repeat});
    ASSERT_TRUE(link.pause_all(0, 0xffff));
    for (uint32_t i = 1; i <= kFrames; i++)
      ASSERT_EQ(link.enqueue(i, sized(i, 1000)), LinkDrop::None);
    ASSERT_EQ(link.counts().total().frames_out, 0u);
    ASSERT_TRUE(link.pause_all(1000, 0));
    const auto frames = drained(link);
    ASSERT_EQ(frames.size(), kFrames);
    uint64_t marks = 0;
    for (const Frame &frame : frames) {
      marked[frame.handle] += frame.marked;
      marks += frame.marked;
      EXPECT_EQ(frame.ecn, frame.marked ? kCe : kEct0);
    }
    EXPECT_EQ(link.counts().total().marks, marks);
  }
  for (uint64_t i = 1; i < 10; i++)
    EXPECT_EQ(marked[i], kRepeats) << i;
  for (uint64_t i = kFrames - kMin; i <= kFrames; i++)
    EXPECT_EQ(marked[i], 0u) << i;
  constexpr uint64_t kBin = 50;
  for (uint64_t first = 10; first + kBin <= kFrames - kMin; first += kBin) {
    double mean = 0, variance = 0, seen = 0;
    for (uint64_t i = first; i < first + kBin; i++) {
      const double p = 0.05 * static_cast<double>(kFrames - i - kMin) / (kMax - kMin);
      mean += kRepeats * p;
      variance += kRepeats * p * (1 - p);
      seen += marked[i];
    }
    EXPECT_NEAR(seen, mean, 4 * std::sqrt(variance)) << first;
  }
}

// Which of `count` frames of 1,000 bytes, queued while the link was paused, leave marked; those
// that are missing were dropped.
std::vector<Frame> released(const std::string &words, uint32_t count, uint8_t ecn = kEct0,
                            Link **out = nullptr) {
  static std::unique_ptr<Link> link;
  link = std::make_unique<Link>(link_spec(words), LinkSetup{});
  link->pause_all(0, 0xffff);
  for (uint32_t i = 0; i < count; i++) {
    Frame frame = sized(i, 1000);
    frame.ecn = ecn;
    link->enqueue(0, frame);
  }
  link->pause_all(0, 0);
  if (out)
    *out = link.get();
  return drained(*link);
}

uint64_t marks_of(const std::vector<Frame> &frames) {
  return static_cast<uint64_t>(
      std::count_if(frames.begin(), frames.end(), [](const Frame &f) { return f.marked; }));
}

TEST(WireStep, MarksAboveItsThreshold) {
  const auto frames = released("rate 1gbit step 5k", 20);
  ASSERT_EQ(frames.size(), 20u);
  for (const Frame &frame : frames) // frame i leaves 19 - i after it
    EXPECT_EQ(frame.marked, frame.handle < 14) << frame.handle;
}

TEST(WireStep, AtEnqueueTheLastFramesAreMarked) {
  for (const Frame &frame : released("rate 1gbit step 5k at enqueue", 20))
    EXPECT_EQ(frame.marked, frame.handle > 5) << frame.handle; // it finds `handle` before it
}

TEST(WireAqm, OtherFramesAreDropped) {
  Link *link = nullptr;
  EXPECT_EQ(released("rate 1gbit step 5k", 20, 0, &link).size(),
            6u); // each drop shortens the queue
  EXPECT_EQ(drops(*link, LinkDrop::Aqm), 14u);
  EXPECT_EQ(released("rate 1gbit step 5k drop", 20, kEct0, &link).size(), 6u);
  EXPECT_EQ(link->counts().total().marks, 0u);
  EXPECT_EQ(released("rate 1gbit step 5k ce only", 20, 0).size(), 20u);
  EXPECT_EQ(released("rate 1gbit step 5k at enqueue", 20, 0, &link).size(), 6u);
  EXPECT_EQ(drops(*link, LinkDrop::Aqm), 14u);
  const auto ce = released("rate 1gbit step 5k", 20, kCe, &link); // nothing to mark
  EXPECT_EQ(ce.size(), 20u);
  EXPECT_EQ(marks_of(ce), 0u);
}

TEST(WireRed, AverageOfTheQueue) {
  Aqm aqm;
  LinkAqm spec = link_spec("red 1k 2k 1 weight 0.25").aqm;
  aqm.configure(spec, 1000, 0);
  const Frame frame = sized(0, 1000);
  double expected = 0;
  for (const uint64_t length : {4000, 4000, 0, 8000}) {
    aqm.decide(0, length, frame, 0);
    expected = 0.75 * expected + 0.25 * static_cast<double>(length);
    EXPECT_DOUBLE_EQ(aqm.average(), expected);
  }
  EXPECT_EQ(aqm.decide(0, 2000, frame, UINT64_MAX), Aqm::Verdict::Mark); // 3,050 > KMAX
  const double before = aqm.average();
  aqm.idle(10'000);
  aqm.busy(13'000); // the time of three frames
  EXPECT_DOUBLE_EQ(aqm.average(), before * 0.75 * 0.75 * 0.75);
}

TEST(WireBlue, GrowsAtLossesAndShrinksWhileIdle) {
  Aqm aqm;
  aqm.configure(link_spec("blue 0.1 0.01 10us").aqm, 0, 0);
  aqm.lost(10'000); // not later than the freeze time
  EXPECT_EQ(aqm.probability(), 0);
  aqm.lost(10'001);
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.1);
  aqm.lost(20'001);
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.1);
  aqm.lost(20'002);
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.2);
  aqm.idle(25'000);
  aqm.busy(30'002); // frozen until 30,003
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.2);
  aqm.idle(50'000);
  aqm.busy(75'000); // at 50,000, 60,001 and 70,002
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.17);
  aqm.idle(76'000);
  aqm.busy(80'002); // frozen until 80,003
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.17);
  aqm.idle(80'002);
  aqm.busy(80'003);
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.16);
  for (uint64_t at = 100'000; at < 1'000'000; at += 20'000)
    aqm.lost(at);
  EXPECT_EQ(aqm.probability(), 1);
  EXPECT_EQ(aqm.decide(1'000'000, 0, sized(0, 100), UINT64_MAX), Aqm::Verdict::Mark);
  aqm.idle(2'000'000);
  aqm.busy(100'000'000);
  EXPECT_EQ(aqm.probability(), 0);
}

TEST(WireBlue, LossesOfTheQueueDriveIt) {
  Link link(link_spec("rate 1gbit buffer 10k blue 0.25 0.001 1us"), {});
  for (uint32_t i = 0; i < 13; i++) // the first is sent, ten wait, two are lost
    link.enqueue(100'000 + i, sized(i, 1000));
  EXPECT_EQ(drops(link, LinkDrop::Buffer), 2u);
  EXPECT_DOUBLE_EQ(link.aqm(Scheduler::kRest).probability(), 0.25); // frozen at the second
  Link without(link_spec("rate 1gbit buffer 1M blue 0.25 0.001 1us"), {});
  for (uint32_t i = 0; i < 100; i++)
    without.enqueue(100'000 + 2000 * i, sized(i, 1000));
  drained(without);
  EXPECT_EQ(without.aqm(Scheduler::kRest).probability(), 0);
  Link over(link_spec("rate 1gbit buffer 1M blue 0.25 0.001 1us over 5k"), {});
  for (uint32_t i = 0; i < 11; i++) // those that leave with more than 5,000 after them: four
    over.enqueue(100'000, sized(i, 1000));
  drained(over);
  EXPECT_DOUBLE_EQ(over.aqm(Scheduler::kRest).probability(), 1);
}

TEST(WireBlue, TheLinkIsIdleAfterTheLastBit) {
  Link link(link_spec("rate 1gbit buffer 1k blue 0.5 0.125 1us"), {});
  for (uint32_t i = 0; i < 3; i++) // the third is lost; the second leaves at 16,000
    link.enqueue(2000, sized(i, 1000));
  drained(link);
  const Aqm &aqm = link.aqm(Scheduler::kRest);
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.5);
  link.enqueue(18'000, sized(3, 1000));
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.5);
  link.enqueue(26'001, sized(4, 1000)); // idle at 26,000, busy again one ns later
  EXPECT_DOUBLE_EQ(aqm.probability(), 0.375);
  link.enqueue(34'001 + 2002, sized(5, 1000)); // idle for two periods more, and at once
  EXPECT_DOUBLE_EQ(aqm.probability(), 0);
}

TEST(WireClasses, PcpOrDscp) {
  Link pcp(link_spec("delay 1us"), {}), map(link_spec("map 26:3,48-55:7"), {});
  Frame frame = sized(0, 100, 26);
  EXPECT_EQ(pcp.class_of(frame), 3u);
  EXPECT_EQ(map.class_of(sized(0, 100, 50)), 7u);
  EXPECT_EQ(map.class_of(sized(0, 100, 40)), 5u);
  frame.pcp = 6;
  EXPECT_EQ(pcp.class_of(frame), 6u);
  EXPECT_EQ(map.class_of(frame), 3u);
  frame.dscp = kNoDscp;
  EXPECT_EQ(map.class_of(frame), 6u);
  frame.pcp = kNoPcp;
  EXPECT_EQ(map.class_of(frame), 0u);
}

TEST(WireClasses, WithoutWordsAllShareOneQueue) {
  Link link(link_spec("rate 1gbit"), {});
  for (uint32_t i = 0; i < 64; i++)
    link.enqueue(0, sized(i, 100, static_cast<uint8_t>(i * 37 % 64)));
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 64u);
  for (uint32_t i = 0; i < 64; i++)
    EXPECT_EQ(frames[i].handle, i);
}

TEST(WireClasses, StrictOnesGoFirst) {
  Link link(link_spec("rate 1gbit class 5 strict class 6 strict class 1 weight 10"), {});
  for (uint32_t i = 0; i < 40; i++)
    link.enqueue(0, sized(i, 1000, std::array<uint8_t, 4>{8, 48, 0, 40}[i % 4]));
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 40u);
  EXPECT_EQ(frames[0].dscp, 8); // it was alone
  for (uint32_t i = 1; i < 11; i++)
    EXPECT_EQ(frames[i].dscp, 48) << i;
  for (uint32_t i = 11; i < 21; i++)
    EXPECT_EQ(frames[i].dscp, 40) << i;
}

TEST(WireClasses, ShareOfTheBuffer) {
  Link link(link_spec("rate 1gbit buffer 100k class 3 share 10% class 4 weight 2"), {});
  link.pause_all(0, 0xffff);
  for (uint32_t i = 0; i < 20; i++)
    link.enqueue(0, sized(i, 1000, 24));
  EXPECT_EQ(drops(link, LinkDrop::Share), 10u);
  EXPECT_EQ(link.counts().classes[3].backlog_bytes, 10'000u);
  for (uint32_t i = 0; i < 100; i++)
    link.enqueue(0, sized(i, 1000, 32));
  EXPECT_EQ(link.counts().classes[4].backlog_bytes, 82'000u); // 8 % are reserved for the others
  EXPECT_EQ(drops(link, LinkDrop::Buffer), 18u);
}

// A class at 2 of 10 Gbit/s, and 20 Gbit/s of another one, for 10 ms. What the first one loses.
uint64_t lost_beside_a_greedy_one(const std::string &words, uint8_t dscp, uint8_t greedy_dscp) {
  constexpr uint64_t kEach = 400, kFrames = 25'000; // ns; 1,000 bytes are 20 Gbit/s
  Link link(link_spec("rate 10gbit buffer 200k " + words), {});
  for (uint64_t i = 0; i < kFrames; i++) {
    link.enqueue(i * kEach, sized(0, 1000, greedy_dscp));
    if (i % 10 == 0)
      link.enqueue(i * kEach, sized(1, 1000, dscp));
    taken(link, i * kEach);
  }
  drained(link);
  EXPECT_GT(drops(link, LinkDrop::Buffer), kFrames / 3); // the greedy one fills the buffer
  const LinkClassCounts &counts = link.counts().classes[dscp / 8];
  EXPECT_EQ(counts.frames_in, kFrames / 10);
  EXPECT_EQ(counts.frames_out + counts.dropped(), counts.frames_in);
  return counts.dropped();
}

TEST(WireClasses, AGreedyOneDoesNotStarveOthers) {
  EXPECT_EQ(lost_beside_a_greedy_one("class 6 strict", 48, 0), 0u);
  EXPECT_EQ(lost_beside_a_greedy_one("class 6 strict", 48, 40), 0u);
  EXPECT_EQ(lost_beside_a_greedy_one("class 6 weight 1 class 1 weight 1", 48, 8), 0u);
  EXPECT_EQ(lost_beside_a_greedy_one("class 1 weight 1", 48, 8), 0u); // in the rest
  EXPECT_EQ(lost_beside_a_greedy_one("class 0 weight 1 class 1 weight 1 class 2 weight 1 class 3 "
                                     "weight 1 class 4 weight 1 class 5 weight 1 class 6 strict "
                                     "class 7 weight 1",
                                     48, 8),
            0u);
  EXPECT_GT(lost_beside_a_greedy_one("class 6 strict reserve 0%", 48, 0), 500u);
}

// The links of one switch reserve parts of its buffer; together no more than it has.
TEST(WireClasses, ReservesOfASharedBuffer) {
  SharedBuffer buffer(100'000, {}, 0);
  const LinkSpec spec = link_spec("rate 1gbit class 3 reserve 60% class 4 weight 1 reserve 0%");
  const LinkSetup setup{.buffer = &buffer, .sharers = 2};
  Link one(spec, setup), other(spec, setup);
  for (Link *link : {&one, &other})
    link->pause_all(0, 0xffff);
  for (uint32_t i = 0; i < 100; i++) // not the 2 * 30 + 2 * 4 kB of class 3 and the rest
    one.enqueue(0, sized(i, 1000, 32));
  EXPECT_EQ(one.counts().classes[4].backlog_bytes, 32'000u);
  for (uint32_t i = 0; i < 100; i++)
    other.enqueue(0, sized(i, 1000, 24));
  EXPECT_EQ(other.counts().classes[3].backlog_bytes, 30'000u);
  one.pause_all(0, 0);
  drained(one);
  EXPECT_EQ(buffer.used(), 30'000u);
  for (uint32_t i = 0; i < 100; i++) // 100 - 30 - 4 - 4 kB are left: class 3 of `one` has 30
    other.enqueue(one.counts().updated, sized(i, 1000, 24));
  EXPECT_EQ(other.counts().classes[3].backlog_bytes, 62'000u);
}

TEST(WireClasses, ReservesFollowAChange) {
  Link link(link_spec("rate 1gbit buffer 100k"), {});
  link.pause_all(0, 0xffff);
  for (uint32_t i = 0; i < 200; i++)
    link.enqueue(0, sized(i, 1000, 32));
  EXPECT_EQ(link.counts().classes[4].backlog_bytes, 100'000u);
  link.change(0, link_spec("rate 1gbit buffer 200k class 3 reserve 20% class 4 weight 1"));
  for (uint32_t i = 0; i < 200; i++)
    link.enqueue(0, sized(i, 1000, 32));
  EXPECT_EQ(link.counts().classes[4].backlog_bytes, 144'000u); // 40 and 16 kB are reserved
  for (uint32_t i = 0; i < 200; i++)
    link.enqueue(0, sized(i, 1000, 24));
  EXPECT_EQ(link.counts().classes[3].backlog_bytes, 40'000u);
  link.change(0, link_spec("rate 1gbit buffer 200k"));
  for (uint32_t i = 0; i < 200; i++)
    link.enqueue(0, sized(i, 1000, 0));
  EXPECT_EQ(link.buffer().used(), 200'000u);
}

// Each class gets what it offers, or its part by weight of what the others leave.
std::vector<double> water_filling(std::vector<double> offered, const std::vector<double> &weights) {
  std::vector<double> share(offered.size());
  std::vector<bool> full(offered.size());
  for (double left = 1;;) {
    double weight = 0;
    for (size_t i = 0; i < offered.size(); i++)
      weight += full[i] ? 0 : weights[i];
    bool changed = false;
    for (size_t i = 0; i < offered.size(); i++)
      if (!full[i] && offered[i] <= left * weights[i] / weight + 1e-12) {
        share[i] = offered[i];
        full[i] = changed = true;
      }
    left = 1 - std::accumulate(share.begin(), share.end(), 0.0);
    if (changed)
      continue;
    for (size_t i = 0; i < offered.size(); i++)
      share[i] = full[i] ? share[i] : left * weights[i] / weight;
    return share;
  }
}

TEST(WireClasses, SharesByWaterFilling) {
  struct Case {
    std::vector<double> offered; // of the link's rate, per class
    std::vector<double> weights;
    std::vector<uint32_t> sizes;
  };
  const Case cases[] = {
      {{1, 1}, {1, 1}, {1000, 1000}},
      {{1, 1}, {1, 3}, {64, 1500}},
      {{0.1, 1, 1}, {1, 1, 2}, {1500, 700, 300}},
      {{0.5, 0.2, 0.9, 0.05}, {10, 40, 30, 20}, {1500, 1024, 256, 64}},
      {{0.3, 0.3, 0.3}, {1, 5, 9}, {1000, 1000, 1000}},
      {{1, 1, 1, 1, 1, 1, 1, 1},
       {1, 2, 3, 4, 5, 6, 7, 8},
       {64, 128, 256, 512, 1024, 1500, 900, 90}},
      {{1, 1}, {1, 100}, {9000, 9000}},
  };
  constexpr double kRate = 1e9, kNs = 1e9;
  for (const Case &one : cases) {
    std::string words = "rate 1gbit buffer 80M";
    const size_t classes = one.offered.size();
    for (size_t i = 0; i < classes; i++)
      words += fmt::format(" class {} weight {} share 10%", i, one.weights[i]);
    SCOPED_TRACE(words);
    Link link(link_spec(words), {});
    std::vector<double> due(classes), step(classes);
    for (size_t i = 0; i < classes; i++)
      step[i] = one.sizes[i] * 8 / (one.offered[i] * kRate) * 1e9;
    for (;;) { // each class at a constant rate
      const auto next = static_cast<size_t>(std::min_element(due.begin(), due.end()) - due.begin());
      if (due[next] > kNs)
        break;
      const auto now = static_cast<uint64_t>(due[next]);
      link.enqueue(now, sized(0, one.sizes[next], static_cast<uint8_t>(8 * next)));
      taken(link, now);
      due[next] += step[next];
    }
    const auto expected = water_filling(one.offered, one.weights);
    for (size_t i = 0; i < classes; i++)
      EXPECT_NEAR(static_cast<double>(link.counts().classes[i].bytes_out) * 8 / kRate, expected[i],
                  0.003)
          << i;
  }
}

} // namespace
} // namespace xr::wire::wire_queue_test
