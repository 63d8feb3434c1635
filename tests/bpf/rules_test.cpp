// SPDX-License-Identifier: Apache-2.0
// Rules of a port, from command to kernel: they are stored, replaced in one step, and removed
// completely.
#include "bpf/lane.h"

#include <algorithm>
#include <atomic>
#include <random>

#include <sys/wait.h>

#include <fmt/format.h>

#include "bpf/wire_checks.h"
#include "datapath/rules.h"
#include "roce/config.h"

namespace xr::datapath {

namespace {

using B = test::FrameBuilder;
using test::Bytes;

class Rules : public Lane {
protected:
  static impair::Rule rule(const std::string &words) {
    auto parsed = impair::parse({words});
    EXPECT_OK(parsed);
    return parsed.ok() ? *parsed : impair::Rule();
  }
  static impair::File file(const std::vector<std::string> &rules) {
    impair::File file;
    for (const std::string &words : rules)
      file.rules.push_back(rule(words));
    return file;
  }
  Result<RuleList> add(const std::string &words) { return add_rule({"xr0", netns_}, rule(words)); }
  RuleList list() {
    auto list = list_rules({"xr0", netns_});
    EXPECT_OK(list);
    return list.ok() ? *list : RuleList();
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const RuleRow &row : list().rules)
      texts.push_back(row.text);
    return texts;
  }
  uint32_t features() {
    auto status = status_of({"xr0", netns_});
    EXPECT_OK(status);
    return status.ok() ? status->features : ~0u;
  }

  Snapshot snapshot() {
    auto port = AttachedPort::open({"xr0", netns_});
    EXPECT_OK(port);
    if (!port.ok())
      return {};
    auto snapshot = port->snapshot();
    EXPECT_OK(snapshot);
    return snapshot.ok() ? *snapshot : Snapshot();
  }
  static uint64_t packets(const Snapshot &s) {
    uint64_t n = 0;
    for (const roce_opcode_count &opcode : s.opcodes)
      for (uint64_t of_ecn : opcode.packets)
        n += of_ecn;
    return n;
  }
  void send_roce(uint32_t psn, uint32_t count = 1, uint32_t qp = 0x11) {
    inside([&] {
      Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_ifindex = static_cast<int>(if_nametoindex("peer0"));
      for (uint32_t i = 0; i < count; i++) {
        const Bytes frame = test::finished(
            B(ROCE_RC_SEND_ONLY).qp(qp).psn((psn + i) & 0xffffff).payload(64).build(), false);
        ASSERT_EQ(sendto(fd.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr *>(&to),
                         sizeof(to)),
                  static_cast<ssize_t>(frame.size()));
      }
    });
  }
  // Frames are counted when that many packets are, or a second passed.
  Snapshot counted(uint64_t awaited) {
    Snapshot s;
    for (int i = 0; i < 100; i++) {
      s = snapshot();
      if (packets(s) >= awaited)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(packets(s), awaited);
    return s;
  }
};

const std::vector<std::string> kManyKinds = {
    "src 192.0.2.0/24 dest-qp 17,0x20-0x2f opcode data,nak every 7 drop limit 3 name first",
    "not dst 2001:db8::/32 psn 0xfffff0-5 probability 1e-6 corrupt payload seed 7",
    "qp 3 psn 5 iter 2 drop name the.third_one",
    "qp 0x11 psn all ce force",
    "vlan 5-9 size 1000- gilbert 1% 10% 70% 0.1% drop seed 9",
    "transport rc ecn ect0 red 5k 200k 1% rate 10gbit seed 4",
    "dscp 26 police 1gbit burst 64k l1",
    "non-roce burst 2-5 every 100 drop seed 3",
    "roce distance gaussian 100 10 corrupt header psn seed 5",
    "opcode cm for 10s set dscp 5 set becn 1",
    "positions 1,5,1000 repeat 5ms 10ms corrupt icrc",
    "cnp interval 100us scope pair dscp 5 drop",
    "ber 1 -9 corrupt bit seed 11"};

} // namespace

// What was counted and seen stays; rules and the numbers of QPs restart.
TEST_F(Rules, ZeroBeginsAnew) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(zero_rules({"xr0", netns_})); // of nothing
  ASSERT_OK(add("qp 2 psn all limit 1 drop"));
  ASSERT_OK(add("opcode data every 2 ce force"));
  send_roce(0, 1, 0x11);
  send_roce(0, 2, 0x22);
  EXPECT_EQ(counted(3).qp_numbers, (std::vector<uint32_t>{1, 2}));
  const RuleList before = list();
  EXPECT_EQ(before.rules.at(0).matched, 2U);
  EXPECT_EQ(before.rules.at(0).acted, 1U);
  EXPECT_EQ(before.rules.at(1).matched, 1U);

