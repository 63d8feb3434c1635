// SPDX-License-Identifier: Apache-2.0
// Packets of the open-loop requester, stamped and parsed again: complete messages in order for
// every QP, at the requested times.
#include "requester/open.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bpf/wire_checks.h"
#include "packet/icrc.h"
#include "parse/words.h"
#include "roce/psn.h"
#include "unit/frames.h"

namespace xr::requester::open_source_test {
namespace {

constexpr double kLine = 10e9;
constexpr uint64_t kBegin = 1'700'000'000'000'000'000;

flow::Flow flow(const std::string &words) {
  auto result = flow::parse_flow({"src 192.0.2.1 dst 192.0.2.2", words});
  if (!result) {
    ADD_FAILURE() << words << ": " << result.error().message;
    return {};
  }
  const Status status = flow::check_flow(result.get(), 9000);
  EXPECT_TRUE(status.ok()) << words << ": " << status.error().message;
  return result.get();
}

// A packet as it is on the wire.
struct Seen {
  uint64_t at = 0;
  roce_packet packet{};
  uint16_t src_port = 0;
  std::vector<uint8_t> frame;
};

Seen see(const packet::Outgoing &out, uint64_t at) {
  Seen seen;
  seen.at = at;
  const auto bytes = out.shape->bytes();
  seen.frame.assign(bytes.begin(), bytes.end());
  out.shape->stamp(seen.frame.data(), out.fields);
  const uint8_t *begin = seen.frame.data(), *end = begin + seen.frame.size();
  const int class_ = roce_parse(begin, end, htons(ROCE_UDP_PORT), &seen.packet);
  EXPECT_EQ(class_, ROCE_CLASS_V2);
  EXPECT_EQ(seen.packet.end, seen.frame.size());
  seen.src_port = roce_be16(begin + seen.packet.bth - ROCE_UDP_LEN);
  return seen;
}

bool has_icrc(const Seen &seen) {
  return icrc_check(seen.frame.data(), static_cast<uint32_t>(seen.frame.size()), seen.packet) ==
         Icrc::Good;
}

// Runs in virtual time, jumping to when something is due.
std::vector<Seen> run(OpenSource &source, size_t most, size_t batch = 7) {
  std::vector<Seen> all;
  std::vector<packet::Outgoing> out(batch);
  uint64_t now = kBegin;
  while (!source.done() && all.size() < most) {
    const size_t count = source.next(now, out);
    for (size_t i = 0; i < count; i++)
      all.push_back(see(out[i], now - kBegin));
    if (count == out.size())
      continue;
    const uint64_t wake = source.wake_at();
    if (wake == kNever)
      break;
    now = std::max(now, wake);
  }
  return all;
}

std::vector<Seen> run(std::vector<flow::Flow> flows, size_t most = SIZE_MAX,
                      const congestion::Rate &total = {}) {
  OpenSource source(std::move(flows), total, kLine);
  return run(source, most);
}

uint32_t qp_of(const Seen &seen) { return roce_key_qp(&seen.packet.key); }

std::map<uint32_t, std::vector<Seen>> by_qp(const std::vector<Seen> &all) {
  std::map<uint32_t, std::vector<Seen>> qps;
  for (const Seen &seen : all)
    qps[qp_of(seen)].push_back(seen);
  return qps;
}

// FIRST MIDDLE* LAST or ONLY; sizes of the messages that are whole.
std::vector<uint64_t> messages_of(const std::vector<Seen> &packets, uint32_t pmtu) {
  std::vector<uint64_t> sizes;
  uint64_t bytes = 0;
  bool open = false;
  for (const Seen &seen : packets) {
    const uint32_t info = seen.packet.info;
    EXPECT_EQ(open, !(info & (ROCE_OP_FIRST | ROCE_OP_ONLY)));
    if (info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)) {
      EXPECT_EQ(seen.packet.payload, pmtu);
    }
    bytes += seen.packet.payload;
    open = !(info & ROCE_OP_ENDS_MESSAGE);
    if (open)
      continue;
    EXPECT_LE(seen.packet.payload, pmtu);
    sizes.push_back(bytes);
    bytes = 0;
  }
  return sizes;
}

void expect_consecutive(const std::vector<Seen> &packets) {
  for (size_t i = 1; i < packets.size(); i++)
    ASSERT_EQ(packets[i].packet.psn, roce_psn_add(packets[i - 1].packet.psn, 1)) << i;
}

TEST(OpenSource, MessagesOfRandomFlows) {
  const char *kVerbs[] = {"send", "send-imm", "send-inv", "write", "write-imm"};
  const char *kSizes[] = {"size 0",           "size 1",      "size 256",        "size 257",
                          "size 1k,0,3k,512", "size 0-3000", "size 10:3,5000:1"};
  std::mt19937 random(3);
  for (int i = 0; i < 60; i++) {
    const uint32_t pmtu = 256U << random() % 3, qps = 1 + random() % 5, messages = 1 + random() % 6;
    const bool xrc = random() % 3 == 0;
    const std::string words = fmt::format(
        "{} {} pmtu {} qp 0x100 qps {} messages {} psn {} seed {} {} {}", kVerbs[random() % 5],
        kSizes[random() % 7], pmtu, qps, messages, 0xffffff - random() % 5, random(),
        random() % 2 ? "by message" : "", xrc ? "transport xrc" : "");
    OpenSource source({flow(words)}, {}, kLine);
    const uint64_t to_come = source.expected();
    const auto all = run(source, SIZE_MAX, 1 + random() % 9);
    EXPECT_TRUE(source.done());
    EXPECT_EQ(source.counts().packets, all.size());
    EXPECT_EQ(source.counts().messages, uint64_t{qps} * messages);
    if (to_come) {
      EXPECT_EQ(to_come, all.size()) << words;
    }
    const auto sorted = by_qp(all);
    ASSERT_EQ(sorted.size(), qps) << words;
    uint64_t bytes = 0, frame_bytes = 0;
    for (const auto &[qp, packets] : sorted) {
      expect_consecutive(packets);
      const auto sizes = messages_of(packets, pmtu);
      EXPECT_EQ(sizes.size(), messages) << words;
      for (const uint64_t size : sizes)
        bytes += size;
    }
    for (const Seen &seen : all)
      frame_bytes += seen.frame.size();
    EXPECT_EQ(source.counts().message_bytes, bytes) << words;
    EXPECT_EQ(source.counts().bytes, frame_bytes);
  }
}

TEST(OpenSource, SizesAreTheFlows) {
  const flow::Flow f = flow("size 1k,0,3k,512 messages 9 qps 2");
  for (const auto &[qp, packets] : by_qp(run({f}))) {
    const auto sizes = messages_of(packets, 1024);
    for (size_t i = 0; i < sizes.size(); i++)
      EXPECT_EQ(sizes[i], f.size.of(i, 0));
  }
  const auto mixed = by_qp(run({flow("size 10:1,1000:1 messages 40 qps 2 seed 3")}));
  EXPECT_NE(messages_of(mixed.at(0x11), 1024), messages_of(mixed.at(0x12), 1024));
}

TEST(OpenSource, PsnsWrap) {
  const auto all = run({flow("psn 0xfffffd size 4096 messages 3")});
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all[0].packet.psn, 0xfffffdU);
  EXPECT_EQ(all[3].packet.psn, 0U);
  expect_consecutive(all);
}

