// SPDX-License-Identifier: Apache-2.0
// GOAL as jobs: what waits for what, which send a recv meets, refusals by line, and times of runs
// by hand.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "job/goal.h"
#include "job_run.h"

namespace xr::job_goal_test {
namespace {

using job::Job;
using job::Need;
using job::Operation;
using Kind = job::Operation::Kind;

Job goal(const std::string &text) {
  auto job = job::read_goal(text, "job");
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().message);
  return job.ok() ? std::move(job).get() : Job();
}

std::vector<uint32_t> of_kind(const Job &job, Kind kind) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < job.operations.size(); i++)
    if (job.operations[i].kind == kind)
      found.push_back(i);
  return found;
}

TEST(Goal, OperationsAndWhatTheyWaitFor) {
  const Job job = goal("num_ranks 2\n"
                       "/* a comment\n of two lines */ rank 0 { // and one\n"
                       "a: calc 500 cpu 3\r\n"
                       "b: send 70b to 1 tag 9 cpu 1 nic 2\n"
                       "b requires a\n"
                       "c: calc 5\n"
                       "c requires b\n"
                       "d: calc 6\n"
                       "d irequires b\n"
                       "}\n"
                       "rank 1 {\n"
                       "r: recv 70 b from 0 tag 9\n"
                       "}\n");
  EXPECT_EQ(job.name, "job");
  EXPECT_EQ(job.kind, "goal");
  EXPECT_EQ(job.hosts.size(), 2U);
  ASSERT_EQ(job.steps.size(), 1U);
  EXPECT_EQ(job.steps[0].name, "job");
  EXPECT_EQ(job.steps[0].bus_factor, 0);
  ASSERT_EQ(job.operations.size(), 5U);
  const Operation &a = job.operations[0], &b = job.operations[1], &r = job.operations[4];
  EXPECT_EQ(a.kind, Kind::Compute);
  EXPECT_EQ(a.channel, 3U);
  EXPECT_EQ(a.amount, 500U);
  EXPECT_EQ(b.kind, Kind::Message);
  EXPECT_EQ(b.channel, 2U);
  EXPECT_EQ(b.amount, 70U);
  EXPECT_EQ(b.rank, 0U);
  EXPECT_EQ(b.peer, 1U);
  EXPECT_EQ(job.needs(1)[0].operation, 0U);
  EXPECT_EQ(job.needs(1)[0].when, Need::When::Complete);
  EXPECT_EQ(job.needs(2)[0].when, Need::When::Sent);
  EXPECT_EQ(job.needs(3)[0].when, Need::When::Begun);
  EXPECT_EQ(r.kind, Kind::Join);
  EXPECT_EQ(r.rank, 1U);
  ASSERT_EQ(job.needs(4).size(), 1U);
  EXPECT_EQ(job.needs(4)[0].operation, 1U);
  EXPECT_EQ(job.needs(4)[0].when, Need::When::Complete);
  for (const Operation &operation : job.operations)
    EXPECT_EQ(operation.step, 0U);
}

// Who waits for a recv's begin does not wait for its message.
TEST(Goal, ARecvBeginsBeforeItsMessage) {
  const Job job = goal("num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: calc 1\nb irequires a\n"
                       "c: calc 2\nc requires a\nz: calc 3\na requires z\n}\n"
                       "rank 1 {\nsend 1b to 0\n}\n");
  const std::vector<uint32_t> joins = of_kind(job, Kind::Join),
                              computes = of_kind(job, Kind::Compute),
                              messages = of_kind(job, Kind::Message);
  ASSERT_EQ(joins.size(), 2U);
  ASSERT_EQ(computes.size(), 3U);
  for (const uint32_t compute : computes) {
    const auto needs = job.needs(compute);
    switch (job.operations[compute].amount) {
    case 1: // after z, by way of the recv's begin
      ASSERT_EQ(needs.size(), 1U);
      ASSERT_EQ(job.needs(needs[0].operation).size(), 1U);
      EXPECT_EQ(job.operations[job.needs(needs[0].operation)[0].operation].amount, 3U);
      EXPECT_EQ(job.operations[job.needs(needs[0].operation)[0].operation].kind, Kind::Compute);
      break;
    case 2: // after the message
      ASSERT_EQ(needs.size(), 1U);
      ASSERT_EQ(job.needs(needs[0].operation).size(), 2U);
      EXPECT_EQ(job.needs(needs[0].operation)[1].operation, messages[0]);
      break;
    default:
      EXPECT_TRUE(needs.empty());
    }
  }
}