  auto zeroed = zero_rules({"xr0", netns_});
  ASSERT_OK(zeroed);
  ASSERT_EQ(zeroed->rules.size(), 2U);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(zeroed->rules[i].id, before.rules[i].id);
    EXPECT_EQ(zeroed->rules[i].text, before.rules[i].text);
    EXPECT_EQ(zeroed->rules[i].matched + zeroed->rules[i].acted, 0U);
  }
  EXPECT_EQ(counted(3).qp_numbers, (std::vector<uint32_t>{0, 0}));

  send_roce(2, 1, 0x22);
  send_roce(1, 1, 0x11);
  send_roce(0, 1, 0x33);
  const Snapshot after = counted(6);
  EXPECT_EQ(after.qp_numbers, (std::vector<uint32_t>{2, 1, 3}));
  EXPECT_EQ(after.streams.at(0).first_psn, 0U);
  EXPECT_EQ(roce_stream_packets(&after.streams.at(1)), 3U);
  const RuleList rules = list();
  EXPECT_EQ(rules.rules.at(0).matched, 1U);
  EXPECT_EQ(rules.rules.at(0).acted, 1U) << "its limit was used up before";
  EXPECT_EQ(rules.rules.at(1).matched, 2U);
  EXPECT_EQ(rules.rules.at(1).acted, 1U);
}

TEST_F(Rules, TextsComeBack) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  EXPECT_TRUE(list().rules.empty());
  std::vector<std::string> expected;
  for (const std::string &words : kManyKinds) {
    ASSERT_OK(add(words));
    expected.push_back(rule(words).text());
  }
  EXPECT_EQ(texts(), expected);
  uint32_t id = 1;
  for (const RuleRow &row : list().rules) {
    EXPECT_EQ(row.id, id++);
    EXPECT_EQ(rule(row.text).text(), row.text);
    EXPECT_EQ(row.matched + row.acted, 0u);
  }
  EXPECT_EQ(list().rules[0].name, "first");
  // Given back to another port they are the same.
  ASSERT_OK(attach({"peer0", netns_}, small()));
  for (const std::string &text : texts())
    ASSERT_OK(add_rule({"peer0", netns_}, rule(text)));
  auto others = list_rules({"peer0", netns_});
  ASSERT_OK(others);
  for (size_t i = 0; i < expected.size(); i++)
    EXPECT_EQ(others->rules[i].text, expected[i]);
}

TEST_F(Rules, IdsAndNames) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  for (const char *words : {"dest-qp 1 drop name a", "dest-qp 2 drop", "dest-qp 3 drop name c"})
    ASSERT_OK(add(words));
  EXPECT_REFUSED(add("dest-qp 4 drop name a"), "named a already");
  EXPECT_REFUSED(delete_rule({"xr0", netns_}, "b"), "no rule b");
  EXPECT_REFUSED(delete_rule({"xr0", netns_}, "9"), "no rule 9");
  ASSERT_OK(delete_rule({"xr0", netns_}, "2"));
  ASSERT_OK(delete_rule({"xr0", netns_}, "c"));
  ASSERT_OK(add("dest-qp 5 drop name a5"));
  const RuleList now = list();
  ASSERT_EQ(now.rules.size(), 2u);
  EXPECT_EQ(now.rules[0].id, 1u);
  EXPECT_EQ(now.rules[0].name, "a");
  EXPECT_EQ(now.rules[1].name, "a5");
}

