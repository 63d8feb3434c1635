// SPDX-License-Identifier: Apache-2.0
// Random events and random settings: nothing is lost, nothing leaves twice, classes keep their
// order.
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "wire_frames.h"

namespace xr::wire::wire_random_test {
namespace {

const char *const kSettings[] = {
    "rate 1gbit",
    "rate 10gbit delay 20us buffer 30k",
    "rate 2gbit l1 delay 1us buffer 20k red 1k 10k 50% class 3 strict class 4 weight 5 share 20%",
    "rate 5gbit step 3k drop class 0 weight 1 class 1 weight 7 step 1k at enqueue",
    ("rate 3gbit buffer 40k pfc xoff 5k xon 2k headroom 10k priorities 2-5 blue 0.1 0.01 10us over "
     "3k"),
    "rate 1gbit buffer 40k pfc xoff 9k xon 2k alpha 0.3 red 1k 8k 1 weight 0.1",
    "delay 50us mtu 1200",
    "trace t delay 3us buffer 50k step 5k ce only",
    "rate 1gbit flap 20us every 100us",
    "rate 4gbit map 0-9:2,10:4,11-63:2 class 2 strict class 4 strict share 30%",
};

class RandomRun {
public:
  explicit RandomRun(uint64_t seed)
      : seed_(seed), trace_(std::make_shared<DeliveryTrace>(DeliveryTrace{0, 1000, 1000, 30'000})),
        link_(setting(), {.line_rate = 25'000'000'000, .seed = seed, .trace = trace_}) {}

  void step() {
    now_ += draw(0, 6) ? draw(0, 3000) : 0;
    switch (draw(0, 40)) {
    case 0: {
      const LinkSpec spec = setting();
      link_.change(now_, spec, spec.trace.empty() ? nullptr : trace_);
      break;
    }
    case 1:
      link_.pause(now_, static_cast<uint8_t>(draw(0, 256)), quanta());
      break;
    case 2:
      link_.pause_all(now_, static_cast<uint16_t>(draw(0, 2) * draw(0, 500)));
      break;
    case 3:
      link_.update(now_);
      break;
    default:
      offer(1 + draw(0, 3));
    }
    if (draw(0, 3) == 0)
      collect();
    check();
  }

  void end() {
    link_.change(now_, link_spec("rate 100gbit"));
    const std::array<uint16_t, kLinkClasses> resume{};
    link_.pause(now_, 0xff, resume);
    now_ += 1'000'000'000;
    link_.update(now_);
    collect();
    check();
    EXPECT_TRUE(inside_.empty());
    const LinkClassCounts total = link_.counts().total();
    EXPECT_EQ(total.backlog_bytes + total.backlog_frames + link_.counts().wire_frames, 0u);
    EXPECT_EQ(link_.buffer().used() + link_.buffer().headroom_used(), 0u);
    EXPECT_EQ(link_.next(), kNever);
    EXPECT_EQ(link_.counts().backlog.count(), link_.counts().updated - link_.counts().started);
  }

  uint64_t lost() const { return dropped_; }

private:
  uint64_t draw(uint64_t from, uint64_t to) {
    return from + draw_below(seed_, number_++, to - from);
  }
  LinkSpec setting() { return link_spec(kSettings[draw(0, std::size(kSettings))]); }
  std::array<uint16_t, kLinkClasses> quanta() {
    std::array<uint16_t, kLinkClasses> result{};
    for (uint16_t &one : result)
      one = static_cast<uint16_t>(draw(0, 2) * draw(0, 300));
    return result;
  }

  void offer(uint64_t count) {
    for (; count; count--) {
      Frame frame = sized(offered_++, static_cast<uint32_t>(draw(60, 1600)),
                          static_cast<uint8_t>(draw(0, 64)));
      frame.ecn = static_cast<uint8_t>(draw(0, 4));
      frame.ingress = static_cast<uint8_t>(draw(0, 5));
      if (draw(0, 4) == 0)
        frame.pcp = static_cast<uint8_t>(draw(0, 8));
      frame.stream = link_.class_of(frame);
      if (link_.enqueue(now_, frame) == LinkDrop::None)
        inside_.insert(frame.handle);
      else
        dropped_++;
    }
  }

  void collect() {
    Frame frame;
    while (link_.take(now_, frame)) {
      delivered_++;
      EXPECT_EQ(inside_.erase(frame.handle), 1u) << frame.handle;
      EXPECT_LE(frame.due, now_);
      EXPECT_GE(frame.due, last_due_);
      last_due_ = frame.due;
      uint64_t &last = last_[frame.stream];
      EXPECT_GT(frame.handle + 1, last);
      last = frame.handle + 1;
    }
    LinkDrop cause;
    while (link_.take_dropped(now_, frame, cause)) {
      dropped_++;
      EXPECT_TRUE(cause == LinkDrop::Aqm || cause == LinkDrop::Down);
      EXPECT_EQ(inside_.erase(frame.handle), 1u) << frame.handle;
    }
    PfcOut out;
    while (link_.take_pfc(now_, out)) {
      EXPECT_LT(out.ingress, 5u);
      EXPECT_NE(out.priorities, 0u);
    }
    EXPECT_GT(link_.next(), now_);
  }

  void check() {
    const LinkClassCounts total = link_.counts().total();
    uint64_t drops = 0;
    for (const uint64_t one : total.drops)
      drops += one;
    ASSERT_EQ(total.frames_in, offered_);
    ASSERT_EQ(total.frames_in, total.frames_out + drops + total.backlog_frames);
    ASSERT_EQ(total.bytes_in, total.bytes_out + total.dropped_bytes + total.backlog_bytes);
    ASSERT_EQ(total.frames_out, delivered_ + link_.counts().wire_frames);
    ASSERT_EQ(total.backlog_bytes, link_.buffer().used() + link_.buffer().headroom_used());
  }

  uint64_t seed_, number_ = 0, now_ = 1000, last_due_ = 0;
  TracePointer trace_;
  Link link_;
  uint32_t offered_ = 0;
  uint64_t delivered_ = 0, dropped_ = 0;
  std::set<uint32_t> inside_;
  std::array<uint64_t, kLinkClasses> last_{};
};

TEST(WireRandom, InIsOutAndDroppedAndQueued) {
  const char *one = std::getenv("XR_SEED");
  const uint64_t from = one ? std::strtoull(one, nullptr, 0) : 1;
  uint64_t lost = 0;
  for (uint64_t seed = from; seed < (one ? from + 1 : from + 100); seed++) {
    SCOPED_TRACE(fmt::format("XR_SEED={}", seed));
    RandomRun run(seed);
    for (unsigned i = 0; i < 2000; i++) {
      run.step();
      if (testing::Test::HasFailure())
        return;
    }
    run.end();
    lost += run.lost();
  }
  EXPECT_GT(lost, 100u);
}

// Equal calls at equal times give one result, however often update() is called between.
TEST(WireRandom, CallsBetweenDoNotMatter) {
  const char *words = "rate 1gbit buffer 20k red 1k 15k 30% class 3 strict class 2 weight 3";
  Link seldom(link_spec(words), {.seed = 7}), often(link_spec(words), {.seed = 7});
  uint64_t now = 0, n = 0;
  for (uint32_t i = 0; i < 5000; i++) {
    const auto bytes = static_cast<uint32_t>(64 + draw_below(1, n++, 1400));
    const Frame frame = sized(i, bytes, static_cast<uint8_t>(draw_below(1, n++, 32)));
    EXPECT_EQ(seldom.enqueue(now, frame), often.enqueue(now, frame));
    const uint64_t gap = draw_below(1, n++, 12'000);
    for (uint64_t at = now; at < now + gap; at += 100)
      often.update(at);
    now += gap;
  }
  const auto one = drained(seldom), other = drained(often);
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); i++) {
    EXPECT_EQ(one[i].handle, other[i].handle);
    EXPECT_EQ(one[i].due, other[i].due);
    EXPECT_EQ(one[i].marked, other[i].marked);
  }
}

} // namespace
} // namespace xr::wire::wire_random_test