// Messages of one tag match in the order of the file, whatever else is sent between them.
TEST(Goal, SendsAndRecvsMeetInTheirOrderByTag) {
  const Job job =
      goal("num_ranks 3\n"
           "rank 0 {\nrecv 20b from 1 tag 7\nrecv 10b from 1 tag 5\nrecv 30b from 1 tag 5\n"
           "recv 40b from 2 tag 5\n}\n"
           "rank 1 {\nsend 10b to 0 tag 5\nsend 20b to 0 tag 7\nsend 30b to 0 tag 5\n}\n"
           "rank 2 {\nsend 40b to 0 tag 5\n}\n");
  const std::vector<uint32_t> joins = of_kind(job, Kind::Join);
  ASSERT_EQ(joins.size(), 4U);
  std::vector<uint64_t> bytes;
  bytes.reserve(joins.size());
  for (const uint32_t join : joins)
    bytes.push_back(job.operations[job.needs(join)[0].operation].amount);
  std::ranges::sort(bytes);
  EXPECT_EQ(bytes, (std::vector<uint64_t>{10, 20, 30, 40}));
}

TEST(Goal, RefusesByLine) {
  const std::string one = "num_ranks 2\nrank 0 {\n", other = "}\nrank 1 {\n", last = "}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1: the end of the file is not 'num_ranks'"},
      {"rank 0 {\n}\n", "line 1: 'rank' is not 'num_ranks'"},
      {"num_ranks 0\n", "line 1: '0' is not the number of ranks"},
      {"num_ranks 2 3\n", "line 1: '3' is not the end of the line"},
      {"num_ranks 2\nrank 0 {\n}\n", "line 1: rank 1 of 2 is missing"},
      {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "line 4: rank 0 is given twice, first in line 2"},
      {"num_ranks 1\nrank 1 {\n}\n", "line 2: '1' is not a rank"},
      {"num_ranks 1\nrank 0\n{\n}\n", "line 2: the end of the line is not '{'"},
      {"num_ranks 1\nrank 0 {\ncalc 1\n", "line 2: the block of rank 0 does not end"},
      {"num_ranks 1\n/* no end\n", "line 2: the comment does not end"},
      {one + "calc 1 %\n", "line 3: '%' is not a sign of GOAL"},
      {one + "calc\n", "line 3: the end of the line is not a time in ns"},
      {one + "calc 1 cpu 256\n", "line 3: '256' is not a cpu"},
      {one + "calc 1 nic 0\n", "line 3: 'nic' is not the end of the line"},
      {one + "calc 99999999999999999999\n", "line 3: '99999999999999999999' is not a time in ns"},
      {one + "loop 1\n", "line 3: '1' is not ':', 'requires' or 'irequires'"},
      {one + "a: loop\n", "line 3: 'loop' is not an operation"},
      {one + "7\n", "line 3: '7' is not a statement"},
      {one + "send 8 to 1\n", "line 3: 'to' is not 'b'"},
      {one + "send 8b from 1\n", "line 3: 'from' is not 'to'"},
      {one + "send 8b to 2\n", "line 3: '2' is not a rank"},
      {one + "recv 8b from -1 tag 0\n" + other + last, "line 3: 0 sends are left for 1 recvs like "
                                                       "this one"},
      {one + "send 8b to -1\n", "line 3: '-1' is not a rank"},
      {one + "recv 8b from -1 tag 0\nrecv 8b from 1 tag -1\n" + other +
           "send 8b to 0\nsend 8b to 0\n" + last,
       "line 3: this recv and that in line 4 can take the same send, in line 7"},
      {one + "a: recv 8b from -1\nb: send 8b to 1\nb requires a\n" + other +
           "a: recv 8b from 0\nb: send 8b to 0\nb requires a\n" + last,
       "line 3: the operation waits for itself, by way of others"},
      {one + "send 8b to 1 nic 300\n", "line 3: '300' is not a nic"},
      {one + "a: calc 1\na: calc 2\n", "line 4: there is a label 'a' in line 3"},
      {one + "a: calc 1\na requires b\n", "line 4: rank 0 has no label 'b' above"},
      {one + "a: calc 1\n" + other + "b: calc 1\nb requires a\n",
       "line 7: rank 1 has no label 'a' above"},
      {one + "a: calc 1\nb: calc 1\na requires b\nb requires a\n" + other + last,
       "line 3: the operation waits for itself, by way of others"},
      {one + "send 8b to 1\n" + other + last,
       "line 3: rank 1 has no recv from rank 0 with tag 0 for this send"},
      {one + other + "recv 8b from 0 tag 3\n" + last,
       "line 5: rank 0 sends nothing to rank 1 with tag 3 for this recv"},
      {one + "send 8b to 1\n" + other + "recv 9b from 0\n" + last,
       "line 6: the recv is of 9 bytes, its send in line 3 of 8"},
  };
  for (const auto &[text, message] : cases) {
    const auto job = job::read_goal(text, "job");
    ASSERT_FALSE(job.ok()) << text;
    EXPECT_EQ(job.error().message, message) << text;
    EXPECT_FALSE(job.error().hint.empty()) << text;
  }
}

// Each receives before it sends.
TEST(Goal, ADeadlockIsACircle) {
  const auto job = job::read_goal("num_ranks 2\n"
                                  "rank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
                                  "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n",
                                  "job");
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().message.find("waits for itself"), std::string::npos);
}

