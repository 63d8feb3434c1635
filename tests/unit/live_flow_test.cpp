// SPDX-License-Identifier: Apache-2.0
// The packets that live frames are made of, in frames that are recycled: byte by byte those of the
// open-loop requester, whatever the frames contained before.
#include "requester/live_flow.h"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "congestion/pacer.h"
#include "packet/icrc.h"
#include "packet/icrc_changes.h"
#include "parse/words.h"
#include "requester/open.h"

namespace xr::requester::live_flow_test {
namespace {

constexpr double kLine = 10e9;
constexpr uint64_t kBegin = 1'000'000'000;
using Bytes = std::vector<uint8_t>;

flow::Flow parsed(const std::string &words) {
  const std::string ends =
      words.find("src ") == std::string::npos ? "src 192.0.2.1 dst 192.0.2.2 " : "";
  auto made = flow::parse_flow(parse::split(ends + "dst-mac 02:00:00:00:00:02 seed 7 " + words));
  if (!made) {
    ADD_FAILURE() << words << ": " << made.error().message;
    return {};
  }
  flow::Flow flow = std::move(*made);
  flow.path.dst_mac = *flow.dst_mac;
  flow.path.src_mac = {2, 0, 0, 0, 0, 1};
  EXPECT_TRUE(flow::fit_frame_size(flow).ok()) << words;
  const Status sound = flow::check_flow(flow, 9000);
  EXPECT_TRUE(sound.ok()) << words << ": " << sound.error().message;
  return flow;
}

// Like bpf/live.bpf.c, with frames that are recycled in turn.
class Recycled {
public:
  Recycled(const LiveFlow &flow, std::mt19937_64 &random) : flow_(flow), random_(random) {
    qps_ = flow.qps();
    for (Bytes &frame : frames_) {
      frame.assign(kRoom, 0);
      std::copy(flow.frame().begin(), flow.frame().end(), frame.begin() + kHead);
    }
  }

  Bytes next() {
    Bytes &frame = frames_[made_++ % frames_.size()];
    roce_live_qp &qp = qps_.at(state_.at);
    const uint32_t which = roce_live_which(&flow_.plan(), &qp);
    const roce_live_shape &shape = flow_.plan().shapes[which];
    EXPECT_LE(shape.tail, 0);
    uint8_t *data = frame.data() + kHead - shape.head;
    uint8_t *end = frame.data() + kHead + flow_.frame().size() + shape.tail;
    spoil(data, data + shape.header);
    EXPECT_EQ(roce_live_write(&flow_.plan(), &qp, which, data, end), 0);
    EXPECT_EQ(data + shape.length, end);
    roce_live_advance(&flow_.plan(), &state_, &qp, which);
    return {data, end};
  }
  const roce_live_state &state() const { return state_; }

private:
  static constexpr size_t kHead = 256, kRoom = 8192;

  // Somebody on the way changed some of the headers.
  void spoil(uint8_t *data, const uint8_t *end) {
    for (; data < end; data++)
      if (random_() % 4 == 0)
        *data = static_cast<uint8_t>(random_());
  }

