// SPDX-License-Identifier: Apache-2.0
// A link's rate, delay, MTU, trace, flap and changes while it runs, against their arithmetic.
#include "wire_frames.h"

namespace xr::wire::wire_link_test {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(WireLink, SerialisesWithoutDrift) {
  // 8,000 bits at 7 Gbit/s: 1142.857142... ns
  Link link(link_spec("rate 7gbit buffer 1G"), {});
  for (uint32_t i = 0; i < 100'000; i++)
    ASSERT_EQ(link.enqueue(0, sized(i, 1000)), LinkDrop::None);
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 100'000u);
  for (uint64_t i = 0; i < frames.size(); i++) {
    ASSERT_EQ(frames[i].handle, i);
    ASSERT_EQ(frames[i].due, (i + 1) * 8000 / 7) << i;
  }
  EXPECT_EQ(link.counts().busy_ns, 100'000ULL * 8000 / 7);
}

TEST(WireLink, Layer1CountsPreambleFcsAndGap) {
  Link layer1(link_spec("rate 1gbit l1"), {}), layer2(link_spec("rate 1gbit l2"), {});
  layer1.enqueue(0, sized(0, 1000));
  layer2.enqueue(0, sized(0, 1000));
  EXPECT_EQ(drained(layer1).at(0).due, (1000u + 24) * 8);
  EXPECT_EQ(drained(layer2).at(0).due, 1000u * 8);
}

TEST(WireLink, PropagationIsAfterSerialisation) {
  Link link(link_spec("rate 1gbit delay 1ms"), {});
  link.enqueue(500, sized(0, 125));
  link.enqueue(500, sized(1, 125));
  EXPECT_EQ(link.next(), 500 + 1000 + kMs);
  Frame frame;
  EXPECT_FALSE(link.take(500 + 1000 + kMs - 1, frame));
  ASSERT_TRUE(link.take(500 + 1000 + kMs, frame));
  EXPECT_EQ(frame.due, 500 + 1000 + kMs);
  EXPECT_EQ(link.next(), 500 + 2000 + kMs);
  EXPECT_EQ(link.counts().wire_frames, 1u);
  EXPECT_EQ(link.counts().wire_bytes, 125u);
}

TEST(WireLink, WithoutARateOnlyTheDelayPasses) {
  Link link(link_spec("delay 10us"), {});
  for (uint32_t i = 0; i < 10; i++)
    link.enqueue(i, sized(i, 9000));
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 10u);
  for (uint64_t i = 0; i < 10; i++)
    EXPECT_EQ(frames[i].due, i + 10'000);
  EXPECT_EQ(link.counts().backlog_most, 0u);
}

TEST(WireLink, AFrameThatIsTakenLateIsDueAtItsTime) {
  Link link(link_spec("rate 1gbit"), {});
  for (uint32_t i = 0; i < 3; i++)
    link.enqueue(0, sized(i, 1000));
  const auto frames = taken(link, 1'000'000);
  ASSERT_EQ(frames.size(), 3u);
  for (uint64_t i = 0; i < 3; i++)
    EXPECT_EQ(frames[i].due, (i + 1) * 8000);
}

TEST(WireLink, MtuIsThatOfTheIpPacket) {
  Link link(link_spec("mtu 1500"), {});
  Frame tagged = sized(0, 1518);
  tagged.pcp = 3;
  EXPECT_EQ(link.enqueue(0, sized(0, 1514)), LinkDrop::None);
  EXPECT_EQ(link.enqueue(0, sized(0, 1515)), LinkDrop::Mtu);
  EXPECT_EQ(link.enqueue(0, tagged), LinkDrop::None);
  tagged.length++;
  EXPECT_EQ(link.enqueue(0, tagged), LinkDrop::Mtu);
  EXPECT_EQ(link.counts().total().drops[static_cast<unsigned>(LinkDrop::Mtu)], 2u);
  EXPECT_EQ(link.counts().total().dropped_bytes, 1515u + 1519);
}

TEST(WireLink, ASmallerDelayDoesNotReorder) {
  Link link(link_spec("delay 1ms"), {});
  link.enqueue(0, sized(0, 100));
  link.change(10, link_spec("delay 1us"));
  link.enqueue(20, sized(1, 100));
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].handle, 0u);
  EXPECT_EQ(frames[1].due, kMs);
  link.enqueue(2 * kMs, sized(2, 100));
  EXPECT_EQ(drained(link).at(0).due, 2 * kMs + 1000);
}

TEST(WireLink, ARateChangesFromTheNextFrameOn) {
  Link link(link_spec("rate 1gbit"), {});
  for (uint32_t i = 0; i < 4; i++)
    link.enqueue(0, sized(i, 1000));
  link.change(10'000, link_spec("rate 2gbit")); // the second one is being sent
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[1].due, 16'000u);
  EXPECT_EQ(frames[2].due, 20'000u);
  EXPECT_EQ(frames[3].due, 24'000u);
  EXPECT_EQ(link.counts().changes, 1u);
}

TEST(WireLink, ALimitThatIsRemovedLetsTheQueueGo) {
  Link link(link_spec("rate 1mbit"), {});
  for (uint32_t i = 0; i < 4; i++)
    link.enqueue(0, sized(i, 1000));
  link.change(1000, link_spec("delay 1us"));
  const auto frames = drained(link);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[0].due, 8 * kMs); // it was being sent
  EXPECT_EQ(frames[3].due, 8 * kMs + 1000);
}

TEST(WireLink, AFlapDropsWhatIsQueuedAndWhatComes) {
  Link link(link_spec("rate 1gbit delay 10us flap 1ms every 10ms count 2"), {});
  const auto drops = [&link] {
    return link.counts().total().drops[static_cast<unsigned>(LinkDrop::Down)];
  };
  EXPECT_EQ(link.flap_next(), 9 * kMs);
  for (uint32_t i = 0; i < 4; i++) // the third is queued when the link goes down
    ASSERT_EQ(link.enqueue(9 * kMs - 12'000, sized(i, 1000)), LinkDrop::None);
  EXPECT_EQ(link.enqueue(9 * kMs, sized(4, 1000)), LinkDrop::Down);
  EXPECT_TRUE(link.down());
  EXPECT_EQ(link.enqueue(10 * kMs - 1, sized(5, 1000)), LinkDrop::Down);
  EXPECT_EQ(link.flap_next(), 10 * kMs);
  // the second was on the wire when the link went down, and arrives
  EXPECT_EQ(taken(link, 9 * kMs + kMs / 2).size(), 2u);
  EXPECT_EQ(drops(), 4u);
  Frame frame;
  LinkDrop cause;
  ASSERT_TRUE(link.take_dropped(10 * kMs - 1, frame, cause));
  EXPECT_EQ(frame.handle, 2u);
  EXPECT_EQ(cause, LinkDrop::Down);
  ASSERT_TRUE(link.take_dropped(10 * kMs - 1, frame, cause));
  EXPECT_EQ(frame.handle, 3u);
  EXPECT_FALSE(link.take_dropped(10 * kMs - 1, frame, cause));
  EXPECT_EQ(link.enqueue(10 * kMs, sized(6, 1000)), LinkDrop::None);
  EXPECT_FALSE(link.down());
  EXPECT_EQ(link.enqueue(19 * kMs, sized(7, 1000)), LinkDrop::Down);
  EXPECT_EQ(link.enqueue(20 * kMs, sized(8, 1000)), LinkDrop::None);
  EXPECT_EQ(link.flap_next(), kNever);
  EXPECT_EQ(link.enqueue(29 * kMs, sized(9, 1000)), LinkDrop::None);
  EXPECT_EQ(drops(), 5u);
  EXPECT_EQ(link.counts().flaps, 2u);
}

TEST(WireLink, DroppedFramesComeWithoutTake) {
  Link link(link_spec("rate 1mbit flap 1ms every 10ms"), {});
  link.enqueue(0, sized(0, 1000));
  link.enqueue(0, sized(1, 1000));
  link.enqueue(0, sized(2, 1000));
  Frame frame;
  LinkDrop cause;
  EXPECT_FALSE(link.take_dropped(9 * kMs - 1, frame, cause)); // the second is being sent
  ASSERT_TRUE(link.take_dropped(9 * kMs, frame, cause));
  EXPECT_EQ(frame.handle, 2u);
}

TEST(WireLink, ManyFlapsPassAtOnce) {
  Link endless(link_spec("flap 2ns every 5ns"), {});
  // down from 3 to 5, from 8 to 10, ...
  constexpr uint64_t kFar = 1'000'000'000'000;
  EXPECT_EQ(endless.enqueue(kFar + 2, sized(0, 100)), LinkDrop::None);
  EXPECT_EQ(endless.enqueue(kFar + 3, sized(0, 100)), LinkDrop::Down);
  EXPECT_EQ(endless.enqueue(kFar + 4, sized(0, 100)), LinkDrop::Down);
  EXPECT_EQ(endless.enqueue(kFar + 5, sized(0, 100)), LinkDrop::None);
  EXPECT_EQ(endless.counts().flaps, kFar / 5 + 1);
  Link counted(link_spec("flap 2ns every 5ns count 1000000"), {});
  EXPECT_EQ(counted.enqueue(4'999'998, sized(0, 100)), LinkDrop::Down); // the last one
  EXPECT_EQ(counted.flap_next(), 5'000'000u);
  Link over(link_spec("flap 2ns every 5ns count 1000000"), {});
  EXPECT_EQ(over.enqueue(kFar + 3, sized(0, 100)), LinkDrop::None);
  EXPECT_EQ(over.flap_next(), kNever);
  EXPECT_EQ(over.counts().flaps, 1'000'000u);
}

TracePointer trace(const std::string &text) {
  const auto read = parse_trace(text);
  EXPECT_TRUE(read.ok());
  return std::make_shared<DeliveryTrace>(read.get());
}

TEST(WireTrace, AnOpportunityDelivers1500Bytes) {
  Link link(link_spec("trace t"), {.trace = trace("1\n2\n2\n5\n")});
  link.enqueue(0, sized(0, 1514));
  link.enqueue(0, sized(1, 514)); // three share the first one of 2 ms
  link.enqueue(0, sized(2, 514));
  link.enqueue(0, sized(3, 514));
  link.enqueue(0, sized(4, 3014)); // the second one of 2 ms and that of 5 ms
  link.enqueue(0, sized(5, 15));   // a byte, of the next lap
  const auto frames = drained(link, 6 * kMs);
  ASSERT_EQ(frames.size(), 6u);
  const uint64_t due[] = {1, 2, 2, 2, 5, 6};
  for (unsigned i = 0; i < 6; i++)
    EXPECT_EQ(frames[i].due, due[i] * kMs) << i;
  EXPECT_EQ(link.counts().opportunities, 5u);
  EXPECT_EQ(link.counts().wasted_bytes, 1499u);
}

TEST(WireTrace, UnusedOpportunitiesAreLost) {
  Link link(link_spec("trace t"), {.trace = trace("1\n2\n2\n5\n")});
  link.update(100'000 * 5 * kMs + 1); // 100,000 laps
  EXPECT_EQ(link.counts().opportunities, 400'000u);
  EXPECT_EQ(link.counts().wasted_bytes, 400'000u * 1500);
  link.enqueue(500'000 * kMs + 1, sized(0, 1514));
  EXPECT_EQ(drained(link).at(0).due, 500'001 * kMs);
}

TEST(WireTrace, BeginsWithTheLink) {
  constexpr uint64_t kStart = 1'000'000'000'000;
  Link link(link_spec("trace t"), {.start = kStart, .trace = trace("3\n")});
  link.update(kStart + 20 * 3 * kMs);
  EXPECT_EQ(link.counts().opportunities, 20u);
  link.update(kStart + 30 * 3 * kMs);
  EXPECT_EQ(link.counts().opportunities, 30u);
  EXPECT_EQ(link.counts().started, kStart);
  EXPECT_EQ(link.counts().updated, kStart + 90 * kMs);
}

TEST(WireTrace, GoesOnThroughChanges) {
  LinkSpec spec = link_spec("trace t");
  Link link(spec, {.trace = trace("10\n")});
  link.enqueue(0, sized(0, 1514));
  spec.delay = 1;
  link.change(3 * kMs, spec);
  EXPECT_EQ(drained(link).at(0).due, 10 * kMs + 1);
  link.enqueue(11 * kMs, sized(1, 3014));
  link.update(20 * kMs); // half of it
  link.change(25 * kMs, link_spec("rate 1gbit"));
  EXPECT_EQ(drained(link).at(0).due, 25 * kMs);
  EXPECT_EQ(link.counts().total().frames_out, 2u);
}

TEST(WireTrace, Errors) {
  EXPECT_EQ(parse_trace("1\nx\n").error().message, "line 2 of the trace is 'x'");
  EXPECT_EQ(parse_trace("1\n\n2\n").error().message, "line 2 of the trace is ''");
  EXPECT_EQ(parse_trace("4\n3\n").error().message,
            "line 2 of the trace is earlier than the line before it");
  EXPECT_FALSE(parse_trace("").ok());
  EXPECT_FALSE(parse_trace("0\n0\n").ok());
  EXPECT_FALSE(parse_trace("-1\n").ok());
  EXPECT_FALSE(parse_trace("99999999999999999\n").ok());
  EXPECT_EQ(parse_trace("0\r\n7").get(), (DeliveryTrace{0, 7 * kMs}));
}

// A PFC frame does not wait for what is queued, only for the frame that is being sent; it takes as
// long as that to the other end.
TEST(WireLink, ControlFramesPropagate) {
  Link link(link_spec("rate 8mbit delay 5ms"), {}); // 1 byte a us
  for (uint32_t i = 0; i < 3; i++)
    ASSERT_EQ(link.enqueue(0, sized(i, 1000)), LinkDrop::None);
  link.put_control(0, sized(99, 64));
  const std::vector<Frame> all = drained(link);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].due, 6 * kMs);
  EXPECT_EQ(all[1].handle, 99u);
  EXPECT_EQ(all[1].due, 6 * kMs + 64'000);
  EXPECT_EQ(all[2].due, 7 * kMs + 64'000);
  EXPECT_EQ(link.counts().wire_frames, 0u);
  EXPECT_EQ(link.counts().total().frames_in, 3u);
}

TEST(WireLink, MostBytes) {
  // 10 Gbit/s x 1 ms = 1.25 MB; two priorities of two ports with headroom
  EXPECT_EQ(most_bytes(link_spec("rate 10gbit delay 1ms buffer 500k"), 0, 2), 1'750'000u);
  EXPECT_EQ(most_bytes(link_spec("delay 1ms buffer 500k"), 10'000'000'000, 2), 1'750'000u);
  EXPECT_EQ(
      most_bytes(link_spec("buffer 500k pfc xoff 20k xon 10k headroom 30k priorities 3,4"), 0, 2),
      620'000u);
}

// How much later than the requested delay each frame left: how late the driver was.
TEST(WireLink, GivenDelayAgainstTheOneAsked) {
  Link link(link_spec("rate 1gbit delay 1ms"), {});
  Frame frame;
  for (uint64_t i = 0; i < 3; i++) { // 8 us each; taken in time, 5 us late and 7 us late
    link.enqueue(i * 10 * kMs, sized(0, 1000));
    const uint64_t late[] = {0, 5'000, 7'000};
    ASSERT_TRUE(link.take(i * 10 * kMs + 8'000 + kMs + late[i], frame));
  }
  const LinkCounts &counts = link.counts();
  EXPECT_EQ(counts.delay, kMs);
  EXPECT_EQ(counts.late.count(), 3u);
  EXPECT_EQ(counts.late.mean(), 4'000);
  EXPECT_EQ(counts.late.max(), 7'000u);
  // A shorter delay does not let frames overtake: the second one leaves later than asked.
  link.enqueue(100 * kMs, sized(0, 1000));
  link.enqueue(100 * kMs, sized(1, 1000));
  link.change(100 * kMs + 7'000, link_spec("rate 1gbit delay 100us"));
  EXPECT_EQ(counts.delay, 100'000u);
  EXPECT_EQ(counts.late.count(), 0u);
  EXPECT_EQ(drained(link).size(), 2u);
  EXPECT_EQ(counts.late.count(), 2u);
  EXPECT_EQ(counts.late.max(), kMs - 8'000 - 100'000);
}

} // namespace
} // namespace xr::wire::wire_link_test