// Who takes from any rank takes what comes first: the one that computes for a shorter time.
TEST(Goal, AnyRankAndAnyTagTakeWhatComesFirst) {
  const auto time = [](const char *first, const char *second) {
    return static_cast<double>(time_of(run_job(
        goal(fmt::format("num_ranks 4\n"
                         "rank 0 {{\na: recv 4096b from {}\nb: send 4096b to 3\nb requires a\n"
                         "c: recv 4096b from {}\n}}\n"
                         "rank 1 {{\na: calc 50000\nb: send 4096b to 0 tag 9\nb requires a\n}}\n"
                         "rank 2 {{\na: calc 10\nb: send 4096b to 0 tag 9\nb requires a\n}}\n"
                         "rank 3 {{\na: recv 4096b from 0\nb: calc 100000\nb requires a\n}}\n",
                         first, second)))));
  };
  const double early = time("2 tag 9", "1 tag 9"), late = time("1 tag 9", "2 tag 9");
  EXPECT_NEAR(late - early, 49'990, 10); // an ACK is on the way
  EXPECT_NEAR(time("-1 tag 9", "-1 tag 9"), early, 2);
  EXPECT_NEAR(time("4294967295 tag 4294967295", "-1 tag -1"), early, 2); // as LogGOPSim has them
  EXPECT_NEAR(time("2 tag -1", "1 tag 9"), early, 2);
}

// Each worker gets its second task after its first result: what waits for a recv is not taken by
// it.
TEST(Goal, ResultsOfWorkersComeInAnyOrder) {
  std::string text = "num_ranks 4\nrank 0 {\n";
  for (unsigned task = 0; task < 6; task++) {
    const unsigned worker = task % 3 + 1;
    text += fmt::format("s{}: send 4096b to {} tag {}\n", task, worker, task);
    if (task >= 3)
      text += fmt::format("s{} requires r{}\n", task, task - 3);
    text += fmt::format("r{}: recv 4096b from -1 tag 7\n", task);
  }
  text += "}\n";
  for (unsigned worker = 1; worker <= 3; worker++)
    text += fmt::format("rank {0} {{\na: recv 4096b from 0 tag {1}\nb: calc {3}\nb requires a\n"
                        "c: send 4096b to 0 tag 7\nc requires b\n"
                        "d: recv 4096b from 0 tag {2}\ne: calc {3}\ne requires d\n"
                        "f: send 4096b to 0 tag 7\nf requires e\n}}\n",
                        worker, worker - 1, worker + 2, 1000 * (4 - worker));
  const ExperimentJob ran = run_job(goal(text));
  EXPECT_EQ(ran.left, 0U);
  EXPECT_EQ(ran.messages, 12U);
}

// There and back, 2 us of compute between them, which the later calc of the same cpu waits for.
TEST(Goal, ARunTakesItsTimeByHand) {
  const uint64_t bytes = 16 * kPmtu;
  const Job job = goal(fmt::format("num_ranks 2\n"
                                   "rank 0 {{\na: send {0}b to 1\nb: recv {0}b from 1\n}}\n"
                                   "rank 1 {{\na: recv {0}b from 0\nb: calc 2000\nb requires a\n"
                                   "c: send {0}b to 0\nc requires b\n}}\n",
                                   bytes));
  const ExperimentJob ran = run_job(job);
  EXPECT_EQ(ran.left, 0U);
  EXPECT_EQ(ran.bytes, 2 * bytes);
  // the ACK is gone when the calc ends
  EXPECT_NEAR(static_cast<double>(time_of(ran)), 2 * message_ns(bytes) + 2000, 2);
}

// The 16 ranks of a dissemination: 4 rounds of a message to the rank 1, 2, 4, 8 after it, each
// after the recv of the round before (LogGOPSim's sample dissemination_16.goal).
TEST(Goal, ADisseminationTakesItsRounds) {
  std::string text = "num_ranks 16\n\n";
  for (unsigned rank = 0; rank < 16; rank++) {
    text += fmt::format("rank {} {{\n", rank);
    for (unsigned round = 0; round < 4; round++) {
      const unsigned far = 1U << round, label = 2 * round + 1;
      text += fmt::format("l{}: send {}b to {} tag 0\n", label, kPmtu, (rank + far) % 16);
      if (round)
        text += fmt::format("l{} requires l{}\n", label, label - 1);
      text +=
          fmt::format("l{}: recv {}b from {} tag 0\n", label + 1, kPmtu, (rank + 16 - far) % 16);
    }
    text += "}\n";
  }
  const ExperimentJob ran = run_job(goal(text));
  EXPECT_EQ(ran.left, 0U);
  EXPECT_EQ(ran.messages, 64U);
  EXPECT_NEAR(static_cast<double>(time_of(ran)), 4 * message_ns(kPmtu) + 3 * ack_ns(), 16);
}

} // namespace
} // namespace xr::job_goal_test
