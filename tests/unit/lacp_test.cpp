// SPDX-License-Identifier: Apache-2.0
// LACP: LACPDUs against bytes that scapy built, both ends of a link in virtual time, and which
// ports a LAG takes.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "station/lacp.h"

namespace xr::test::lacp_test {
namespace {

using station::Lacp;
using station::Lacpdu;
using station::LacpEnd;
using station::LacpOptions;

constexpr uint64_t kMs = 1'000'000, kSecond = Lacp::kSecond;

// scapy.contrib.lacp: LACP(actor_system_priority=5, actor_system='02:00:00:00:00:09', actor_key=77,
// actor_port_priority=4, actor_port_number=3, actor_state=0x3f, partner_system_priority=0x8001,
// partner_system='02:00:00:00:00:0b', partner_key=0x1234, partner_port_priority=255,
// partner_port_number=0x102, partner_state=0x45, collector_max_delay=50)
constexpr std::string_view kScapy =
    "0180c200000202000000090a8809010101140005020000000009004d000400033f000000021480010200"
    "0000000b123400ff01024500000003100032000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000";

std::vector<uint8_t> bytes_of(std::string_view hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

const Lacpdu kPdu = {.actor = {.system_priority = 5,
                               .system = {2, 0, 0, 0, 0, 9},
                               .key = 77,
                               .port_priority = 4,
                               .port = 3,
                               .state = 0x3f},
                     .partner = {.system_priority = 0x8001,
                                 .system = {2, 0, 0, 0, 0, 0xb},
                                 .key = 0x1234,
                                 .port_priority = 255,
                                 .port = 0x102,
                                 .state = 0x45},
                     .collector_max_delay = 50};

TEST(Lacpdus, AreThoseOfAnotherImplementation) {
  const auto bytes = bytes_of(kScapy);
  EXPECT_EQ(station::lacp_frame({2, 0, 0, 0, 9, 0xa}, kPdu), bytes);
  const auto read = station::parse_lacp(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->actor, kPdu.actor);
  EXPECT_EQ(read->partner, kPdu.partner);
  EXPECT_EQ(read->collector_max_delay, 50);
}

TEST(Lacpdus, MalformedOnesAreErrors) {
  const auto right = bytes_of(kScapy);
  for (const size_t at : {15, 16, 36, 56}) { // version and types, which nobody validates
    auto other = right;
    other[at] = at == 15 ? 0 : 99;
    const auto read = station::parse_lacp(other);
    ASSERT_TRUE(read) << at;
    EXPECT_EQ(read->actor, kPdu.actor) << at;
  }
  for (const size_t at : {17, 37, 57}) { // lengths
    auto wrong = right;
    wrong[at] = 99;
    EXPECT_TRUE(station::is_lacp(wrong)) << at;
    EXPECT_FALSE(station::parse_lacp(wrong)) << at;
  }
  for (size_t length = 0; length < right.size(); length++)
    EXPECT_FALSE(station::parse_lacp(std::span(right).first(length))) << length;
  for (const size_t at : {0, 5, 12, 13, 14}) { // not LACP
    auto other = right;
    other[at] ^= 0xff;
    EXPECT_FALSE(station::is_lacp(other)) << at;
  }
  Lacp lacp({});
  lacp.enable(0, true);
  EXPECT_TRUE(lacp.receive(1, std::span(right).first(60)));
  EXPECT_FALSE(lacp.receive(1, std::span(right).first(14)));
  EXPECT_EQ(lacp.counts().errors, 1U);
  EXPECT_EQ(lacp.counts().received, 0U);
  EXPECT_FALSE(lacp.heard());
}

LacpOptions options(uint8_t number) {
  LacpOptions made;
  made.actor = {.system_priority = 1,
                .system = {2, 0, 0, 0, 0, number},
                .key = 7,
                .port_priority = 1,
                .port = number};
  made.mac = made.actor.system;
  return made;
}

// Two ports with a wire, and LAGs of these ports.
struct Link {
  explicit Link(const LacpOptions &a, const LacpOptions &b) : ends{Lacp(a), Lacp(b)} {}
  std::array<Lacp, 2> ends;
  uint64_t now = kSecond;
  std::array<bool, 2> cut{}; // what this end sends is lost
  std::vector<uint64_t> sent[2];

  void run(uint64_t ns) {
    for (const uint64_t end = now + ns; now < end; now += kMs) {
      for (size_t i = 0; i < 2; i++) {
        const std::array<std::optional<LacpEnd>, 1> partner = {ends[i].heard()};
        ends[i].select(partner[0], station::lacp_selection(ends[i].actor(), partner)[0]);
        EXPECT_TRUE(ends[i].wake_at() > now || wakes(i));
      }
    }
  }
  bool wakes(size_t i) {
    std::array<packet::Outgoing, 4> out;
    const size_t count = ends[i].next(now, out);
    for (size_t k = 0; k < count; k++) {
      sent[i].push_back(now);
      if (!cut[i]) {
        EXPECT_TRUE(ends[1 - i].receive(now, out[k].raw));
      }
    }
    return true;
  }
  void enable() {
    for (Lacp &end : ends)
      end.enable(now, true);
  }
  void come_up(uint64_t within = 2 * kSecond) {
    enable();
    run(within);
    EXPECT_TRUE(both());
  }
  bool both() const { return ends[0].distributing() && ends[1].distributing(); }
};

constexpr uint8_t kInLag = station::kLacpActivity | station::kLacpShortTimeout |
                           station::kLacpAggregation | station::kLacpSynchronization |
                           station::kLacpCollecting | station::kLacpDistributing;

TEST(LacpPort, TwoActiveOnesDistributeAndGoOn) {
  Link link(options(1), options(2));
  link.run(kSecond);
  EXPECT_TRUE(link.sent[0].empty()); // not enabled
  link.come_up();
  EXPECT_EQ(link.ends[0].actor().state, kInLag);
  EXPECT_EQ(link.ends[0].partner(), link.ends[1].actor());
  link.sent[0].clear();
  link.run(100 * kSecond);
  EXPECT_TRUE(link.both());
  EXPECT_NEAR(static_cast<double>(link.sent[0].size()), 100, 1); // one a second: short timeouts
}

TEST(LacpPort, NeverMoreThanThreeInASecond) {
  Link link(options(1), options(2));
  link.enable();
  for (int i = 0; i < 50; i++) { // a reason to transmit each 100 ms
    link.ends[0].set_admin(i % 2);
    link.run(100 * kMs);
  }
  for (size_t i = 3; i < link.sent[0].size(); i++)
    EXPECT_GE(link.sent[0][i] - link.sent[0][i - 3], kSecond);
  EXPECT_GE(link.sent[0].size(), 12U);
}

TEST(LacpPort, LongTimeoutsAndGivenIntervals) {
  LacpOptions slow = options(1), other = options(2);
  slow.timeout_ns = Lacp::kLong;
  Link link(slow, other);
  link.come_up(5 * kSecond);
  EXPECT_FALSE(link.ends[0].actor().state & station::kLacpShortTimeout);
  link.sent[0].clear(), link.sent[1].clear();
  link.run(120 * kSecond);
  EXPECT_NEAR(static_cast<double>(link.sent[0].size()), 120, 1); // the other asks for short ones
  EXPECT_NEAR(static_cast<double>(link.sent[1].size()), 4, 1);
  other.interval_ns = 5 * kSecond;
  Link given(slow, other);
  given.enable();
  given.run(10 * kSecond);
  given.sent[1].clear();
  given.run(100 * kSecond);
  EXPECT_NEAR(static_cast<double>(given.sent[1].size()), 20, 1);
}

TEST(LacpPort, PassiveOnesSpeakWhenSpokenTo) {
  LacpOptions a = options(1), b = options(2);
  a.active = b.active = false;
  Link silent(a, b);
  silent.enable();
  silent.run(10 * kSecond);
  EXPECT_TRUE(silent.sent[0].empty() && silent.sent[1].empty());
  EXPECT_FALSE(silent.both());
  a.active = true;
  Link link(a, b);
  link.come_up();
}

TEST(LacpPort, ASilentPartnerExpiresAndIsForgotten) {
  Link link(options(1), options(2));
  link.come_up(5 * kSecond);
  link.cut[1] = true; // only this way: the other end hears on
  link.run(2900 * kMs - kSecond);
  EXPECT_TRUE(link.ends[0].distributing());
  link.run(1200 * kMs);
  EXPECT_FALSE(link.ends[0].distributing());
  EXPECT_TRUE(link.ends[0].actor().state & station::kLacpExpired);
  link.run(kSecond);
  EXPECT_FALSE(link.ends[1].distributing()); // it has heard of it
  link.run(3 * kSecond);
  EXPECT_FALSE(link.ends[0].actor().state & station::kLacpExpired);
  EXPECT_TRUE(link.ends[0].actor().state & station::kLacpDefaulted);
  EXPECT_FALSE(link.ends[0].heard());
  link.cut[1] = false;
  link.run(3 * kSecond);
  EXPECT_TRUE(link.both());
}

TEST(LacpPort, AdminAndLinkTakeItOut) {
  Link link(options(1), options(2));
  link.come_up();
  link.ends[0].set_admin(false);
  link.run(2 * kSecond);
  EXPECT_FALSE(link.ends[0].distributing() || link.ends[1].distributing());
  EXPECT_FALSE(link.ends[0].actor().state & station::kLacpSynchronization);
  EXPECT_TRUE(link.ends[1].actor().state & station::kLacpSynchronization);
  link.ends[0].set_admin(true);
  link.run(2 * kSecond);
  EXPECT_TRUE(link.both());
  link.ends[0].enable(link.now, false);
  EXPECT_FALSE(link.ends[0].distributing());
  link.sent[0].clear();
  link.run(4 * kSecond);
  EXPECT_TRUE(link.sent[0].empty());
  EXPECT_FALSE(link.ends[1].distributing());
  link.ends[0].enable(link.now, true);
  link.run(2 * kSecond);
  EXPECT_TRUE(link.both());
}

TEST(LacpPort, AnotherPartnerIsSelectedAnew) {
  Link link(options(1), options(2));
  link.come_up();
  Lacpdu pdu{.actor = link.ends[1].actor(), .partner = link.ends[0].actor()};
  pdu.actor.key = 8;
  link.ends[0].receive(link.now, station::lacp_frame({}, pdu));
  EXPECT_FALSE(link.ends[0].distributing());
}

TEST(LacpSelection, PortsWithOnePartner) {
  const LacpEnd own = options(1).actor;
  LacpEnd b = options(2).actor, c = options(3).actor;
  b.state = c.state = station::kLacpAggregation;
  using Partners = std::vector<std::optional<LacpEnd>>;
  using Chosen = std::vector<bool>;
  const auto chosen = [&](const Partners &partners) {
    return station::lacp_selection(own, partners);
  };
  LacpEnd second = b;
  second.port = 9;
  EXPECT_EQ(chosen({b, second, {}}), (Chosen{true, true, false}));
  EXPECT_EQ(chosen({c, b, second}), (Chosen{false, true, true})); // most ports
  EXPECT_EQ(chosen({c, b}), (Chosen{true, false}));               // the first
  second.key = 8;
  EXPECT_EQ(chosen({b, second}), (Chosen{true, false}));
  b.state = 0; // individual: one link
  EXPECT_EQ(chosen({b, b}), (Chosen{true, false}));
  LacpEnd loop = own;
  loop.state = station::kLacpAggregation;
  EXPECT_EQ(chosen({loop, loop}), (Chosen{false, false}));
  EXPECT_EQ(chosen({{}, {}}), (Chosen{false, false}));
}

} // namespace
} // namespace xr::test::lacp_test