  const LiveFlow &flow_;
  std::mt19937_64 &random_;
  std::array<Bytes, 3> frames_;
  std::vector<roce_live_qp> qps_;
  roce_live_state state_{};
  size_t made_ = 0;
};

// The next packet of a source without a rate.
Bytes next_of(OpenSource &source) {
  packet::Outgoing out;
  if (source.next(kBegin, {&out, 1}) != 1)
    return {};
  Bytes frame(out.shape->bytes().begin(), out.shape->bytes().end());
  out.shape->stamp(frame.data(), out.fields);
  return frame;
}

const char *const kFlows[] = {
    "qp 0x11 write size 64k",
    "qp 0x11 write size 64k psn 0xfffff0",
    "qp 0x11 send size 1k",
    "qp 0x11 send size 0",
    "qp 0x11 send size 1 psn 0xffffff",
    "qp 0x11 qps 7 write size 10001 pmtu 1024",
    "qp 0x11 qps 7 write size 10001 pmtu 1024 by message",
    "qp 0x11 qps 3 send size 2048",
    "qp 0x11 qps 3 send size 2047 pmtu 1024",
    "qp 0x11 qps 3 write size 1025 pmtu 1024",
    "qp 0x11 write size 1026 pmtu 1024 ack-every 3",
    "qp 0x11 write size 3075 pmtu 1024 ack-every 2",
    "qp 0x11 write size 3073 pmtu 1024 padcnt 0",
    "qp 0x11 write size 3070 pmtu 1024 padcnt 3",
    "qp 0x11 qps 5 write size 9k ack-req 1",
    "qp 0x11 write size 9k ack-req 0 se 1 migreq 1 fecn 1 becn 1 resv6 5 resv7 9 pkey 0x1234",
    "qp 0x11 send size 4k src 2001:db8::1 dst 2001:db8::2",
    "qp 0x11 qps 4 write size 7777 vlan 7/3 src 2001:db8::1 dst 2001:db8::2",
    "qp 0x11 write size 9001 vlan 7,5/3 frame-size 1030",
    "qp 0x11 qps 2 write size 9001 v1",
    "qp 0x11 write size 5000 v1 src 2001:db8::1 dst 2001:db8::2",
    "qp 0x11 qps 3 src-qp 0x500 transport ud send size 777",
    "qp 0x11 transport uc write size 5000 ack-every 2",
    "qp 0x11 qps 3 transport xrc srq 0x77 send-inv size 5001",
    "qp 0x11 qps 3 transport rd ee-context 0x99 send size 5001",
    "qp 0x11 read size 64k",
    "qp 0x11 qps 2 cmp-swap size 8",
    "qp 0x11 flush size 4096",
    "qp 0x11 atomic-write size 8",
    "qp 0xfffff0 qps 10 write size 3k port 1234",
};

TEST(LiveFlow, ItsPacketsAreThoseOfTheOpenLoopRequester) {
  std::mt19937_64 random(1);
  for (const char *words : kFlows) {
    SCOPED_TRACE(words);
    const flow::Flow flow = parsed(words);
    ASSERT_TRUE(check_live(flow).ok()) << check_live(flow).error().message;
    OpenSource source({flow}, {}, kLine);
    const LiveFlow live(flow, kLine);
    Recycled recycled(live, random);
    for (int i = 0; i < 400; i++) {
      const Bytes wanted = next_of(source), made = recycled.next();
      ASSERT_EQ(made, wanted) << "packet " << i;
      const SendCounts &theirs = source.counts(), ours = live.counts(recycled.state().sent);
      ASSERT_EQ(ours.packets, theirs.packets);
      ASSERT_EQ(ours.bytes, theirs.bytes) << "packet " << i;
      ASSERT_EQ(ours.messages, theirs.messages) << "packet " << i;
      ASSERT_EQ(ours.message_bytes, theirs.message_bytes);
    }
  }
}

TEST(LiveFlow, AllPsnsHaveTheirIcrc) {
  std::mt19937_64 random(2);
  const flow::Flow flow = parsed("qp 0x11 write size 2000000000 pmtu 256 psn 0");
  const LiveFlow live(flow, kLine);
  roce_live_qp qp = live.qps().front();
  Bytes frame = live.frame();
  for (int i = 0; i < 20'000; i++) {
    qp.psn = static_cast<uint32_t>(random()) & 0xffffff;
    qp.index = 1 + static_cast<uint32_t>(random() % 1000);
    ASSERT_EQ(roce_live_write(&live.plan(), &qp, ROCE_LIVE_MIDDLE, frame.data(),
                              frame.data() + frame.size()),
              0);
    roce_packet packet{};
    ASSERT_EQ(
        roce_parse(frame.data(), frame.data() + frame.size(), roce_swap16(ROCE_UDP_PORT), &packet),
        ROCE_CLASS_V2);
    ASSERT_EQ(packet.psn, qp.psn);
    ASSERT_EQ(icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet), Icrc::Good);
  }
}

TEST(LiveFlow, AFrameOfAnotherLengthIsRefused) {
  const LiveFlow live(parsed("qp 0x11 send size 1k"), kLine);
  roce_live_qp qp = live.qps().front();
  Bytes frame = live.frame();
  EXPECT_EQ(roce_live_write(&live.plan(), &qp, ROCE_LIVE_LAST, frame.data(),
                            frame.data() + frame.size() - 1),
            -1);
}

TEST(LiveFlow, WhatItCannotSendIsRefused) {
  for (const auto &[words, named] : {std::pair("opcode CNP", "opcode:"),
                                     {"write size 1k cc dcqcn line 10gbit", "cc:"},
                                     {"write size 1k fault icrc every 10", "fault:"},
                                     {"write size 1k stamp", "stamp:"},
                                     {"write size 1k port vary", "port vary:"},
                                     {"write size 1k,4k", "size:"},
                                     {"write size 1k-4k", "size:"},
                                     {"send-imm size 1k", "imm:"},
                                     {"write-imm size 1k", "imm:"},
                                     {"write size 1k rate 1mpps poisson", "poisson:"},
                                     {"write size 1k rate 1mpps ramp 1s", "ramp:"},
                                     {"write size 1k burst 10 gap 1ms", "burst:"}}) {
    const Status refused = check_live(parsed(std::string("qp 0x11 ") + words));
    ASSERT_FALSE(refused.ok()) << words;
    EXPECT_EQ(refused.error().message.find(named), 0U) << refused.error().message;
    EXPECT_EQ(refused.error().hint, "--engine afxdp");
  }
}

TEST(LiveFlow, ItsScheduleIsThePacers) {
  for (const char *rate : {"1mpps", "3333333pps", "10gbit", "7gbit l1", "12%"}) {
    SCOPED_TRACE(rate);
    const flow::Flow flow = parsed(fmt::format("qp 0x11 write size 2500 pmtu 1024 rate {}", rate));
    const LiveFlow live(flow, kLine);
    congestion::Pacer pacer(flow.pacing, kLine, flow.seed);
    pacer.start(kBegin);
    roce_live_state state{};
    state.due = kBegin;
    // The second stall is longer than what is left of the schedule.
    state.end = kBegin + static_cast<uint64_t>(2600 * 1e9 / live.asked_pps()) + 30'000'000;
    pacer.end_at(state.end);
    for (uint32_t i = 0; i < 3000; i++) {
      ASSERT_EQ(state.due, pacer.due()) << "packet " << i;
      EXPECT_EQ(roce_live_is_due(&state, state.due), state.due < state.end);
      EXPECT_FALSE(roce_live_is_due(&state, state.due - 1));
      const roce_live_shape &shape =
          live.plan().shapes[std::array{ROCE_LIVE_FIRST, ROCE_LIVE_MIDDLE, ROCE_LIVE_LAST}[i % 3]];
      // Twice it is too late by far.
      const uint64_t now = state.due + (i == 2000 || i == 2500 ? 80'000'000 : i % 7);
      roce_live_pace(&state, now, shape.interval);
      pacer.sent(now, shape.length);
    }
    EXPECT_EQ(state.slipped, pacer.slipped_ns());
    EXPECT_GT(state.slipped, 30'000'000U);
    EXPECT_GT(state.due, state.end);
    OpenSource source({flow}, {}, kLine);
    EXPECT_NEAR(live.asked_pps() / source.asked_pps(), 1, 1e-6);
  }
}

TEST(LiveFlow, NothingIsDueAfterTheEnd) {
  roce_live_state state{};
  state.due = 100;
  state.end = 100;
  EXPECT_FALSE(roce_live_is_due(&state, 200));
  state.end = 101;
  EXPECT_TRUE(roce_live_is_due(&state, 200));
}

TEST(LiveFlow, BucketsOfTimes) {
  uint32_t before = 0;
  std::mt19937_64 random(3);
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 5000; i++)
    values.push_back(i);
  for (int i = 0; i < 5000; i++)
    values.push_back(random() & 0xffffffff & UINT64_MAX >> random() % 64);
  std::sort(values.begin(), values.end());
  for (const uint64_t value : values) {
    const uint32_t bucket = roce_live_bucket(value);
    ASSERT_LT(bucket, static_cast<uint32_t>(ROCE_LIVE_BUCKETS)) << value;
    ASSERT_GE(bucket, before) << value;
    ASSERT_NEAR(static_cast<double>(roce_live_value(bucket)), static_cast<double>(value),
                static_cast<double>(value) / 16)
        << value;
    before = bucket;
  }
  EXPECT_EQ(roce_live_bucket(UINT64_MAX), ROCE_LIVE_BUCKETS - 1U);
}

