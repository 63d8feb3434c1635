// SPDX-License-Identifier: Apache-2.0
// Flow rules on a NIC of this test, which keeps rules, and their bytes.
#include "host/flow_rules.h"

#include <cerrno>
#include <cstring>
#include <map>

#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "host/receive.h"

namespace xr::host::flow_rules_test {
namespace {

constexpr uint32_t kTable = 4; // locations

struct Nic {
  std::map<uint32_t, ethtool_rx_flow_spec> rules = {}; // by location
  bool chooses = false;                                // locations itself, from the first on
  int refuses_all = 0;                                 // errno value
  uint32_t refuses = 0;                                // flow type
  std::vector<uint8_t> inserted = {};                  // bytes of the last SRXCLSRLINS

  int run(void *command) {
    auto *c = static_cast<ethtool_rxnfc *>(command);
    if (refuses_all)
      return -refuses_all;
    switch (c->cmd) {
    case ETHTOOL_GRXCLSRLCNT:
      c->rule_cnt = static_cast<uint32_t>(rules.size());
      c->data = chooses ? RX_CLS_LOC_SPECIAL : 0;
      return 0;
    case ETHTOOL_GRXCLSRLALL: {
      uint32_t next = 0;
      if (c->rule_cnt < rules.size())
        return -EMSGSIZE;
      for (const auto &[location, rule] : rules)
        c->rule_locs[next++] = location;
      c->rule_cnt = next;
      c->data = kTable;
      return 0;
    }
    case ETHTOOL_GRXCLSRULE:
      if (!rules.count(c->fs.location))
        return -ENOENT;
      c->fs = rules[c->fs.location];
      return 0;
    case ETHTOOL_SRXCLSRLINS: {
      const auto *bytes = static_cast<const uint8_t *>(command);
      inserted.assign(bytes, bytes + sizeof(*c));
      if (c->fs.flow_type == refuses)
        return -EINVAL;
      if (chooses != (c->fs.location == RX_CLS_LOC_ANY) || (!chooses && c->fs.location >= kTable))
        return -EINVAL;
      for (uint32_t i = 0; chooses && c->fs.location == RX_CLS_LOC_ANY; i++)
        if (!rules.count(i))
          c->fs.location = i;
      rules[c->fs.location] = c->fs;
      return 0;
    }
    case ETHTOOL_SRXCLSRLDEL:
      return rules.erase(c->fs.location) ? 0 : -ENOENT;
    default:
      return -EOPNOTSUPP;
    }
  }
  Result<FlowRules> steer(uint32_t queue, uint16_t udp_port = 4791) {
    return FlowRules::make({{"eth7", "box"}, "igb", udp_port, queue},
                           [this](void *command) { return run(command); });
  }
};

// The bytes that are not 0.
std::map<size_t, int> bytes_of(const std::vector<uint8_t> &all) {
  std::map<size_t, int> some;
  for (size_t i = 0; i < all.size(); i++)
    if (all[i])
      some[i] = all[i];
  return some;
}

TEST(FlowRules, ComeAndGo) {
  for (const bool chooses : {false, true}) {
    Nic nic{.chooses = chooses};
    {
      auto rules = nic.steer(2);
      ASSERT_TRUE(rules.ok()) << rules.error().message;
      EXPECT_EQ(nic.rules.size(), 2U);
      EXPECT_TRUE(nic.rules.count(chooses ? 0 : kTable - 1));
      EXPECT_TRUE(nic.rules.count(chooses ? 1 : kTable - 2));
      for (const auto &[location, rule] : nic.rules)
        EXPECT_EQ(rule.ring_cookie, 2U);
      EXPECT_TRUE(rules->notes().empty());
      const FlowRules moved = std::move(rules).get();
      EXPECT_EQ(nic.rules.size(), 2U);
    }
    EXPECT_TRUE(nic.rules.empty());
  }
}

// What ethtool 6.1 sends, as a preloaded ioctl() saw it: `ethtool -N IF flow-type udp6 dst-port
// 4791 action 3` of a driver that chooses locations, and `udp4 ... action 0` of one with 4 of them.
// Not compared: `data` and the padding at the end, which ethtool leaves as they were.
TEST(FlowRules, BytesAreThoseOfEthtool) {
  Nic nic{.chooses = true};
  auto rules = nic.steer(3);
  ASSERT_EQ(nic.inserted.size(), 192U);
  EXPECT_EQ(bytes_of(nic.inserted), (std::map<size_t, int>{{0, 0x32},
                                                           {16, 6},
                                                           {54, 0x12},
                                                           {55, 0xb7},
                                                           {126, 0xff},
                                                           {127, 0xff},
                                                           {168, 3},
                                                           {176, 0xff},
                                                           {177, 0xff},
                                                           {178, 0xff},
                                                           {179, 0xff}}));
  Nic numbered{.refuses = UDP_V4_FLOW};
  EXPECT_FALSE(numbered.steer(0).ok());
  EXPECT_EQ(bytes_of(numbered.inserted),
            (std::map<size_t, int>{
                {0, 0x32}, {16, 2}, {30, 0x12}, {31, 0xb7}, {102, 0xff}, {103, 0xff}, {176, 3}}));
}

TEST(FlowRules, OneThatIsThereStays) {
  Nic nic;
  {
    auto left = nic.steer(1);
    Nic copy = nic; // as after kill -9
    auto again = copy.steer(1);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->notes().size(), 2U);
    EXPECT_NE(again->notes()[0].find(
                  "rule 3 of eth7 was there, and stays: UDP port 4791 over IPv4 to queue 1 "
                  "(nsenter --net=/run/netns/box ethtool -N eth7 delete 3 removes it)"),
              std::string::npos)
        << again->notes()[0];
    EXPECT_TRUE(again->remove().ok());
    EXPECT_EQ(copy.rules.size(), 2U);
    const auto other = copy.steer(0);
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().message, "eth7: rule 3 brings UDP port 4791 over IPv4 to queue 1");
    EXPECT_EQ(other.error().hint,
              "nsenter --net=/run/netns/box ethtool -N eth7 delete 3, or --queue 1");
    EXPECT_EQ(copy.rules.size(), 2U);
    EXPECT_TRUE(copy.steer(0, 4792).ok()); // another port's
  }
  EXPECT_TRUE(nic.rules.empty());
}