TEST_F(Rules, DisabledOnesMatchNothingAndKeepWhatTheyHave) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  EXPECT_REFUSED(enable_rule({"xr0", netns_}, "1", false), "no rule 1");
  ASSERT_OK(add("dest-qp 0x11 every 3 drop name third"));
  ASSERT_OK(add("dest-qp 0x11 limit 100 drop"));
  send_roce(0, 2);
  counted(2);
  EXPECT_EQ(list().rules.at(0).matched, 2U);
  auto off = enable_rule({"xr0", netns_}, "third", false);
  ASSERT_OK(off);
  EXPECT_FALSE(off->rules.at(0).enabled);
  EXPECT_EQ(off->rules.at(0).text, "dest-qp 0x11 every 3 drop name third disabled");
  EXPECT_TRUE(off->rules.at(1).enabled);
  ASSERT_OK(enable_rule({"xr0", netns_}, "1", false)); // already
  send_roce(2, 2);                                     // they meet the second rule
  counted(4);
  EXPECT_EQ(list().rules.at(0).matched, 2U);
  EXPECT_EQ(list().rules.at(1).acted, 2U);
  // All are off: the program keeps the maps with their counts.
  ASSERT_OK(enable_rule({"xr0", netns_}, "2", false));
  send_roce(4, 2);
  counted(6);
  EXPECT_EQ(list().rules.at(1).acted, 2U);
  auto on = enable_rule({"xr0", netns_}, "1", true);
  ASSERT_OK(on);
  EXPECT_EQ(on->rules.at(0).text, "dest-qp 0x11 every 3 drop name third");
  send_roce(6, 1); // the third that it matches
  counted(7);
  EXPECT_EQ(list().rules.at(0).matched, 3U);
  EXPECT_EQ(list().rules.at(0).acted, 1U);
  // A rule that is added disabled, and what `zero` leaves.
  ASSERT_OK(add("vlan 5 drop disabled"));
  ASSERT_OK(zero_rules({"xr0", netns_}));
  const RuleList zeroed = list();
  EXPECT_TRUE(zeroed.rules.at(0).enabled);
  EXPECT_FALSE(zeroed.rules.at(1).enabled);
  EXPECT_FALSE(zeroed.rules.at(2).enabled);
  EXPECT_EQ(zeroed.rules.at(2).text, "vlan 5 drop disabled");
  ASSERT_OK(enable_rule({"xr0", netns_}, "3", true));
  EXPECT_EQ(list().rules.at(2).text, "vlan 5 drop");
}

TEST_F(Rules, SixtyFourAndNotOneMore) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  std::vector<std::string> words;
  for (uint32_t i = 1; i <= ROCE_RULES; i++)
    words.push_back(fmt::format("dest-qp {} drop", i));
  ASSERT_OK(apply_rules({"xr0", netns_}, file(words)));
  EXPECT_EQ(list().rules.size(), 64u);
  EXPECT_REFUSED(add("drop"), "65 rules are too many");
  EXPECT_EQ(list().rules.size(), 64u);
  send_roce(0, 3, 64);
  send_roce(0, 1, 65);
  EXPECT_EQ(counted(4).totals.dropped_programmed, 3u);
  EXPECT_EQ(list().rules[63].acted, 3u);
  // All of them at once, beside the old ones.
  std::reverse(words.begin(), words.end());
  ASSERT_OK(apply_rules({"xr0", netns_}, file(words)));
  EXPECT_EQ(list().rules.size(), 64u);
  send_roce(3, 2, 64);
  counted(6);
  EXPECT_EQ(list().rules[0].acted, 2u);
  words.push_back("drop");
  EXPECT_REFUSED(apply_rules({"xr0", netns_}, file(words)), "too many");
  EXPECT_EQ(list().rules[0].acted, 2u);
}

TEST_F(Rules, CountsOutliveTheirNeighboursAndExchanges) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  send_roce(0, 5);
  counted(5);
  ASSERT_OK(add("dest-qp 0x11 every 2 drop"));
  send_roce(5, 4);
  Snapshot before = counted(9);
  ASSERT_EQ(before.streams.size(), 1u);
  EXPECT_EQ(roce_stream_packets(before.streams.data()), 9u);
  EXPECT_EQ(before.totals.dropped_programmed, 2u);
  // More is asked of the program each time: it is exchanged.
  uint32_t exchanged = 0, program = on_hook();
  for (const char *words : {"dest-qp 0x99 ce", "qp 7 psn 1 drop", "dest-qp 0x98 cnp drop",
                            "vlan 5 drop", "size 9000- drop"}) {
    ASSERT_OK(add(words));
    exchanged += on_hook() != program;
    program = on_hook();
    EXPECT_EQ(list().rules[0].matched, 4u);
    EXPECT_EQ(list().rules[0].acted, 2u);
    const Snapshot now = snapshot();
    EXPECT_EQ(packets(now), 9u);
    ASSERT_EQ(now.streams.size(), 1u);
    EXPECT_EQ(0, std::memcmp(now.streams.data(), before.streams.data(), sizeof(roce_stream)));
    EXPECT_EQ(0, std::memcmp(&now.totals, &before.totals, sizeof(now.totals)));
  }
  EXPECT_GE(exchanged, 3u);
  for (const char *which : {"2", "3", "4"})
    ASSERT_OK(delete_rule({"xr0", netns_}, which));
  send_roce(9, 2); // the fifth and sixth matched
  const Snapshot after = counted(11);
  EXPECT_EQ(roce_stream_packets(after.streams.data()), 11u);
  EXPECT_EQ(roce_stream_counter(after.streams.data(), ROCE_GAPS), 0u);
  EXPECT_EQ(list().rules[0].matched, 6u);
  EXPECT_EQ(list().rules[0].acted, 3u);
}

