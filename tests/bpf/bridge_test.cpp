// SPDX-License-Identifier: Apache-2.0
// A bridge of two ports: frames are forwarded unchanged, except by rules.
#include "bpf/bridge_lane.h"

#include <algorithm>

#include <fmt/format.h>

#include "bpf/wire_checks.h"
#include "datapath/object.h"
#include "host/netdev_family.h"
#include "roce/config.h"

namespace xr::datapath {

namespace {

using Bridge = BridgeLane;
using B = test::FrameBuilder;
using Frames = std::vector<Bytes>;

Bytes any_frame(size_t length, uint16_t ethertype, uint8_t fill) {
  Bytes frame(length, fill);
  const uint8_t head[14] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
  std::copy(head, head + 12, frame.begin());
  test::store16(frame.data() + 12, ethertype);
  return frame;
}

Bytes whole(const B &frame) { return test::finished(frame.build(), false); }
Bytes send(uint32_t psn, uint32_t qp = 0x11) {
  return whole(B(ROCE_RC_SEND_ONLY).qp(qp).psn(psn).payload(256));
}

// Kernels before 6.3 do not, and do not report what drivers can.
bool forwards_several_buffers() { return host::read_xdp_features(if_nametoindex("lo")).ok(); }

} // namespace

TEST_F(Bridge, CarriesAnyFrameBothWays) {
  ASSERT_NO_FATAL_FAILURE(build());
  uint8_t fill = 1;
  for (size_t length : {60u, 61u, 590u, 1514u, 1515u, 3500u, 3600u, 4200u, 9014u}) {
    if (length > 3500 && !forwards_several_buffers())
      break;
    for (uint16_t ethertype : {0x0800, 0x0806, 0x86dd, 0x88cc, 0x8915, 0x8847, 0x1234}) {
      SCOPED_TRACE(fmt::format("{} bytes of {:#x}", length, ethertype));
      const Bytes there = any_frame(length, ethertype, fill++);
      const Bytes back = any_frame(length, ethertype, fill++);
      left_->send(there);
      auto at_right = right_->next();
      ASSERT_TRUE(at_right);
      EXPECT_EQ(there, *at_right);
      right_->send(back);
      auto at_left = left_->next();
      ASSERT_TRUE(at_left);
      EXPECT_EQ(back, *at_left);
    }
  }
  EXPECT_FALSE(left_->next(50)); // and nothing more
  EXPECT_FALSE(right_->next(0));
  EXPECT_EQ(snapshot("xr0").totals.not_forwarded, 0u);
  EXPECT_EQ(snapshot("xr1").totals.not_forwarded, 0u);
}

TEST_F(Bridge, CarriesTagsAndRoce) {
  ASSERT_NO_FATAL_FAILURE(build());
  for (const B &builder :
       {B(ROCE_RC_SEND_ONLY).payload(64), B(ROCE_RC_SEND_ONLY).ipv6().payload(4096),
        B(ROCE_RC_SEND_ONLY).vlan(0x8100).payload(1024),
        B(ROCE_RC_SEND_ONLY).vlan(0x88a8).vlan(0x8100).payload(4096), B(4).v1().payload(512)}) {
    const Bytes frame = whole(builder);
    if (frame.size() > 3500 && !forwards_several_buffers())
      continue;
    left_->send(frame);
    auto seen = right_->next();
    ASSERT_TRUE(seen);
    EXPECT_EQ(frame, *seen);
  }
}

TEST_F(Bridge, SaysWhoIsBridgedWithWhom) {
  auto report = bridge("xr0", "xr1", netns_, small(), true);
  ASSERT_OK(report);
  ASSERT_EQ(report->ports.size(), 2u);
  EXPECT_EQ(report->ports[0].ifname, "xr0");
  EXPECT_EQ(report->ports[0].peer, "xr1");
  EXPECT_EQ(report->ports[1].peer, "xr0");
  for (const PortStatus &port : report->ports) {
    EXPECT_EQ(port.state, AttachState::Attached);
    EXPECT_TRUE(port.features & ROCE_FEATURE_FORWARD);
    EXPECT_EQ(port.streams_capacity, 1000u);
  }
  auto status = status_of({"xr1", netns_});
  ASSERT_OK(status);
  EXPECT_EQ(status->peer, "xr0");
  EXPECT_EQ(status->peer_ifindex, static_cast<unsigned>(ifindex("xr0")));
}

TEST_F(Bridge, DetachedTogetherAndNothingIsLeft) {
  ASSERT_EQ(ip("link set xr1 promisc on"), 0); // somebody else's wish
  ASSERT_NO_FATAL_FAILURE(build());
  EXPECT_TRUE(promiscuous("xr0"));
  add("duplicate");
  const Ids a = ids_of("xr0"), b = ids_of("xr1");
  ASSERT_FALSE(a.maps.empty());
  auto gone = detach({"xr1", netns_});
  ASSERT_OK(gone);
  EXPECT_EQ(gone->other, "xr0");
  EXPECT_EQ(hook_of("xr1"), 0u);
  EXPECT_FALSE(alive(b));
  expect_nothing_left(a);
  EXPECT_FALSE(promiscuous("xr0"));
  EXPECT_TRUE(promiscuous("xr1"));
  // It is a wire no more, and can be one again.
  left_->send(any_frame(60, 0x1234, 1));
  EXPECT_FALSE(right_->next(50));
  ASSERT_NO_FATAL_FAILURE(build());
}

TEST_F(Bridge, DetachAllTakesBoth) {
  ASSERT_NO_FATAL_FAILURE(build());
  const Ids a = ids_of("xr0"), b = ids_of("xr1");
  auto gone = detach_all(netns_);
  ASSERT_OK(gone);
  EXPECT_EQ(gone->size(), 2u);
  expect_nothing_left(a);
  EXPECT_FALSE(alive(b));
}

TEST_F(Bridge, OnePortDeleted) {
  ASSERT_NO_FATAL_FAILURE(build());
  const Ids a = ids_of("xr0"), b = ids_of("xr1");
  ASSERT_EQ(ip("link del xr1"), 0);
  auto port = status_of({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(port->state, AttachState::Attached);
  EXPECT_NE(port->peer_ifindex, 0u);
  EXPECT_EQ(port->peer, "");
  for (int i = 0; i < 5; i++)
    left_->send(send(static_cast<uint32_t>(i)));
  Snapshot s;
  const auto lost = [&](uint64_t awaited) {
    for (int i = 0; i < 100 && s.totals.not_forwarded < awaited; i++) {
      s = snapshot("xr0");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return s.totals.not_forwarded;
  };
  EXPECT_EQ(lost(5), 5u);
  uint64_t counted = 0;
  for (uint64_t packets : s.opcodes[ROCE_RC_SEND_ONLY].packets)
    counted += packets;
  EXPECT_EQ(counted, 5u);
  // What is left can be changed. A copy that goes nowhere is counted too, and a CNP goes back.
  add("opcode data duplicate");
  left_->send(send(5));
  EXPECT_EQ(lost(6), 6u);
  EXPECT_EQ(s.totals.duplicated, 0u);
  ASSERT_OK(clear_rules({"xr0", netns_}));
  add("opcode data cnp interval 1h");
  add_peer_of("192.0.2.1 0x11 -> 0x22");
  left_->send(send(6));
  const std::vector<Bytes> cnps = left_->all(1);
  ASSERT_EQ(cnps.size(), 1u);
  test::expect_cnp(send(6), cnps[0], 0x22);
  EXPECT_EQ(lost(7), 7u);
  EXPECT_EQ(s.totals.cnps_sent, 1u);
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(a);
  EXPECT_FALSE(alive(b));
}

TEST_F(Bridge, LinkDownAndUp) {
  ASSERT_NO_FATAL_FAILURE(build());
  ASSERT_EQ(ip("link set xr1 down"), 0);
  left_->send(send(0));
  ASSERT_EQ(ip("link set xr1 up"), 0);
  wait_for_carrier();
  EXPECT_FALSE(right_->next(50));
  left_->send(send(1));
  auto seen = right_->next();
  ASSERT_TRUE(seen);
  EXPECT_EQ(*seen, send(1));
}

TEST_F(Bridge, RefusedWhereSomethingIs) {
  ASSERT_EQ(ip("link add xr2 type veth peer name peer2"), 0);
  ASSERT_NO_FATAL_FAILURE(build());
  const uint32_t before = hook_of("xr0");
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "already attached");
  EXPECT_REFUSED(bridge("xr1", "xr0", netns_, small(), false), "already attached");
  EXPECT_REFUSED(bridge("xr0", "xr2", netns_, small(), true), "already attached");
  EXPECT_REFUSED(bridge("xr2", "xr1", netns_, small(), true), "already attached");
  EXPECT_REFUSED(bridge("xr2", "xr2", netns_, small(), true), "two ports");
  EXPECT_REFUSED(bridge("xr2", "nosuch0", netns_, small(), true), "no such interface");
  EXPECT_EQ(hook_of("xr0"), before);
  EXPECT_EQ(hook_of("xr2"), 0u);
  EXPECT_FALSE(promiscuous("xr2"));
  auto all = status(netns_);
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 2u);
}

TEST_F(Bridge, SecondPortBusyLeavesTheFirstAsItWas) {
  for (const char *name : {"xr1", "peer1"}) // the stranger knows no frags
    ASSERT_EQ(ip(fmt::format("link set {} mtu 1500", name)), 0);
  Fd stranger = strange_program();
  inside([&] {
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(if_nametoindex("xr1")), stranger.get(),
                             XDP_FLAGS_DRV_MODE, nullptr),
              0);
  });
  EXPECT_REFUSED(bridge("xr0", "xr1", netns_, small(), true), "stranger");
  EXPECT_EQ(hook_of("xr0"), 0u);
  EXPECT_EQ(hook_of("xr1"), program_id(stranger.get()));
  EXPECT_FALSE(promiscuous("xr0"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
}

// The second hook refuses, when the first is already taken: MTU 9000 needs frags.
TEST_F(Bridge, SecondHookRefusedLeavesTheFirstAsItWas) {
  for (const char *name : {"xr0", "peer0"})
    ASSERT_EQ(ip(fmt::format("link set {} mtu 1500", name)), 0);
  AttachOptions options = small();
  options.frags = false;
  options.mode = Mode::Native;
  auto refused = bridge("xr0", "xr1", netns_, options, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("xr1"), std::string::npos) << refused.error().message;
  for (const char *name : {"xr0", "xr1"}) {
    EXPECT_EQ(hook_of(name), 0u);
    EXPECT_FALSE(promiscuous(name));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
}

// One stream enters both ports, as when a loop or a mirror is there: it counts as two streams.
TEST_F(Bridge, StreamsOfTheTwoPortsDoNotMix) {
  ASSERT_NO_FATAL_FAILURE(build());
  for (uint32_t psn = 0; psn < 3; psn++)
    left_->send(send(psn));
  right_->send(send(100));
  right_->send(send(102));
  EXPECT_EQ(right_->all(3).size(), 3u);
  EXPECT_EQ(left_->all(2).size(), 2u);
  const Snapshot a = snapshot("xr0"), b = snapshot("xr1");
  ASSERT_EQ(a.streams.size(), 1u);
  ASSERT_EQ(b.streams.size(), 1u);
  EXPECT_EQ(roce_stream_packets(a.streams.data()), 3u);
  EXPECT_EQ(roce_stream_counter(a.streams.data(), ROCE_GAPS), 0u);
  EXPECT_EQ(roce_stream_packets(b.streams.data()), 2u);
  EXPECT_EQ(roce_stream_counter(b.streams.data(), ROCE_GAPS), 1u);
}

TEST_F(Bridge, RulesHoldForTheirOwnPort) {
  ASSERT_NO_FATAL_FAILURE(build());
  add("every 2 drop", "xr0");
  add("ce", "xr1");
  for (uint32_t psn = 0; psn < 4; psn++)
    left_->send(send(psn));
  right_->send(send(9));
  EXPECT_EQ(right_->all(2), (Frames{send(0), send(2)}));
  const std::vector<Bytes> at_left = left_->all(1);
  ASSERT_EQ(at_left.size(), 1u);
  EXPECT_EQ(test::parsed(at_left[0]).packet.ecn, 3);
  EXPECT_EQ(test::wrong_in(at_left[0]), "");
  EXPECT_EQ(snapshot("xr0").totals.dropped_programmed, 2u);
  EXPECT_EQ(snapshot("xr1").totals.marked, 1u);
  EXPECT_EQ(snapshot("xr1").totals.dropped_programmed, 0u);
}

TEST_F(Bridge, DuplicatesArriveTwice) {
  ASSERT_NO_FATAL_FAILURE(build());
  add("dest-qp 0x11 duplicate");
  left_->send(send(1));
  left_->send(send(2, 0x12));
  EXPECT_EQ(right_->all(3), (Frames{send(1), send(1), send(2, 0x12)}));
  EXPECT_FALSE(left_->next(0));
  EXPECT_EQ(snapshot().totals.duplicated, 1u);
}

// What the kernel cannot copy goes on once, and is counted.
TEST_F(Bridge, LargeFramesAreNotDuplicated) {
  if (!forwards_several_buffers())
    GTEST_SKIP() << "this kernel forwards no frames in several buffers";
  ASSERT_NO_FATAL_FAILURE(build());
  add("duplicate");
  const Bytes large = whole(B(ROCE_RC_SEND_MIDDLE).payload(8192));
  left_->send(large);
  EXPECT_EQ(right_->all(1), Frames{large});
  EXPECT_EQ(snapshot().totals.not_cloned, 1u);
}

TEST_F(Bridge, CnpsGoBackWhileThePacketGoesOn) {
  ASSERT_NO_FATAL_FAILURE(build());
  add("opcode data cnp interval 1h");
  add_peer_of("192.0.2.1 0x11 -> 0x22");
  add_peer_of("2001:db8::1 0x11 -> 0x33");
  left_->send(send(0));
  const Bytes six = whole(B(ROCE_RC_SEND_ONLY).ipv6().vlan(0x8100).payload(64));
  left_->send(six);
  left_->send(send(1)); // too soon
  left_->send(send(1, 0x12));
  EXPECT_EQ(right_->all(4), (Frames{send(0), six, send(1), send(1, 0x12)}));
  const std::vector<Bytes> cnps = left_->all(2);
  ASSERT_EQ(cnps.size(), 2u);
  test::expect_cnp(send(0), cnps[0], 0x22);
  test::expect_cnp(six, cnps[1], 0x33);
  const roce_totals t = snapshot().totals;
  EXPECT_EQ(t.cnps_sent, 2u);
  EXPECT_EQ(t.cnps_paced, 1u);
  EXPECT_EQ(t.cnps_unknown_peer, 1u);
  EXPECT_EQ(t.not_cloned, 0u);
}

TEST_F(Bridge, CnpsFromTheSecondPort) {
  ASSERT_NO_FATAL_FAILURE(build());
  add("ce cnp interval 1h", "xr1");
  add_peer_of("192.0.2.1 0x11 -> 0x22", "xr1");
  right_->send(send(0));
  const std::vector<Bytes> marked = left_->all(1), cnps = right_->all(1);
  ASSERT_EQ(marked.size(), 1u);
  EXPECT_EQ(test::parsed(marked[0]).packet.ecn, 3);
  EXPECT_EQ(test::wrong_in(marked[0]), "");
  ASSERT_EQ(cnps.size(), 1u);
  test::expect_cnp(send(0), cnps[0], 0x22);
  EXPECT_EQ(snapshot("xr1").totals.cnps_sent, 1u);
}

// veth's XDP_TX wakes the other end only if that has an XDP program too: without one the CNP
// waits until another frame comes.
TEST_F(Bridge, CnpInsteadOfThePacket) {
  for (const char *name : {"xr0", "peer0"})
    ASSERT_EQ(ip(fmt::format("link set {} mtu 1500", name)), 0);
  Fd passes = strange_program();
  inside([&] {
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(if_nametoindex("peer0")), passes.get(),
                             XDP_FLAGS_DRV_MODE, nullptr),
              0);
  });
  ASSERT_OK(bridge("xr0", "xr1", netns_, small(), true));
  add("cnp interval 1h drop");
  add_peer_of("192.0.2.1 0x11 -> 0x22");
  left_->send(send(0));
  const std::vector<Bytes> cnps = left_->all(1);
  ASSERT_EQ(cnps.size(), 1u);
  test::expect_cnp(send(0), cnps[0], 0x22);
  EXPECT_FALSE(right_->next(50));
}

// Requests on one port, their acknowledgements on the other.
TEST_F(Bridge, LearnsTheSendersQpAcross) {
  ASSERT_NO_FATAL_FAILURE(build());
  for (uint32_t psn = 0; psn < 4; psn++) {
    left_->send(send(psn));
    ASSERT_TRUE(right_->next());
    right_->send(whole(B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x44).psn(psn)));
    ASSERT_TRUE(left_->next());
  }
  add("opcode data cnp interval 1h");
  left_->send(send(4));
  EXPECT_EQ(right_->all(1), Frames{send(4)});
  const std::vector<Bytes> cnps = left_->all(1);
  ASSERT_EQ(cnps.size(), 1u);
  test::expect_cnp(send(4), cnps[0], 0x44);
}