TEST(OpenSource, ReadsTakeThePsnsOfTheirAnswers) {
  const auto all = run({flow("read size 2500 psn 0xfffffe messages 3 va 0x1122334455667788")});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].packet.psn, 1U);
  EXPECT_EQ(all[2].packet.psn, 4U);
  for (const Seen &seen : all) {
    EXPECT_EQ(seen.packet.dma_len, 2500U);
    EXPECT_EQ(roce_be32(seen.frame.data() + seen.packet.bth + ROCE_BTH_LEN), 0x11223344U);
  }
  const auto atomics = run({flow("fetch-add psn 7 messages 3")});
  ASSERT_EQ(atomics.size(), 3U);
  expect_consecutive(atomics);
}

TEST(OpenSource, HeadersOfMessages) {
  const auto written = run({flow("write size 3000 messages 1 rkey 0xabcd")});
  const uint8_t *reth = written[0].frame.data() + written[0].packet.bth + ROCE_BTH_LEN;
  EXPECT_EQ(roce_be32(reth + 8), 0xabcdU);
  EXPECT_EQ(roce_be32(reth + ROCE_RETH_DMALEN), 3000U);
  const auto immediate = run({flow("send-imm size 100 messages 3 imm 0xfffffffe")});
  for (uint32_t i = 0; i < 3; i++)
    EXPECT_EQ(roce_be32(immediate[i].frame.data() + immediate[i].packet.bth + ROCE_BTH_LEN),
              0xfffffffe + i);
  const auto datagrams = run({flow("transport ud qp 0xb src-qp 0xa qps 2 messages 2 size 64")});
  ASSERT_EQ(datagrams.size(), 4U);
  EXPECT_EQ(datagrams[0].packet.src_qp, 0xaU);
  EXPECT_EQ(datagrams[1].packet.src_qp, 0xbU);
  EXPECT_EQ(qp_of(datagrams[1]), 0xcU);
}