TEST_F(Rules, ReusedSlotsStartAnew) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  uint64_t sent = 0;
  for (int round = 0; round < 5; round++) {
    ASSERT_OK(add("positions 2,3 drop limit 2 name x"));
    EXPECT_EQ(list().rules[0].matched, 0u);
    send_roce(static_cast<uint32_t>(sent), 4);
    counted(sent += 4);
    EXPECT_EQ(list().rules[0].matched, 4u);
    EXPECT_EQ(list().rules[0].acted, 2u);
    if (round % 2)
      ASSERT_OK(delete_rule({"xr0", netns_}, "x"));
    else
      ASSERT_OK(clear_rules({"xr0", netns_}));
  }
}

TEST_F(Rules, ClearedIsTheCountingProgram) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  EXPECT_EQ(features(), 0u);
  send_roce(0, 2);
  counted(2);
  ASSERT_OK(add("cnp drop"));
  EXPECT_NE(features() & ROCE_FEATURE_RULES, 0u);
  auto peer = impair::parse_peer({"192.0.2.1 0x11 -> 0x22"});
  ASSERT_OK(peer);
  ASSERT_OK(add_peer({"xr0", netns_}, *peer));
  EXPECT_EQ(list().peers.size(), 1u);
  send_roce(2, 2);
  EXPECT_EQ(counted(4).totals.dropped_programmed, 2u);
  const Ids with_rules = ids();
  ASSERT_OK(clear_rules({"xr0", netns_}));
  EXPECT_EQ(features(), 0u);
  EXPECT_TRUE(list().rules.empty());
  EXPECT_TRUE(list().peers.empty());
  for (int i = 0; i < 200 && alive({with_rules.programs, {}}); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive({with_rules.programs, {}}));
  send_roce(4, 2);
  const Snapshot s = counted(6);
  EXPECT_EQ(s.totals.dropped_programmed, 2u);
  EXPECT_EQ(roce_stream_packets(s.streams.data()), 6u);
  ASSERT_OK(clear_rules({"xr0", netns_})); // again: nothing to do
  // And nothing comes back with the next rules.
  ASSERT_OK(add("dest-qp 0x11 ce"));
  EXPECT_EQ(list().rules.size(), 1u);
  EXPECT_TRUE(list().peers.empty());
  const Ids mine = ids();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
  EXPECT_FALSE(alive(with_rules));
}

TEST_F(Rules, WhatThePortCannotDo) {
  EXPECT_REFUSED(add("drop"), "not attached");
  ASSERT_OK(attach({"xr0", netns_}, small()));
  EXPECT_REFUSED(add("duplicate"), "duplicate needs a bridge");
  EXPECT_REFUSED(add("cnp"), "without a bridge");
  auto peer = impair::parse_peer({"192.0.2.1 0x11 -> 0x22"});
  ASSERT_OK(peer);
  EXPECT_REFUSED(add_peer({"xr0", netns_}, *peer), "no rules yet");
  EXPECT_EQ(features(), 0u);
  ASSERT_OK(detach({"xr0", netns_}));
  AttachOptions options = small();
  options.track = false;
  ASSERT_OK(attach({"xr0", netns_}, options));
  EXPECT_REFUSED(add("cnp drop"), "--no-track");
  EXPECT_REFUSED(add("qp 1 psn 5 drop"), "--no-track");
  ASSERT_OK(add("dest-qp 0x11 every 2 drop"));
  send_roce(0, 4);
  EXPECT_EQ(counted(4).totals.dropped_programmed, 2u);
}