TEST(FlowRules, WhatIsRefused) {
  Nic none{.refuses_all = EOPNOTSUPP};
  auto rules = none.steer(0);
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.error().message,
            "eth7 (driver igb) cannot bring UDP port 4791 over IPv4 to queue 0 by a rule: "
            "Operation not supported (EOPNOTSUPP)");
  EXPECT_NE(rules.error().hint.find("ethtool -X eth7 equal 1 brings all to queue 0"),
            std::string::npos);
  EXPECT_NE(rules.error().hint.find("ethtool -L eth7 combined 1"), std::string::npos);

  Nic few{.refuses = UDP_V6_FLOW};
  {
    auto ipv4 = few.steer(0);
    ASSERT_TRUE(ipv4.ok());
    ASSERT_EQ(ipv4->notes().size(), 1U);
    EXPECT_NE(ipv4->notes()[0].find("frames over IPv6 are not steered"), std::string::npos);
    EXPECT_EQ(few.rules.size(), 1U);
  }
  EXPECT_TRUE(few.rules.empty());

  Nic full;
  for (uint32_t i = 0; i < kTable; i++)
    full.rules[i].location = i;
  EXPECT_NE(full.steer(0).error().message.find("ENOSPC"), std::string::npos);
}

// One that went by itself is no failure.
TEST(FlowRules, SaysWhatStays) {
  Nic nic;
  auto gone = nic.steer(0);
  nic.rules.erase(3);
  EXPECT_TRUE(gone->remove().ok());
  EXPECT_TRUE(nic.rules.empty());
  auto rules = nic.steer(0);
  nic.refuses_all = EBUSY;
  const Status done = rules->remove();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("rule 3 of eth7 stays: "), std::string::npos);
  EXPECT_EQ(done.error().hint, "nsenter --net=/run/netns/box ethtool -N eth7 delete 3");
}

TEST(ReceiveSettings, OfADriver) {
  const auto none = read_receive_settings([](void *) { return -EOPNOTSUPP; });
  EXPECT_FALSE(none.coalescing || none.rings || none.rss || none.hashes_ports || none.flow_rules);
  const auto all = read_receive_settings([](void *command) {
    switch (*static_cast<uint32_t *>(command)) {
    case ETHTOOL_GCOALESCE: {
      auto *c = static_cast<ethtool_coalesce *>(command);
      c->rx_coalesce_usecs = 8;
      c->rx_max_coalesced_frames = 128;
      c->use_adaptive_rx_coalesce = 1;
      return 0;
    }
    case ETHTOOL_GRINGPARAM: {
      auto *c = static_cast<ethtool_ringparam *>(command);
      c->rx_max_pending = 8192;
      c->rx_pending = 1024;
      c->tx_max_pending = 4096;
      c->tx_pending = 512;
      return 0;
    }
    case ETHTOOL_GRXFHINDIR: {
      auto *c = static_cast<ethtool_rxfh_indir *>(command);
      for (uint32_t i = 0; i < c->size; i++)
        c->ring_index[i] = i % 2;
      c->size = 128;
      return 0;
    }
    case ETHTOOL_GRXFH:
      static_cast<ethtool_rxnfc *>(command)->data = RXH_IP_SRC | RXH_IP_DST;
      return 0;
    case ETHTOOL_GRXCLSRLCNT:
      static_cast<ethtool_rxnfc *>(command)->rule_cnt = 7;
      return 0;
    default:
      return -EOPNOTSUPP;
    }
  });
  EXPECT_TRUE(all.coalescing->adaptive_rx && !all.coalescing->adaptive_tx);
  EXPECT_EQ(all.coalescing->rx_usecs, 8U);
  EXPECT_EQ(all.rings->most_rx, 8192U);
  EXPECT_EQ(all.rings->tx, 512U);
  ASSERT_EQ(all.rss->size(), 128U);
  EXPECT_EQ((*all.rss)[3], 1U);
  EXPECT_FALSE(*all.hashes_ports);
  EXPECT_EQ(all.flow_rules, 7U);
}

} // namespace
} // namespace xr::host::flow_rules_test