TEST(OpenSource, AcksAreAskedFor) {
  const auto asked = [](const std::string &words) {
    std::string text;
    for (const Seen &seen : run({flow("messages 2 size 5k pmtu 1024 " + words)}))
      text += seen.packet.ack_req ? 'a' : '.';
    return text;
  };
  EXPECT_EQ(asked(""), "....a....a");
  EXPECT_EQ(asked("ack-every 3"), "..a.aa..aa");
  EXPECT_EQ(asked("ack-every 1"), "aaaaaaaaaa");
  EXPECT_EQ(asked("transport xrc"), "....a....a");
  EXPECT_EQ(asked("transport uc ack-every 1"), "..........");
}

TEST(OpenSource, QpsTakeTurns) {
  const auto order = [](const std::string &words) {
    std::string text;
    for (const Seen &seen : run({flow("qp 1 qps 3 size 2k pmtu 1024 " + words)}))
      text += static_cast<char>('0' + qp_of(seen));
    return text;
  };
  EXPECT_EQ(order("messages 2"), "123123123123");
  EXPECT_EQ(order("messages 2 by message"), "112233112233");
}

TEST(OpenSource, QpsThatFinishEarlierPassNoTurn) {
  // messages of 0 to 20 packets: the QPs end at different times
  const auto all = run({flow("qp 0 qps 50 size 0-20k pmtu 1024 messages 2 seed 5")});
  std::map<uint32_t, size_t> left;
  for (const Seen &seen : all)
    left[qp_of(seen)]++;
  uint32_t before = UINT32_MAX;
  std::set<uint32_t> round;
  for (const Seen &seen : all) { // a round has every QP that is not through yet, in order
    if (before != UINT32_MAX && qp_of(seen) <= before) {
      for (const auto &[qp, packets] : left)
        EXPECT_EQ(round.count(qp), 1U);
      for (const uint32_t qp : round)
        if (--left[qp] == 0)
          left.erase(qp);
      round.clear();
    }
    round.insert(before = qp_of(seen));
  }
}

TEST(OpenSource, PortsOfQps) {
  const flow::Flow f = flow("qps 3 messages 2 size 3k");
  for (const Seen &seen : run({f}))
    EXPECT_EQ(seen.src_port, f.source_port(qp_of(seen) - 0x11));
  std::set<uint16_t> varied;
  for (const Seen &seen : run({flow("port vary messages 1000 size 1")})) {
    EXPECT_GE(seen.src_port, 0xc000);
    varied.insert(seen.src_port);
  }
  EXPECT_EQ(varied.size(), 1000U);
  for (const Seen &seen : run({flow("port 4242 qps 2 messages 1")}))
    EXPECT_EQ(seen.src_port, 4242);
}