TEST_F(Rules, AllOfAFileOrNothing) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(add("dest-qp 0x11 drop name old"));
  send_roce(0, 3);
  counted(3);
  const uint32_t program = on_hook();
  EXPECT_REFUSED(apply_rules({"xr0", netns_}, file({"dest-qp 1 drop", "duplicate"})),
                 "duplicate needs a bridge");
  EXPECT_FALSE(impair::parse_yaml("rules:\n  - dest-qp 1 drop\n  - dest-qp 1 dorp\n", "f").ok());
  EXPECT_EQ(on_hook(), program);
  const RuleList now = list();
  ASSERT_EQ(now.rules.size(), 1u);
  EXPECT_EQ(now.rules[0].name, "old");
  EXPECT_EQ(now.rules[0].acted, 3u);
  auto good = impair::parse_yaml("seed: 7\npeers:\n  - {ip: 192.0.2.1, qp: 0x11, src_qp: 0x12}\n"
                                 "rules:\n  - probability 1% drop name loss\n  - cnp drop\n",
                                 "f");
  ASSERT_OK(good);
  ASSERT_OK(apply_rules({"xr0", netns_}, *good));
  EXPECT_EQ(texts(), (std::vector<std::string>{good->rules[0].text(), good->rules[1].text()}));
  EXPECT_EQ(list().peers.size(), 1u);
  ASSERT_OK(apply_rules({"xr0", netns_}, file({})));
  EXPECT_TRUE(list().rules.empty());
}

// Each set has two rules of which every frame meets exactly one; a frame that saw a set without
// one of its rules, or of two sets, would be dropped once less or once more.
TEST_F(Rules, NoPacketSeesHalfASet) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  const impair::File sets[] = {file({"psn 0-0x7fffff drop", "psn 0x800000-0xffffff drop"}),
                               file({"psn 0x800000-0xffffff drop", "psn 0-0x7fffff drop"})};
  ASSERT_OK(apply_rules({"xr0", netns_}, sets[0]));
  std::atomic<bool> done = false;
  uint64_t sent = 0;
  std::thread traffic([&] {
    std::mt19937 random(1);
    while (!done) {
      send_roce(random() & 0xffffff, 32);
      sent += 32;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int i = 1; i <= 200; i++)
    ASSERT_OK(apply_rules({"xr0", netns_}, sets[i % 2]));
  done = true;
  traffic.join();
  const Snapshot s = counted(sent);
  EXPECT_GT(sent, 1000u);
  EXPECT_EQ(s.totals.dropped_programmed, sent);
  RecordProperty("frames", static_cast<int>(sent));
}

// No packet passes without a rule while programs are exchanged, not only sets.
TEST_F(Rules, NoPacketSlipsThroughAnExchange) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(add("drop name all"));
  std::atomic<bool> done = false;
  uint64_t sent = 0;
  std::thread traffic([&] {
    while (!done) {
      send_roce(static_cast<uint32_t>(sent) & 0xffffff, 16);
      sent += 16;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (const char *words : {"dest-qp 9 ce", "qp 1 psn 3 drop", "cnp drop", "vlan 5 ce"})
    ASSERT_OK(add(words));
  done = true;
  traffic.join();
  const Snapshot s = counted(sent);
  EXPECT_EQ(s.totals.dropped_programmed, sent);
  EXPECT_EQ(list().rules[0].matched, sent);
  EXPECT_EQ(roce_stream_packets(s.streams.data()), sent);
}

TEST_F(Rules, KilledAnywhereInAnExchange) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  send_roce(0, 5);
  counted(5);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_OK(add("dest-qp 0x99 cnp drop"));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> delay(0, took.count() * 11 / 10);
  uint64_t sent = 5;
  int there = 0;
  for (int round = 0; round < 30 && !HasFailure(); round++) {
    ASSERT_OK(clear_rules({"xr0", netns_}));
    const pid_t child = fork();
    if (child == 0)
      _exit(add_rule({"xr0", netns_}, rule("dest-qp 0x99 cnp drop")).ok() ? 0 : 1);
    std::this_thread::sleep_for(std::chrono::microseconds(delay(random)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    // One of the two programs, which counts, and the rule is there or it is not.
    auto status = status_of({"xr0", netns_});
    ASSERT_OK(status);
    EXPECT_EQ(status->state, AttachState::Attached);
    EXPECT_TRUE(status->dispatcher || status->program_id == on_hook());
    send_roce(static_cast<uint32_t>(sent), 2);
    const Snapshot s = counted(sent += 2);
    ASSERT_EQ(s.streams.size(), 1u);
    EXPECT_EQ(roce_stream_packets(s.streams.data()), sent);
    const size_t rules = list().rules.size();
    EXPECT_LE(rules, 1u);
    there += rules == 1;
    // The next command works.
    auto added = add("dest-qp 0x98 every 2 ce");
    ASSERT_OK(added);
    EXPECT_EQ(added->rules.size(), rules + 1);
  }
  RecordProperty("rule_there", there);
  const Ids mine = ids();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

} // namespace xr::datapath
