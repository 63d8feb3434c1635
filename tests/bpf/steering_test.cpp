// SPDX-License-Identifier: Apache-2.0
// Frames through AF_XDP sockets: sent from one port and received on the other, of every size, and
// counted by both programs; attaching and detaching the program that redirects them.
#include "datapath/steering.h"

#include <cstdio>
#include <utility>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "afxdp/socket.h"
#include "datapath/bridge.h"
#include "datapath/rules.h"
#include "lane.h"
#include "packet/frame.h"
#include "packet/pause.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::datapath {
namespace {

using Frames = std::vector<std::vector<uint8_t>>;

class SteeringTest : public Lane {
protected:
  std::unique_ptr<afxdp::Socket> socket(const char *ifname, uint32_t longest, bool receive) {
    std::unique_ptr<afxdp::Socket> made;
    inside([&] {
      afxdp::SocketOptions options;
      options.ifname = ifname;
      options.longest = longest;
      options.slots = 256;
      options.receive = receive ? 512 : 0;
      auto open = afxdp::Socket::open(options);
      ASSERT_OK(open);
      made = std::move(*open);
    });
    return made;
  }

  Steering steering(const char *address = "192.0.2.2") {
    auto open = Steering::open({"xr0", netns_}, small(), {{parse::address(address).get(), true}});
    EXPECT_OK(open);
    return std::move(*open);
  }

  // What comes in within a second, or as many as awaited.
  static Frames receive(afxdp::Socket &socket, size_t awaited) {
    Frames all;
    std::vector<afxdp::Received> some(64);
    for (int i = 0; i < 200 && all.size() < awaited; i++) {
      const size_t count = socket.receive(some);
      for (size_t k = 0; k < count; k++)
        all.emplace_back(some[k].data, some[k].data + some[k].length);
      socket.release();
      if (!count)
        socket.wait(5'000'000);
    }
    return all;
  }

  static void send(afxdp::Socket &socket, const std::vector<uint8_t> &frame) {
    uint32_t slot = socket.take();
    for (int i = 0; i < 1000 && slot == afxdp::Socket::kNone; i++) {
      ASSERT_OK(socket.flush());
      slot = socket.take();
    }
    ASSERT_NE(slot, afxdp::Socket::kNone);
    memcpy(socket.slot(slot), frame.data(), frame.size());
    socket.put(slot, static_cast<uint32_t>(frame.size()));
    ASSERT_OK(socket.flush());
  }

  static std::vector<uint8_t> frame(uint32_t payload, const char *to = "192.0.2.2") {
    packet::Path path;
    path.dst_mac = {2, 0, 0, 0, 0, 2};
    path.src = parse::address("192.0.2.1").get();
    path.dst = parse::address(to).get();
    packet::Headers headers;
    headers.dest_qp = 0x11;
    return packet::build(path, headers, packet::counting_payload(payload)).get().bytes;
  }

  static uint64_t sends_counted(const AttachedPort &port) {
    return port.snapshot()->opcodes[ROCE_RC_SEND_ONLY].packets[ROCE_ECN_ECT0];
  }

