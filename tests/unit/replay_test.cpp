// SPDX-License-Identifier: Apache-2.0
// Replayed captures in virtual time: the time of each frame, and the rewritten fields.
#include <gtest/gtest.h>

#include "packet/frame.h"
#include "packet/icrc.h"
#include "parse/address.h"
#include "parse/words.h"
#include "requester/replay.h"

namespace xr::requester::replay_test {
namespace {

constexpr uint64_t kStart = 1'000'000'000;

Replay words(const std::string &text) {
  auto replay = parse_replay(parse::split(text));
  EXPECT_TRUE(replay.ok()) << replay.error().message;
  return replay.ok() ? replay.get() : Replay{};
}

std::unique_ptr<ReplaySource> source(const std::string &text, const std::vector<uint64_t> &times) {
  std::vector<ReplaySource::Frame> frames;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < times.size(); i++) {
    frames.push_back({times[i], bytes.size(), 60});
    bytes.resize(bytes.size() + 60, static_cast<uint8_t>(i));
  }
  return std::make_unique<ReplaySource>(std::move(bytes), std::move(frames), words(text), 1e10);
}

// When each frame leaves: its first byte and the time since the start.
std::vector<std::pair<int, uint64_t>> schedule(ReplaySource &source, size_t most) {
  std::vector<std::pair<int, uint64_t>> all;
  std::vector<packet::Outgoing> out(1);
  uint64_t now = kStart;
  while (!source.done() && all.size() < most) {
    if (source.next(now, out))
      all.emplace_back(out[0].raw[0], now - kStart);
    else
      now = source.wake_at();
  }
  return all;
}

using Schedule = std::vector<std::pair<int, uint64_t>>;

TEST(Replay, ItsOwnTiming) {
  auto one = source("f.pcap", {5000, 5100, 7000});
  EXPECT_EQ(schedule(*one, 9), (Schedule{{0, 0}, {1, 100}, {2, 2000}}));
  EXPECT_TRUE(one->done());
  EXPECT_EQ(one->wake_at(), kNever);
  EXPECT_EQ(one->counts().packets, 3u);
  EXPECT_EQ(one->counts().bytes, 180u);
}

TEST(Replay, FasterAndSlower) {
  EXPECT_EQ(schedule(*source("f speed 2", {0, 1000, 5000}), 9),
            (Schedule{{0, 0}, {1, 500}, {2, 2500}}));
  EXPECT_EQ(schedule(*source("f speed 0.5", {0, 1000}), 9), (Schedule{{0, 0}, {1, 2000}}));
}

TEST(Replay, AtARateOrAtTopSpeed) {
  EXPECT_EQ(schedule(*source("f rate 1mpps", {0, 70, 5000}), 9),
            (Schedule{{0, 0}, {1, 1000}, {2, 2000}}));
  for (const char *words : {"f rate top", "f top"})
    EXPECT_EQ(schedule(*source(words, {0, 70, 5000}), 9), (Schedule{{0, 0}, {1, 0}, {2, 0}}));
}

// A gap between two loops as between two frames on the average; time that goes back is none.
TEST(Replay, LoopsAndTimesOutOfOrder) {
  EXPECT_EQ(schedule(*source("f loop 2", {0, 100, 200}), 9),
            (Schedule{{0, 0}, {1, 100}, {2, 200}, {0, 300}, {1, 400}, {2, 500}}));
  EXPECT_EQ(schedule(*source("f loop 0", {0, 100}), 5).size(), 5u);
  EXPECT_EQ(schedule(*source("f", {500, 400, 600}), 9), (Schedule{{0, 0}, {1, 0}, {2, 100}}));
}

TEST(Replay, EndsWithItsTime) {
  EXPECT_EQ(schedule(*source("f loop 0 for 250ns", {0, 100}), 9),
            (Schedule{{0, 0}, {1, 100}, {0, 200}}));
  auto top = source("f loop 0 top for 1us", {0, 100});
  std::vector<packet::Outgoing> out(4);
  EXPECT_EQ(top->next(kStart, out), 4u);
  EXPECT_EQ(top->next(kStart + 1000, out), 0u);
  EXPECT_TRUE(top->done());
}

struct Case {
  packet::Network network;
  bool checksum;
};

class Rewrite : public ::testing::TestWithParam<Case> {};

// The frame is the same as if it had been built so: checksums and iCRC included.
TEST_P(Rewrite, EqualsAFrameBuiltSo) {
  const auto [network, checksum] = GetParam();
  const bool ipv4 = network == packet::Network::Ipv4;
  const auto address = [&](const char *v4, const char *v6) {
    return parse::address(ipv4 ? v4 : v6).get();
  };
  packet::Path path;
  path.network = network;
  path.src = address("10.0.0.1", "fd00::1");
  path.dst = address("10.0.0.2", "fd00::2");
  path.tags = {{}};
  path.udp_checksum = checksum;
  packet::Headers headers;
  headers.dest_qp = 0x11;
  const auto payload = packet::counting_payload(101);
  auto before = packet::build(path, headers, payload);
  ASSERT_TRUE(before.ok());

  path.src = address("192.0.2.77", "2001:db8:ffff::ffff");
  path.src_mac = {2, 0, 0, 0, 0, 7};
  path.dst_mac = {2, 0, 0, 0, 0, 8};
  const auto wanted = packet::build(path, headers, payload);
  const Replay how =
      words(std::string("f src-mac 02:00:00:00:00:07 dst-mac 02:00:00:00:00:08 map ") +
            (ipv4 ? "10.0.0.1=192.0.2.77" : "fd00::1=2001:db8:ffff::ffff"));
  EXPECT_TRUE(rewrite(before->bytes, how, ROCE_UDP_PORT));
  EXPECT_EQ(before->bytes, wanted.get().bytes);

  // An iCRC that was wrong stays wrong.
  auto broken = packet::build(path, headers, payload).get().bytes;
  broken.back() ^= 1;
  const Replay back =
      words(ipv4 ? "f map 192.0.2.77=10.0.0.1" : "f map 2001:db8:ffff::ffff=fd00::1");
  EXPECT_TRUE(rewrite(broken, back, ROCE_UDP_PORT));
  roce_packet packet{};
  roce_parse(broken.data(), broken.data() + broken.size(), roce_swap16(ROCE_UDP_PORT), &packet);
  EXPECT_EQ(icrc_check(broken.data(), static_cast<uint32_t>(broken.size()), packet), Icrc::Bad);
}

INSTANTIATE_TEST_SUITE_P(All, Rewrite,
                         testing::Values(Case{packet::Network::Ipv4, false},
                                         Case{packet::Network::Ipv4, true},
                                         Case{packet::Network::Ipv6, false},
                                         Case{packet::Network::Ipv6, true},
                                         Case{packet::Network::V1, false}));

TEST(Replay, OtherFramesKeepTheirAddresses) {
  std::vector<uint8_t> frame(60, 0);
  const auto before = frame;
  EXPECT_FALSE(rewrite(frame, words("f map 0.0.0.0=192.0.2.1"), ROCE_UDP_PORT));
  EXPECT_EQ(frame, before);
  std::vector<uint8_t> stub(5, 0);
  EXPECT_FALSE(rewrite(stub, words("f src-mac 02:00:00:00:00:01"), ROCE_UDP_PORT));
}

TEST(Replay, WrongWords) {
  const std::pair<const char *, const char *> kWrong[] = {
      {"", "which file"},
      {"f speeed 2", "speeed"},
      {"f speed", "speed needs a value"},
      {"f speed 0", "'0'"},
      {"f map 10.0.0.1", "pair of addresses"},
      {"f map 10.0.0.1=fd00::1", "two families"},
      {"f map x=10.0.0.1", "'x'"},
      {"f rate fast", "'fast'"},
      {"f src-mac 02:00", "02:00"},
      {"f loop -1", "'-1'"},
  };
  for (const auto &[text, wanted] : kWrong) {
    const auto replay = parse_replay(parse::split(text));
    ASSERT_FALSE(replay.ok()) << text;
    EXPECT_NE(replay.error().message.find(wanted), std::string::npos) << replay.error().message;
  }
}

} // namespace
} // namespace xr::requester::replay_test