TEST(OpenSource, ManyQps) {
  constexpr uint32_t kQps = 10'000;
  OpenSource source({flow(fmt::format("qp 0x1000 qps {} messages 2 size 2000", kQps))}, {}, kLine);
  EXPECT_EQ(source.expected(), 4 * kQps);
  std::vector<uint32_t> next(kQps, UINT32_MAX), seen(kQps);
  std::vector<packet::Outgoing> out(64);
  while (!source.done()) {
    const size_t count = source.next(kBegin, out);
    for (size_t i = 0; i < count; i++) {
      const uint32_t qp = out[i].fields.dest_qp - 0x1000;
      ASSERT_LT(qp, kQps);
      if (next[qp] != UINT32_MAX) {
        ASSERT_EQ(out[i].fields.psn, next[qp]);
      }
      next[qp] = roce_psn_add(out[i].fields.psn, 1);
      seen[qp]++;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 4), kQps);
}

TEST(OpenSource, FlowsByTheirRates) {
  const auto all = run(
      {flow("qp 1 rate 100kpps for 100ms size 64"), flow("qp 2 rate 300kpps for 100ms size 64")});
  auto qps = by_qp(all);
  EXPECT_EQ(qps[1].size(), 10'000U);
  EXPECT_EQ(qps[2].size(), 30'000U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const Seen &a, const Seen &b) { return a.at < b.at; }));
  for (size_t i = 0; i < 10'000; i++)
    ASSERT_EQ(qps[1][i].at, i * 10'000);
}

TEST(OpenSource, TopSpeedIsSharedAndLeavesTheOthersTheirs) {
  OpenSource source({flow("qp 1 size 64"), flow("qp 2 size 64"), flow("qp 3 size 64 rate 1mpps")},
                    {}, kLine);
  std::vector<packet::Outgoing> out(10);
  std::map<uint32_t, size_t> seen;
  for (uint64_t now = kBegin; now < kBegin + 1'000'000; now += 1000)
    for (size_t i = 0, count = source.next(now, out); i < count; i++)
      seen[out[i].fields.dest_qp]++;
  EXPECT_EQ(seen[3], 1000U);
  EXPECT_EQ(seen[1] + seen[2], 9000U);
  EXPECT_NEAR(static_cast<double>(seen[1]), 4500, 2);
  EXPECT_EQ(source.asked_pps(), 0);
}

TEST(OpenSource, TotalRate) {
  parse::WordReader words({"10gbit"});
  const congestion::Rate total = flow::take_rate(words).get();
  OpenSource source({flow("qp 1 size 1000"), flow("qp 2 size 1000 rate 100kpps")}, total, kLine);
  const auto all = run(source, 200'000);
  const double wire = static_cast<double>(all.front().frame.size()) * 8 / 10; // ns each
  EXPECT_NEAR(static_cast<double>(all.back().at) / 199'999, wire, wire * 1e-4);
  const auto paced = by_qp(all)[2].size();
  EXPECT_NEAR(static_cast<double>(paced), 2e5 * wire / 1e4, 2);
  EXPECT_NEAR(source.asked_pps(), 1e9 / wire, 1e9 / wire * 1e-6);
  EXPECT_EQ(source.counts().slipped_ns, 0U);
}

TEST(OpenSource, AskedForOnTheAverage) {
  const auto asked = [](std::vector<flow::Flow> flows) {
    return OpenSource(std::move(flows), {}, kLine).asked_pps();
  };
  EXPECT_NEAR(asked({flow("rate 1kpps"), flow("rate 2kpps")}), 3000, 0.01);
  EXPECT_EQ(asked({flow("rate 1kpps"), flow("")}), 0);
  // frames of 58 + 1000 bytes, and 24 more each
  EXPECT_NEAR(asked({flow("size 1000 rate 50%")}), 5e9 / 8 / 1082, 1);
  EXPECT_NEAR(asked({flow("size 1000 rate 5gbit l1")}), 5e9 / 8 / 1082, 1);
  EXPECT_NEAR(asked({flow("size 1001 rate 1gbit")}), 1e9 / 8 / 1062, 1);
  EXPECT_NEAR(asked({flow("frame-size 4500 rate 1gbit")}), 1e9 / 8 / (65536.0 / 15 + 60), 150);
  EXPECT_NEAR(asked({flow("size 0:1,1000:3 rate 1gbit")}), 1e9 / 8 / 808, 1);
  EXPECT_NEAR(asked({flow("size 3000 rate 1gbit")}), 1e9 / 8 / (58 + 1000), 1);
}

TEST(OpenSource, FlowsStartOneAfterTheOther) {
  std::vector<flow::Flow> flows;
  for (int i = 0; i < 3; i++)
    flows.push_back(
        flow(fmt::format("qp {} rate 1kpps start {}ms messages 2 size 1", i + 1, 10 * i)));
  const auto all = run(flows);
  std::vector<uint64_t> at;
  for (const Seen &seen : all)
    at.push_back(seen.at / 1'000'000);
  EXPECT_EQ(at, (std::vector<uint64_t>{0, 1, 10, 11, 20, 21}));
}

TEST(OpenSource, Ends) {
  EXPECT_TRUE(OpenSource({}, {}, kLine).done());
  EXPECT_EQ(run({flow("rate 1kpps for 10ms size 1")}).size(), 10U);
  EXPECT_EQ(run({flow("rate 1kpps for 10ms messages 3 size 1")}).size(), 3U);
  EXPECT_EQ(run({flow("burst 5 gap 1ms count 3 size 1")}).size(), 15U);
  EXPECT_EQ(run({flow("burst 5 gap 1ms for 3ms size 1")}).size(), 15U);
  OpenSource top({flow("for 1ms start 1ms size 1")}, {}, kLine);
  std::vector<packet::Outgoing> out(1);
  EXPECT_EQ(top.next(kBegin, out), 0U);
  EXPECT_EQ(top.wake_at(), kBegin + 1'000'000);
  EXPECT_EQ(top.next(kBegin + 1'000'000, out), 1U);
  EXPECT_EQ(top.next(kBegin + 1'999'999, out), 1U);
  EXPECT_FALSE(top.done());
  EXPECT_EQ(top.next(kBegin + 2'000'000, out), 0U);
  EXPECT_TRUE(top.done());
  EXPECT_EQ(top.wake_at(), kNever);
  EXPECT_EQ(top.expected(), 0U);
}

TEST(OpenSource, PacketsToCome) {
  const auto to_come = [](const std::string &words) {
    return OpenSource({flow(words)}, {}, kLine).expected();
  };
  EXPECT_EQ(to_come("size 3k,1 messages 5 qps 2"), 2 * (3 + 1 + 3 + 1 + 3));
  EXPECT_EQ(to_come("size 1-1024 messages 5"), 5U);
  EXPECT_EQ(to_come("size 1-1025 messages 5"), 0U);
  EXPECT_EQ(to_come("burst 5 gap 1ms count 7"), 35U);
  EXPECT_EQ(to_come("burst 5 gap 1ms count 7 messages 2 size 1"), 2U);
  EXPECT_EQ(to_come(""), 0U);
  EXPECT_EQ(to_come("messages 5 for 1s"), 0U);
  EXPECT_EQ(to_come("frames 100"), 100U);
  EXPECT_EQ(to_come("frames 100 repeat 3 qps 2"), 600U);
  EXPECT_EQ(to_come("frames 100 repeat 0"), 0U);
  EXPECT_EQ(to_come("transport ud frames 100 repeat 3"), 300U);
  EXPECT_EQ(to_come("opcode RC_SEND_ONLY,CNP frames 100 repeat 3"), 300U);
}

// The opcodes in turn, each with the headers and payload that it has; CNPs take no PSN.
TEST(OpenSource, OpcodesInTurn) {
  const std::vector<Seen> all = run(
      {flow("opcode RC_RDMA_READ_RESPONSE_FIRST,CNP,RD_FETCH_ADD,0x18,RC_SEND_ONLY psn 0xfffffe "
            "size 100 messages 10 qp 9 qps 2 syndrome 0x62 src-qp 5 ee-context 7 se")});
  ASSERT_EQ(all.size(), 20U);
  constexpr uint8_t kOpcodes[] = {ROCE_RC_RDMA_READ_RESPONSE_FIRST, ROCE_OPCODE_CNP,
                                  ROCE_RD_FETCH_ADD, 0x18, ROCE_RC_SEND_ONLY};
  constexpr uint32_t kPayloads[] = {100, 16, 0, 100, 100};
  constexpr bool kAsks[] = {false, false, true, false, true};
  std::map<uint32_t, uint32_t> psn = {{9, 0xfffffe}, {10, 0xfffffe}};
  for (size_t i = 0; i < all.size(); i++) {
    const Seen &seen = all[i];
    const size_t at = i / 2 % 5;
    const uint8_t *bth = seen.frame.data() + seen.packet.bth;
    uint32_t &next = psn.at(seen.packet.key.qp_kind & 0xffffff);
    EXPECT_EQ(seen.packet.key.qp_kind & 0xffffff, 9 + i % 2);
    EXPECT_EQ(seen.packet.opcode, kOpcodes[at]);
    EXPECT_EQ(seen.packet.payload, kPayloads[at]);
    EXPECT_EQ(seen.packet.ack_req != 0, kAsks[at]);
    EXPECT_EQ(seen.packet.psn, at == 1 ? 0 : next);
    EXPECT_EQ(bth[1] >> 7, 1);
    EXPECT_EQ(bth[4], at == 1 ? 0x40 : 0);
    EXPECT_TRUE(has_icrc(seen));
    if (at == 0) {
      EXPECT_EQ(roce_be32(bth + ROCE_BTH_LEN), 0x62000000U + i / 2);
    }
    if (at == 2) {
      EXPECT_EQ(roce_be32(bth + ROCE_BTH_LEN), 7U);
      EXPECT_EQ(seen.packet.payload + seen.packet.end - seen.packet.bth,
                ROCE_BTH_LEN + 4U + 8 + 28 + ROCE_ICRC_LEN);
    }
    if (at != 1)
      next = (next + 1) & 0xffffff;
  }
}

// Each bit is in every packet, also where stamp() writes beside it, and the iCRC is right.
TEST(OpenSource, BitsOfTheBth) {
  struct Case {
    const char *words;
    uint8_t byte1, byte4, byte8;
    uint16_t pkey;
  };
  for (const Case &one :
       {Case{"", 0, 0, 0, 0xffff},
        {"se", 0x80, 0, 0, 0xffff},
        {"migreq", 0x40, 0, 0, 0xffff},
        {"padcnt 2", 0x20, 0, 0, 0xffff},
        {"fecn", 0, 0x80, 0, 0xffff},
        {"becn", 0, 0x40, 0, 0xffff},
        {"resv6 0x2a", 0, 0x2a, 0, 0xffff},
        {"resv7 0x55", 0, 0, 0x55, 0xffff},
        {"ack-req 1", 0, 0, 0x80, 0xffff},
        {"pkey 0x8001", 0, 0, 0, 0x8001},
        {"se migreq padcnt 3 fecn becn resv6 63 resv7 127 ack-req 1 pkey 0", 0xf0, 0xff, 0xff, 0}})
    for (const char *what : {" size 3072 messages 2", " transport ud messages 3",
                             " transport rd write size 3072", " opcode RC_ACKNOWLEDGE,CNP"}) {
      const std::string words = one.words + std::string(what) + " psn 0xffffff";
      const std::vector<Seen> all = run({flow(words)}, 6);
      ASSERT_GE(all.size(), 3U) << words;
      for (const Seen &seen : all) {
        const uint8_t *bth = seen.frame.data() + seen.packet.bth;
        const bool cnp = seen.packet.opcode == ROCE_OPCODE_CNP;
        EXPECT_EQ(bth[1], one.byte1) << words;
        EXPECT_EQ(bth[4], one.byte4 | (cnp ? 0x40 : 0)) << words;
        EXPECT_EQ(bth[8] & (one.byte8 & 0x80 ? 0xff : 0x7f), one.byte8) << words;
        EXPECT_EQ(roce_be16(bth + 2), one.pkey) << words;
        EXPECT_TRUE(has_icrc(seen)) << words;
      }
    }
}

// Another version of the transport headers: whole frames that no receiver takes.
TEST(OpenSource, AnotherVersion) {
  OpenSource source({flow("tver 5 size 100")}, {}, kLine);
  std::vector<packet::Outgoing> out(1);
  ASSERT_EQ(source.next(kBegin, out), 1U);
  const auto bytes = out[0].shape->bytes();
  std::vector<uint8_t> frame(bytes.begin(), bytes.end());
  out[0].shape->stamp(frame.data(), out[0].fields);
  roce_packet packet{};
  EXPECT_EQ(roce_parse(frame.data(), frame.data() + frame.size(), htons(ROCE_UDP_PORT), &packet),
            ROCE_CLASS_MALFORMED);
  EXPECT_EQ(frame[packet.bth + 1], 5);
  EXPECT_EQ(icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet), Icrc::Good);
}

TEST(OpenSource, SeesAnswers) {
  OpenSource source({flow("")}, {}, kLine, false);
  const auto answer = [&](uint8_t opcode, uint8_t syndrome) {
    roce_packet packet{};
    packet.opcode = opcode;
    packet.info = roce_opcode_info[opcode];
    packet.syndrome = syndrome;
    source.receive(kBegin, {}, ROCE_CLASS_V2, packet);
  };
  answer(ROCE_RC_ACKNOWLEDGE, 0x1f);
  answer(ROCE_XRC_ACKNOWLEDGE, 0x00);
  answer(ROCE_RC_ACKNOWLEDGE, 0x60);
  answer(ROCE_RC_ACKNOWLEDGE, 0x2c);
  answer(ROCE_OPCODE_CNP, 0);
  answer(ROCE_RC_SEND_ONLY, 0);
  EXPECT_EQ(source.counts().acks, 2U);
  EXPECT_EQ(source.counts().naks, 1U);
  EXPECT_EQ(source.counts().rnr_naks, 1U);
  EXPECT_EQ(source.counts().cnps, 1U);
}

// Like the reliable requester: a CNP, an ACK or a NAK with a wrong iCRC is dropped and counted.
TEST(OpenSource, DropsAnswersWithAWrongIcrc) {
  OpenSource source({flow("qp 0x20 size 1000 write cc dcqcn line 100mbit")}, {}, kLine);
  std::vector<packet::Outgoing> out(1);
  source.next(kBegin, out);
  const auto rate = [&source] {
    std::vector<QpRate> rates;
    source.qp_rates(kBegin + 1000, rates);
    return rates.at(0).rate;
  };
  const auto receive = [&source](const test::FrameBuilder &built, bool wrong) {
    test::Bytes frame = test::finished(built.build(), false);
    roce_packet packet{};
    roce_parse(frame.data(), frame.data() + frame.size(), htons(ROCE_UDP_PORT), &packet);
    frame[packet.end - 1] ^= wrong ? 1 : 0;
    source.receive(kBegin + 1000, frame, ROCE_CLASS_V2, packet);
  };
  const auto from_receiver = [](uint8_t opcode) {
    return test::FrameBuilder(opcode).from(2).to(1).qp(0x20);
  };
  const auto cnp = from_receiver(ROCE_OPCODE_CNP).payload(16);
  receive(cnp, true);
  receive(test::FrameBuilder(cnp).ipv6(), true);
  receive(from_receiver(ROCE_RC_ACKNOWLEDGE).syndrome(0x1f), true);
  receive(from_receiver(ROCE_RC_ACKNOWLEDGE).syndrome(0x60), true);
  receive(from_receiver(ROCE_RC_SEND_ONLY), true); // for the responder
  EXPECT_EQ(source.counts().bad_icrc_received, 4U);
  EXPECT_EQ(source.counts().cnps + source.counts().acks + source.counts().naks, 0U);
  EXPECT_EQ(rate(), 100e6);
  receive(cnp, false);
  receive(from_receiver(ROCE_RC_ACKNOWLEDGE).syndrome(0x1f), false);
  receive(from_receiver(ROCE_RC_ACKNOWLEDGE).syndrome(0x60), false);
  EXPECT_EQ(source.counts().bad_icrc_received, 4U);
  EXPECT_EQ(source.counts().cnps, 1U);
  EXPECT_EQ(source.counts().acks, 1U);
  EXPECT_EQ(source.counts().naks, 1U);
  EXPECT_LT(rate(), 100e6);
}

} // namespace
} // namespace xr::requester::open_source_test