  uint32_t features() {
    auto port = status_of({"xr0", netns_});
    return port.ok() ? port->features : 0;
  }
};

bool kernel_is_at_least(int major, int minor) {
  utsname name{};
  int has_major = 0, has_minor = 0;
  return uname(&name) == 0 && sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
         std::pair(has_major, has_minor) >= std::pair(major, minor);
}

TEST_F(SteeringTest, FramesOfEverySizeArriveAndAreCounted) {
  for (const int mtu : {1500, 4200, 9000}) {
    SCOPED_TRACE(mtu);
    if (mtu > 3800 && !kernel_is_at_least(6, 6)) // no frames in several buffers
      break;
    for (const char *name : {"xr0", "peer0"})
      ASSERT_EQ(ip(fmt::format("link set {} mtu {}", name, mtu)), 0);
    const auto longest = static_cast<uint32_t>(mtu) + 14;
    Steering steering = this->steering();
    auto in = socket("xr0", longest, true), out = socket("peer0", longest, false);
    ASSERT_TRUE(in && out);
    ASSERT_OK(steering.add(0, in->fd()));
    Frames sent;
    for (uint32_t payload = 0; payload + 58 <= longest; payload += payload < 4000 ? 97 : 1021) {
      sent.push_back(frame(payload));
      send(*out, sent.back());
    }
    sent.push_back(frame(longest - 58 - 3)); // the longest of whole words that there is
    send(*out, sent.back());
    EXPECT_EQ(receive(*in, sent.size()), sent);
    EXPECT_FALSE(in->zero_copy());
    auto port = AttachedPort::open({"xr0", netns_});
    ASSERT_OK(port);
    EXPECT_EQ(sends_counted(*port), sent.size());
    const SocketCounts counts = in->counts();
    EXPECT_EQ(counts.rx_dropped + counts.rx_ring_full + counts.rx_no_chunk, 0u);
    EXPECT_EQ(out->counts().tx_invalid, 0u);
    ASSERT_OK(steering.close());
  }
}

TEST_F(SteeringTest, OtherAddressesAndOtherProtocolsAreTheHosts) {
  Steering steering = this->steering();
  auto in = socket("xr0", 1514, true), out = socket("peer0", 1514, false);
  ASSERT_TRUE(in && out);
  ASSERT_OK(steering.add(0, in->fd()));
  send(*out, frame(64, "192.0.2.3"));
  send_frames(3);
  send(*out, frame(64));
  EXPECT_EQ(receive(*in, 2), Frames{frame(64)});
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(frames_counted(*port, 3), 3u);
  EXPECT_EQ(sends_counted(*port), 2u) << "any program may get them";
}

// The endpoint obeys them. They have no address.
TEST_F(SteeringTest, PauseFramesAreTheEndpoints) {
  Steering steering = this->steering();
  auto in = socket("xr0", 1514, true), out = socket("peer0", 1514, false);
  ASSERT_TRUE(in && out);
  ASSERT_OK(steering.add(0, in->fd()));
  packet::Pause pause;
  pause.enable = 1 << 3;
  pause.quanta[3] = 100;
  packet::Pause global{.global = true};
  global.quanta[0] = 5;
  const Frames sent = {packet::build_pause(pause), packet::build_pause(global), frame(8)};
  send(*out, frame(8, "192.0.2.3"));
  for (const auto &one : sent)
    send(*out, one);
  EXPECT_EQ(receive(*in, sent.size()), sent);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(port->snapshot()->totals.frames[ROCE_CLASS_PFC], 2U);
  ASSERT_OK(steering.close());
}

TEST_F(SteeringTest, APortThatIsNotAttachedIsDetachedAgain) {
  Ids attached;
  {
    Steering steering = this->steering();
    EXPECT_EQ(features(), static_cast<uint32_t>(ROCE_FEATURE_SOCKETS | ROCE_FEATURE_PASSING));
    attached = ids();
  }
  expect_nothing_left(attached);
}

// By another name, and with another port of its previous name beside it.
TEST_F(SteeringTest, ARenamedPortIsStillIts) {
  Ids attached;
  {
    Steering steering = this->steering();
    attached = ids();
    for (const char *to : {"set xr0 down", "set xr0 name moved0", "set moved0 up",
                           "add xr0 type veth peer name xr1"})
      ASSERT_EQ(ip(fmt::format("link {}", to)), 0) << to;
    ASSERT_OK(attach({"xr0", netns_}, small()));
    ASSERT_OK(steering.go_promiscuous());
    ASSERT_OK(steering.close());
  }
  EXPECT_EQ(status_of({"xr0", netns_})->state, AttachState::Attached);
  EXPECT_EQ(status_of({"moved0", netns_})->state, AttachState::NotAttached);
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(attached);
}

// Detached and attached again by another process, it belongs to that one.
TEST_F(SteeringTest, AnotherAttachmentIsLeftAlone) {
  Steering steering = this->steering();
  ASSERT_OK(detach({"xr0", netns_}));
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(steering.close());
  EXPECT_EQ(status_of({"xr0", netns_})->state, AttachState::Attached);
}

TEST_F(SteeringTest, AnAttachedPortKeepsItsCountsAndItsRules) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(add_rule({"xr0", netns_}, impair::parse(parse::split("opcode data drop")).get()));
  const uint32_t before = features();
  send_frames(7);
  {
    Steering steering = this->steering();
    EXPECT_EQ(features(), before | ROCE_FEATURE_SOCKETS);
    auto in = socket("xr0", 1514, true), out = socket("peer0", 1514, false);
    ASSERT_OK(steering.add(0, in->fd()));
    send(*out, frame(64)); // dropped by the rule, before any socket
    EXPECT_TRUE(receive(*in, 1).empty());
    // Rules may go meanwhile; the sockets stay.
    ASSERT_OK(clear_rules({"xr0", netns_}));
    EXPECT_EQ(features(), static_cast<uint32_t>(ROCE_FEATURE_SOCKETS));
    send(*out, frame(64));
    EXPECT_EQ(receive(*in, 1).size(), 1u);
  }
  EXPECT_EQ(features(), 0u);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(frames_counted(*port, 7), 7u);
  EXPECT_EQ(sends_counted(*port), 2u);
}

