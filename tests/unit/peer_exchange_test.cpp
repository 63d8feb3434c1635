// SPDX-License-Identifier: Apache-2.0
// perftest's exchange against captures of perftest 6.06 between two Soft-RoCE hosts
// (tests/data/peer: what each side said over TCP), both roles, byte for byte.
#include <bit>
#include <fstream>

#include <gtest/gtest.h>

#include "parse/words.h"
#include "peer/peer_words.h"
#include "peer/perftest_exchange.h"
#include "peer/small_tools.h"

namespace xr::peer::peer_exchange_test {
namespace {

struct Said {
  bool client;
  Bytes bytes;
};

Bytes bytes_of_hex(const std::string &hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<Said> conversation(const std::string &name) {
  std::ifstream file(std::string(XR_TEST_DATA "/peer/") + name + ".txt");
  std::vector<Said> all;
  std::string who, hex;
  while (file >> who >> hex)
    all.push_back({who == "c", bytes_of_hex(hex)});
  EXPECT_FALSE(all.empty()) << name;
  return all;
}

Bytes all_of(const std::vector<Said> &all, bool client) {
  Bytes bytes;
  for (const Said &said : all)
    if (said.client == client)
      bytes.insert(bytes.end(), said.bytes.begin(), said.bytes.end());
  return bytes;
}

// The ends that a side says, each once, in their order.
std::vector<PerftestKey> keys_of(const std::vector<Said> &all, bool client) {
  std::vector<PerftestKey> keys;
  for (const Said &said : all)
    if (said.client == client && said.bytes.size() == kKeyBytes) {
      const PerftestKey key = parse_key(said.bytes, false).get();
      if (std::ranges::find(keys, key) == keys.end())
        keys.push_back(key);
    }
  return keys;
}

// What a side reported, if the capture has it.
PerftestReport report_of(const std::vector<Said> &all, bool client) {
  std::vector<uint64_t> numbers;
  for (const Said &said : all)
    if (said.client == client && said.bytes.size() == 8)
      numbers.push_back(get(said.bytes, 0, 8));
  numbers.resize(5);
  return {.size = numbers[0],
          .iterations = numbers[1],
          .peak = std::bit_cast<double>(numbers[2]),
          .average = std::bit_cast<double>(numbers[3]),
          .message_rate = std::bit_cast<double>(numbers[4])};
}

struct Case {
  std::string file;
  PerftestTest test;
  uint32_t qps = 1;
  bool both_ways = false;
  uint32_t more = 0; // barriers before the traffic beyond those of a test whose server does nothing
};

class Exchange : public testing::TestWithParam<Case> {};

TEST_P(Exchange, TheServerAnswersAsTheCaptures) {
  const std::vector<Said> all = conversation(GetParam().file);
  const std::vector<PerftestKey> own = keys_of(all, false), theirs = keys_of(all, true);
  size_t connected = 0;
  uint32_t more = 0;
  PerftestServer server(
      1024, false,
      {.make =
           [&](uint32_t number, const PerftestKey &key) {
             EXPECT_EQ(key, theirs.at(number));
             return own.at(number);
           },
       .connect = [&](const PerftestFacts &facts) { connected = facts.own.size(); },
       .run = [&](uint32_t now) { more = std::max(more, now); },
       .report = [&] { return report_of(all, false); }});
  const Bytes in = all_of(all, true);
  Bytes out;
  uint32_t before_report = 0;
  for (size_t at = 0; at < in.size();) {
    // However little has come: a record is known from its first bytes, or not at all.
    for (size_t some = 0; some < 5; some++)
      if (const size_t early = server.record(std::span(in).subspan(at, some)); early) {
        EXPECT_EQ(early, server.record(std::span(in).subspan(at)));
      }
    const size_t length = server.record(std::span(in).subspan(at));
    ASSERT_GT(length, 0U);
    if (length == 8 && !before_report)
      before_report = more;
    auto said = server.answer(std::span(in).subspan(at, length));
    ASSERT_TRUE(said.ok()) << said.error().message;
    out.insert(out.end(), said->begin(), said->end());
    at += length;
  }
  EXPECT_EQ(out, all_of(all, false));
  EXPECT_EQ(connected, GetParam().qps);
  EXPECT_EQ(server.facts().version, "6.06");
  EXPECT_EQ(server.facts().pmtu, 1024U);
  const bool whole = server.done();
  EXPECT_GE(more, GetParam().more);
  if (!whole) {
    EXPECT_EQ(more, GetParam().more);
  }
  if (before_report) {
    EXPECT_EQ(server.facts().their_report->iterations, report_of(all, true).iterations);
  }
}

TEST_P(Exchange, TheClientSaysWhatTheCapturesDo) {
  const Case &c = GetParam();
  const std::vector<Said> all = conversation(c.file);
  const std::vector<PerftestKey> own = keys_of(all, true), theirs = keys_of(all, false);
  bool ran = false, connected = false;
  PerftestClient client(c.test, c.qps, c.both_ways, 1, 1024, false,
                        {.make = [&](uint32_t number) { return own.at(number); },
                         .connect =
                             [&](const PerftestFacts &facts) {
                               connected = true;
                               EXPECT_EQ(facts.theirs, theirs);
                             },
                         .connect_cm = []() -> Status { return Error{"not over TCP"}; },
                         .run =
                             [&](uint32_t size) {
                               ran = true;
                               EXPECT_EQ(size, 0U);
                               return Result<PerftestReport>(report_of(all, true));
                             }});
  const Bytes in = all_of(all, false), wanted = all_of(all, true);
  Bytes out;
  size_t at = 0;
  bool over = false;
  while (!over) {
    const bool ran_before = ran;
    auto step = client.next();
    ASSERT_TRUE(step.ok()) << step.error().message;
    over = !step->has_value();
    if (over || (out.size() == wanted.size() && ran != ran_before))
      break; // the capture ends with the traffic
    out.insert(out.end(), step->value().say.begin(), step->value().say.end());
    if (!step->value().await)
      continue;
    ASSERT_LE(at + step->value().await, in.size());
    ASSERT_TRUE(client.take(std::span(in).subspan(at, step->value().await)));
    at += step->value().await;
  }
  EXPECT_EQ(out, wanted);
  EXPECT_TRUE(connected && ran);
}

INSTANTIATE_TEST_SUITE_P(
    Captures, Exchange,
    testing::Values(Case{"write_bw", PerftestTest::WriteBw}, Case{"read_bw", PerftestTest::ReadBw},
                    Case{"send_bw", PerftestTest::SendBw, 1, false, 1},
                    Case{"atomic_bw", PerftestTest::AtomicBw},
                    Case{"write_lat", PerftestTest::WriteLat, 1, false, 1},
                    Case{"read_lat", PerftestTest::ReadLat, 1, false, 1},
                    Case{"send_lat", PerftestTest::SendLat, 1, false, 1},
                    Case{"write_bw_q2_bidir", PerftestTest::WriteBw, 2, true, 1}),
    [](const auto &info) { return info.param.file; });

PerftestServer plain_server() {
  return PerftestServer(4096, false,
                        {.make = [](uint32_t, const PerftestKey &) { return PerftestKey{.qp = 7}; },
                         .connect = [](const PerftestFacts &) {},
                         .run = [](uint32_t) {},
                         .report = [] { return PerftestReport(); }});
}

Bytes text_bytes(std::string text, size_t size) {
  text.resize(size);
  return {text.begin(), text.end()};
}

TEST(PeerExchange, OtherVersionsAreRefusedWithWhatWasRead) {
  for (const char *version : {"4.1", "5.60", "6.28", "26.01"}) {
    PerftestServer server = plain_server();
    const auto answer = server.answer(text_bytes(version, kVersionBytes));
    ASSERT_FALSE(answer.ok()) << version;
    EXPECT_NE(answer.error().message.find(version), std::string::npos);
    EXPECT_FALSE(answer.error().hint.empty());
  }
  for (const char *version : {"5.70", "6.06", "6.10", "6.27"}) {
    PerftestServer server = plain_server();
    EXPECT_TRUE(server.answer(text_bytes(version, kVersionBytes)).ok()) << version;
  }
  for (const char *garbage : {"", "GET / HTTP/1.1\r\n", "6.06x", "-6.06"}) {
    PerftestServer server = plain_server();
    EXPECT_FALSE(server.answer(text_bytes(garbage, kVersionBytes)).ok()) << garbage;
  }
}

TEST(PeerExchange, GarbageInsteadOfARecordIsRefused) {
  const auto ready = [] {
    PerftestServer server = plain_server();
    EXPECT_TRUE(server.answer(text_bytes("6.06", kVersionBytes)).ok());
    EXPECT_TRUE(server.answer(Bytes(4)).ok());
    EXPECT_TRUE(server.answer(Bytes(4)).ok());
    return server;
  };
  for (const char *mtu : {"0", "6", "9", "x", "33"}) {
    PerftestServer server = ready();
    EXPECT_FALSE(server.answer(text_bytes(mtu, 2)).ok()) << mtu;
  }
  PerftestServer server = ready();
  EXPECT_TRUE(server.answer(text_bytes("3", 2)).ok());
  EXPECT_EQ(server.facts().pmtu, 1024U); // the lesser one
  const PerftestKey key{.qp = 0x11, .psn = 0xabcdef, .rkey = 1, .va = 2};
  Bytes right = key_bytes(key, false);
  EXPECT_EQ(parse_key(right, false).get(), key);
  EXPECT_EQ(parse_key(key_bytes(key, true), true).get(), key);
  for (const size_t at : {0U, 4U, 12U, 30U, 60U, 106U}) {
    Bytes wrong = right;
    wrong[at] = 'g';
    EXPECT_FALSE(server.answer(wrong).ok()) << at;
  }
  EXPECT_FALSE(parse_key(std::span(right).first(107), false).ok());
  EXPECT_FALSE(parse_key(Bytes(55), true).ok());
  EXPECT_TRUE(server.answer(right).ok());
  EXPECT_TRUE(server.answer(right).ok()); // so all QPs are known
  const auto late = server.answer(key_bytes({.qp = 0x12}, false));
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("more QPs"), std::string::npos);
}

// Numbers of a report may have any bytes, a key's colon among them.
TEST(PeerExchange, ANumberIsNoKey) {
  PerftestServer server = plain_server();
  for (const Bytes &said :
       {text_bytes("6.06", kVersionBytes), Bytes(4), Bytes(4), text_bytes("3", 2),
        key_bytes({.qp = 0x11}, false), key_bytes({.qp = 0x11}, false)})
    ASSERT_TRUE(server.answer(said).ok());
  for (const char *hex : {"000000003a000400", "00000000000000c8", "4082c0003a3a3a3a",
                          "40803a3a3a000000", "3f80aaaa3aaaaaaa"}) {
    const Bytes number = bytes_of_hex(hex);
    EXPECT_EQ(server.record(number), 8U) << hex;
    EXPECT_TRUE(server.answer(number).ok());
  }
  EXPECT_EQ(server.record(key_bytes({.qp = 0x11}, false)), kKeyBytes);
}

TEST(PeerExchange, PingpongsLinesAreThoseOfTheCapture) {
  const std::vector<Said> all = conversation("rc_pingpong");
  ASSERT_EQ(all.size(), 3U);
  for (size_t i = 0; i < 2; i++) {
    const auto key = parse_pingpong(all[i].bytes);
    ASSERT_TRUE(key.ok());
    EXPECT_EQ(pingpong_bytes(key.get()), all[i].bytes);
    EXPECT_TRUE(is_mapped(key.get().gid));
  }
  EXPECT_EQ(parse_pingpong(all[0].bytes).get().qp, 0x1fU);
  EXPECT_EQ(parse_pingpong(all[0].bytes).get().psn, 0x2e562eU);
  for (size_t at = 0; at < kPingpongBytes; at++) {
    Bytes wrong = all[0].bytes;
    wrong[at] = 'x';
    EXPECT_FALSE(parse_pingpong(wrong).ok()) << at;
  }
}

TEST(PeerWords, SayWhatIsMissing) {
  const auto error = [](const std::string &text) {
    const auto spec = parse_peer(parse::split(text));
    return spec.ok() ? "none" : spec.error().message + "; " + spec.error().hint;
  };
  EXPECT_EQ(error("perftest"), "none");
  EXPECT_EQ(error("perftest write_lat size 64 once"), "none");
  EXPECT_EQ(error("perftest ib_send_bw 192.0.2.2"), "none");
  for (const auto &[text, said] : std::map<std::string, std::string>{
           {"", "which tool is at the other end is missing"},
           {"perftes", "did you mean perftest?"},
           {"perftest write_bv", "did you mean write_bw?"},
           {"perftest write_bw host", "'host' is neither a word nor the address of a server"},
           {"perftest write_bw 192.0.2.2 once", "once is a server's"},
           {"perftest cm", "cm is a client's"},
           {"perftest write_lat 192.0.2.2 qps 2", "a test of latency has one QP"},
           {"perftest read_bw 192.0.2.2 transport uc", "this transport has no such message"},
           {"perftest send_bw 192.0.2.2 transport ud size 2k", "does not fit PMTU 1024"},
           {"perftest send_bw 192.0.2.2 answers lost every 2", "is not a fault of answers"},
           {"perftest send_bw 192.0.2.2 answers skip", "when it happens"},
           {"rdma_client", "rdma_client needs its server's address"},
           {"pingpong", "a pingpong"},
           {"rping 192.0.2.2 size 3g", "a message has at most 2 GiB"}})
    EXPECT_NE(error(text).find(said), std::string::npos) << text << ": " << error(text);
}

} // namespace
} // namespace xr::peer::peer_exchange_test