// Adding and clearing rules under traffic loses nothing, and the counters continue.
TEST_F(Bridge, ExchangesUnderTraffic) {
  ASSERT_NO_FATAL_FAILURE(build());
  std::atomic<bool> done = false;
  uint32_t sent = 0;
  size_t came = 0;
  std::thread traffic([&] {
    while (!done) {
      left_->send(send(sent & 0xffffff));
      sent++;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      while (right_->next(0)) // its socket has room for some seconds only
        came++;
    }
  });
  for (int i = 0; i < 3; i++) {
    for (const char *words : {"dest-qp 0x99 drop", "dest-qp 0x98 ce", "dest-qp 0x97 duplicate"})
      add(words);
    EXPECT_OK(clear_rules({"xr0", netns_}));
  }
  done = true;
  traffic.join();
  while (right_->next(came < sent ? 300 : 0))
    came++;
  EXPECT_EQ(came, sent);
  const Snapshot s = snapshot();
  ASSERT_EQ(s.streams.size(), 1u);
  EXPECT_EQ(roce_stream_packets(s.streams.data()), sent);
  EXPECT_EQ(roce_stream_counter(s.streams.data(), ROCE_GAPS), 0u);
  EXPECT_EQ(s.opcodes[ROCE_RC_SEND_ONLY].packets[2], sent);
}

} // namespace xr::datapath