// The state after a kill: the feature is there, the sockets are not.
TEST_F(SteeringTest, WithoutASocketFramesAreTheHosts) {
  AttachOptions options = small();
  options.features = ROCE_FEATURE_SOCKETS;
  ASSERT_OK(attach({"xr0", netns_}, options));
  send_frames(2);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(frames_counted(*port, 2), 2u);
  Steering steering = this->steering();
  auto in = socket("xr0", 1514, true), out = socket("peer0", 1514, false);
  ASSERT_OK(steering.add(0, in->fd()));
  send(*out, frame(64));
  EXPECT_EQ(receive(*in, 1).size(), 1u);
}

TEST_F(SteeringTest, ABridgesPortIsRefused) {
  ASSERT_EQ(ip("link add other0 type veth peer name other1"), 0);
  ASSERT_EQ(ip("link set other0 up"), 0);
  ASSERT_EQ(ip("link set other1 up"), 0);
  ASSERT_OK(bridge("xr0", "other0", netns_, small(), true));
  EXPECT_REFUSED(Steering::open({"xr0", netns_}, small(), {}), "bridge");
}

TEST_F(SteeringTest, APortHasOneEndpoint) {
  Steering first = steering();
  auto in = socket("xr0", 1514, true), out = socket("peer0", 1514, false);
  ASSERT_OK(first.add(0, in->fd()));
  EXPECT_REFUSED(Steering::open({"xr0", netns_}, small(), {}), "another");
  send(*out, frame(64));
  EXPECT_EQ(receive(*in, 1).size(), 1u) << "the first goes on";
}

// Frames are lost where they are counted one by one, and nowhere else.
TEST_F(SteeringTest, AFrameThatIsLostIsCountedOnce) {
  constexpr uint64_t kRoom = 64, kSent = 300;
  Steering steering = this->steering();
  std::unique_ptr<afxdp::Socket> in;
  inside([&] {
    afxdp::SocketOptions options;
    options.ifname = "xr0";
    options.receive = kRoom;
    auto open = afxdp::Socket::open(options);
    ASSERT_OK(open);
    in = std::move(*open);
  });
  auto out = socket("peer0", 1514, false);
  ASSERT_TRUE(in && out);
  ASSERT_OK(steering.add(0, in->fd()));
  for (uint64_t i = 0; i < kSent; i++)
    send(*out, frame(64));
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  for (int i = 0; i < 200 && sends_counted(*port) < kSent; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(sends_counted(*port), kSent);
  EXPECT_EQ(receive(*in, kSent).size(), kRoom);
  const SocketCounts counts = in->counts();
  EXPECT_EQ(counts.rx_ring_full, kSent - kRoom);
  EXPECT_EQ(counts.rx_no_chunk, 0u);
  EXPECT_EQ(counts.rx_dropped, 0u);
  EXPECT_EQ(counts.fill_ring_empty, 0u);
}

TEST_F(SteeringTest, AQueueHasOneSocket) {
  auto first = socket("xr0", 1514, false);
  inside([&] {
    afxdp::SocketOptions options;
    options.ifname = "xr0";
    EXPECT_REFUSED(afxdp::Socket::open(options), "taken");
    options.queue = 7;
    EXPECT_REFUSED(afxdp::Socket::open(options), "queue 7");
  });
}

// Another one can follow at once: what is still being torn down is waited for.
TEST_F(SteeringTest, SocketsOneAfterTheOther) {
  for (int i = 0; i < 5; i++) {
    auto one = socket("xr0", 1514, true);
    ASSERT_TRUE(one);
    send(*one, frame(64));
  }
}

} // namespace
} // namespace xr::datapath
