// SPDX-License-Identifier: Apache-2.0
// Injected faults affect exactly the packets they name.
#include "requester/faults.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "requester/open.h"
#include "roce/psn.h"

namespace xr::requester::faults_test {
namespace {

constexpr uint64_t kBegin = 1'700'000'000'000'000'000;

flow::Flow flow(const std::string &words) {
  auto result = flow::parse_flow({"src 192.0.2.1 dst 192.0.2.2 psn 1 size 1", words});
  if (result)
    return result.get();
  ADD_FAILURE() << words << ": " << result.error().message;
  return {};
}

struct Run {
  std::string text; // PSNs; `!` a wrong iCRC, `~` a wrong pad, `a` an ACK; with several QPs `QP:`
  SendCounts counts;
  uint64_t end = 0;
};

std::string word(const packet::Outgoing &out, bool several) {
  const bool ack = roce_opcode_info[out.shape->opcode()] & ROCE_OP_ACK;
  return fmt::format("{}{}{}{}", several ? fmt::format("{}:", out.fields.dest_qp) : "",
                     out.fields.psn, ack ? "a" : "",
                     out.damage == packet::Damage::Icrc  ? "!"
                     : out.damage == packet::Damage::Pad ? "~"
                                                         : "");
}

Run run(const std::string &words, size_t most = SIZE_MAX) {
  const flow::Flow f = flow(words);
  OpenSource source({f}, {}, 1e9);
  Run result;
  packet::Outgoing out;
  uint64_t now = kBegin;
  for (size_t n = 0; n < most && !source.done();) {
    if (source.next(now, {&out, 1})) {
      result.text += (result.text.empty() ? "" : " ") + word(out, f.qps > 1);
      n++;
    } else if (source.wake_at() != kNever) {
      now = std::max(now, source.wake_at());
    }
  }
  result.counts = source.counts();
  result.end = now - kBegin;
  return result;
}

struct Case {
  const char *words, *packets;
};

constexpr Case kCases[] = {
    {"messages 5", "1 2 3 4 5"},
    {"messages 5 fault skip at 2,4", "1 3 5"},
    {"messages 5 fault skip at 1,2,3,4,5", ""},
    {"messages 5 fault skip every 2", "1 3 5"},
    {"messages 5 fault repeat at 1,5", "1 1 2 3 4 5 5"},
    {"messages 5 fault repeat every 1", "1 1 2 2 3 3 4 4 5 5"},
    {"messages 5 fault reorder at 2", "1 3 2 4 5"},
    {"messages 5 fault reorder at 2,3", "1 3 2 4 5"},
    {"messages 5 fault reorder every 1", "2 1 4 3 5"},
    {"messages 5 fault reorder at 5", "1 2 3 4 5"}, // nothing is after it
    {"messages 5 fault icrc at 1,4", "1! 2 3 4! 5"},
    {"messages 5 fault pad every 3", "1 2 3~ 4 5"},
    {"messages 5 fault ghost-ack at 3", "1 2 3 3a 4 5"},
    // faults of one message together
    {"messages 5 fault skip at 3 fault reorder at 2", "1 4 2 5"},
    {"messages 3 fault skip at 3 fault reorder at 2", "1 2"},
    {"messages 4 fault icrc at 2 fault repeat at 2", "1 2! 2! 3 4"},
    {"messages 4 fault reorder at 2 fault repeat at 2,3", "1 3 3 2 2 4"},
    {"messages 4 fault ghost-ack at 2 fault repeat at 2", "1 2 2 2a 3 4"},
    {"messages 4 fault skip at 2 fault repeat at 2 fault icrc at 2", "1 3 4"},
    {"messages 4 fault icrc at 2 fault pad at 2,3", "1 2! 3~ 4"},
    {"messages 4 fault skip at 2 fault skip every 3", "1 4"},
    // a packet's number is the flow's, its place the QP's
    {"qp 1 qps 2 messages 2 fault skip at 2", "1:1 1:2 2:2"},
    {"qp 1 qps 2 messages 3 fault reorder at 1", "2:1 1:2 1:1 2:2 1:3 2:3"},
    {"qp 1 qps 2 messages 3 fault reorder at 1,2", "1:2 1:1 2:2 2:1 1:3 2:3"},
    {"qp 1 qps 2 messages 2 fault reorder at 1 fault skip at 3", "2:1 1:1 2:2"},
};

TEST(Faults, WhereTheyAreToBe) {
  for (const Case &c : kCases)
    EXPECT_EQ(run(c.words).text, c.packets) << c.words;
}

TEST(Faults, AreCounted) {
  const SendCounts counts =
      run("messages 100 fault skip every 50 fault repeat every 10 fault reorder every 7 fault icrc "
          "at 3 fault pad at 4 fault ghost-ack at 5,6")
          .counts;
  EXPECT_EQ(counts.skipped, 2U);
  EXPECT_EQ(counts.repeated, 8U); // two are skipped
  EXPECT_EQ(counts.reordered, 14U);
  EXPECT_EQ(counts.bad_icrc, 1U);
  EXPECT_EQ(counts.bad_pad, 1U);
  EXPECT_EQ(counts.ghost_acks, 2U);
  EXPECT_EQ(counts.packets, 100U - 2 + 8 + 2);
  EXPECT_EQ(run("messages 5 fault reorder at 5").counts.reordered, 0U);
}

TEST(Faults, WhatIsHeldGoesOutInTheEnd) {
  EXPECT_EQ(run("rate 1kpps for 3ms fault reorder at 4").text, "1 2 3");
  // the third slot is the fourth packet's, and with it the flow is over
  EXPECT_EQ(run("qp 1 qps 2 rate 1kpps for 2ms fault reorder at 2").text, "1:1 1:2 2:1");
  EXPECT_EQ(run("qp 1 qps 2 burst 2 gap 1ms count 1 fault reorder at 2").text, "1:1 1:2 2:1");
}

TEST(Faults, TakeTheirTime) {
  // what is left out takes none, what is added takes a slot of its own
  EXPECT_EQ(run("rate 1kpps messages 10").end, 9'000'000U);
  EXPECT_EQ(run("rate 1kpps messages 10 fault skip at 5").end, 8'000'000U);
  EXPECT_EQ(run("rate 1kpps messages 10 fault repeat at 5").end, 10'000'000U);
}

TEST(Faults, AllLeftOutDoesNotHang) {
  OpenSource source({flow("fault skip every 1")}, {}, 1e9);
  std::vector<packet::Outgoing> out(64);
  for (int i = 0; i < 100; i++)
    EXPECT_EQ(source.next(kBegin, out), 0U);
  EXPECT_FALSE(source.done());
  EXPECT_LE(source.wake_at(), kBegin);
  EXPECT_GT(source.counts().skipped, 1000U);
}

TEST(Faults, GhostsAreAcks) {
  OpenSource source({flow("messages 2 fault ghost-ack at 2")}, {}, 1e9);
  std::vector<packet::Outgoing> out(8);
  ASSERT_EQ(source.next(kBegin, out), 3U);
  EXPECT_EQ(out[2].shape->opcode(), ROCE_RC_ACKNOWLEDGE);
  EXPECT_EQ(out[2].fields.dest_qp, 0x11U);
  EXPECT_EQ(out[2].fields.psn, 2U);
  EXPECT_EQ(ROCE_SYNDROME_TYPE(out[2].fields.aeth >> 24), unsigned{ROCE_ACK});
  EXPECT_EQ(out[2].fields.src_port, out[1].fields.src_port);
  OpenSource xrc({flow("transport xrc messages 1 fault ghost-ack at 1")}, {}, 1e9);
  ASSERT_EQ(xrc.next(kBegin, out), 2U);
  EXPECT_EQ(out[1].shape->opcode(), ROCE_XRC_ACKNOWLEDGE);
}

// Within three standard deviations; the draws follow from the seed, so this is no matter of luck.
TEST(Faults, AsOftenAsTheyAreProbable) {
  constexpr double kNumbers = 1e6;
  for (const double p : {0.5, 0.1, 0.01, 1e-4})
    for (const uint64_t seed : {1, 2}) {
      flow::Fault fault;
      fault.when = flow::Fault::When::Probability;
      fault.probability = p;
      const Faults faults({fault}, seed);
      double count = 0;
      for (uint64_t i = 1; i <= static_cast<uint64_t>(kNumbers); i++)
        count += !faults.of(i).none();
      EXPECT_LT(std::abs(count - kNumbers * p) / std::sqrt(kNumbers * p * (1 - p)), 3)
          << p << " " << seed;
    }
}

TEST(Faults, NeverAndAlways) {
  EXPECT_EQ(run("messages 100 fault skip probability 0").counts.skipped, 0U);
  EXPECT_EQ(run("messages 100 fault skip probability 1").counts.skipped, 100U);
}

TEST(Faults, FollowFromTheSeed) {
  const std::string words = "messages 300 fault skip probability 10% fault repeat probability 10%";
  EXPECT_EQ(run(words + " seed 1").text, run(words + " seed 1").text);
  EXPECT_NE(run(words + " seed 1").text, run(words + " seed 2").text);
  // each fault its own draws: that both are as probable does not make them one
  const SendCounts counts = run(words + " seed 1").counts;
  EXPECT_GT(counts.skipped, 10U);
  EXPECT_GT(counts.repeated, 10U);
  // a rate or a number of QPs that another run has changes nothing
  EXPECT_EQ(run(words + " seed 1").text, run(words + " seed 1 rate 1kpps").text);
}

TEST(Faults, DrawsOfTwoFlowsAreIndependent) {
  flow::Fault fault;
  fault.when = flow::Fault::When::Probability;
  fault.probability = 0.5;
  const Faults one({fault}, 1), two({fault}, 2);
  int same = 0;
  for (uint64_t i = 1; i <= 10'000; i++)
    same += one.of(i).none() == two.of(i).none();
  EXPECT_NEAR(same, 5000, 150);
}

} // namespace
} // namespace xr::requester::faults_test