// The tables, for each covered byte of frames of all networks.
TEST(LiveFlow, ChangesOfTheIcrcByByte) {
  std::mt19937_64 random(4);
  for (const char *words : {"send size 100", "send size 100 src 2001:db8::1 dst 2001:db8::2 vlan 7",
                            "write size 33 v1", "write size 3000 pmtu 4096"}) {
    SCOPED_TRACE(words);
    const LiveFlow live(parsed(std::string("qp 0x11 ") + words), kLine);
    Bytes frame = live.frame();
    const uint32_t l3 = frame[12] == 0x81 ? 18 : 14, bth = live.plan().bth,
                   end = static_cast<uint32_t>(frame.size());
    for (uint8_t &byte : std::span(frame).subspan(live.plan().shapes[ROCE_LIVE_LAST].header))
      byte = static_cast<uint8_t>(random());
    const uint32_t before = icrc_value(frame.data(), l3, bth, end);
    for (uint32_t at = l3; at < end - ROCE_ICRC_LEN; at++) {
      const auto change = static_cast<uint8_t>(1 + random() % 255);
      if (at == l3) // the version, or masked
        continue;
      frame[at] ^= change;
      const uint32_t difference = before ^ icrc_value(frame.data(), l3, bth, end);
      frame[at] ^= change;
      const bool masked = difference == 0; // which bytes these are: icrc_test
      EXPECT_TRUE(masked || difference == icrc_changes(end - ROCE_ICRC_LEN - at - 1)[change])
          << "byte " << at;
      EXPECT_TRUE(!masked || at < bth + 5) << "byte " << at;
    }
  }
}

} // namespace
} // namespace xr::requester::live_flow_test
