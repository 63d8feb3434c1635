// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of bridges: in addition to xr0 and peer0 a second pair, xr1 and peer1, all
// with MTU 9000; and packet sockets on the outer ends, which send and receive frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <poll.h>

#include <fmt/format.h>

#include "bpf/lane.h"
#include "datapath/bridge.h"
#include "datapath/rules.h"
#include "unit/frames.h"

namespace xr::datapath {

using test::Bytes;

// One end of a wire.
class Tap {
public:
  explicit Tap(const char *ifname) : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    int on = 1;
    setsockopt(fd_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on));
    setsockopt(fd_.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
    int room = 64 << 20;
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    to_.sll_family = AF_PACKET;
    to_.sll_ifindex = static_cast<int>(if_nametoindex(ifname));
    to_.sll_protocol = htons(ETH_P_ALL);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr *>(&to_), sizeof(to_)), 0);
  }

  void send(const Bytes &frame) {
    EXPECT_EQ(sendto(fd_.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr *>(&to_),
                     sizeof(to_)),
              static_cast<ssize_t>(frame.size()))
        << strerror(errno);
  }

  // The next frame that comes, or none within that long.
  std::optional<Bytes> next(int timeout_ms = 1000) {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) <= 0)
      return {};
    Bytes frame(65536);
    char control[256];
    iovec io{frame.data(), frame.size()};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(fd_.get(), &message, 0);
    if (got < 0)
      return {};
    frame.resize(static_cast<size_t>(got));
    restore_tag(message, frame);
    return frame;
  }

  // All that comes until it is quiet.
  std::vector<Bytes> all(size_t awaited) {
    std::vector<Bytes> frames;
    while (auto frame = next(frames.size() < awaited ? 1000 : 50))
      frames.push_back(std::move(*frame));
    return frames;
  }

private:
  // The kernel takes the outer tag out of the bytes.
  static void restore_tag(msghdr &message, Bytes &frame) {
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
        continue;
      tpacket_auxdata aux{};
      memcpy(&aux, CMSG_DATA(c), sizeof(aux));
      if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
        continue;
      const uint16_t tpid = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : 0x8100;
      const uint8_t tag[4] = {static_cast<uint8_t>(tpid >> 8), static_cast<uint8_t>(tpid),
                              static_cast<uint8_t>(aux.tp_vlan_tci >> 8),
                              static_cast<uint8_t>(aux.tp_vlan_tci)};
      frame.insert(frame.begin() + 12, tag, tag + 4);
    }
  }

  Fd fd_;
  sockaddr_ll to_{};
};

class BridgeLane : public Lane {
protected:
  void SetUp() override {
    Lane::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    ASSERT_EQ(ip("link add xr1 type veth peer name peer1"), 0);
    for (const char *name : {"xr0", "peer0", "xr1", "peer1"}) {
      ASSERT_EQ(ip(fmt::format("link set {} mtu 9000", name)), 0);
      ASSERT_EQ(ip(fmt::format("link set {} up", name)), 0);
    }
    wait_for_carrier();
    inside([&] {
      left_.emplace("peer0");
      right_.emplace("peer1");
    });
  }

  void wait_for_carrier() {
    auto all_run = [&] {
      return running("xr0") && running("peer0") && running("xr1") && running("peer1");
    };
    for (int i = 0; i < 500 && !all_run(); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(ip("link set peer1 up"), 0); // see link_up
  }

  // With all repairable troubles repaired. Kernels before 6.3 forward no frames in several buffers.
  void build() {
    auto report = bridge("xr0", "xr1", netns_, small(), true);
    ASSERT_OK(report);
    for (const Trouble &trouble : report->troubles)
      EXPECT_TRUE(trouble.fixed || trouble.text.find("several buffers") != std::string::npos)
          << trouble.ifname << ": " << trouble.text;
  }

  void add(const std::string &words, const char *ifname = "xr0") {
    auto rule = impair::parse({words});
    ASSERT_OK(rule);
    auto list = add_rule({ifname, netns_}, *rule);
    ASSERT_OK(list);
  }
  void add_peer_of(const std::string &words, const char *ifname = "xr0") {
    auto peer = impair::parse_peer({words});
    ASSERT_OK(peer);
    EXPECT_OK(add_peer({ifname, netns_}, *peer));
  }

  Snapshot snapshot(const char *ifname = "xr0") {
    auto port = AttachedPort::open({ifname, netns_});
    EXPECT_OK(port);
    if (!port.ok())
      return {};
    auto snapshot = port->snapshot();
    EXPECT_OK(snapshot);
    return snapshot.ok() ? *snapshot : Snapshot();
  }

  bool promiscuous(const char *name) {
    ifreq request{};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    inside([&] {
      Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      ioctl(fd.get(), SIOCGIFFLAGS, &request);
    });
    return request.ifr_flags & IFF_PROMISC;
  }

  uint32_t hook_of(const char *name) {
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    inside([&] { bpf_xdp_query(static_cast<int>(if_nametoindex(name)), 0, &query); });
    return query.prog_id;
  }
  Ids ids_of(const char *name) {
    Fd fd(bpf_prog_get_fd_by_id(hook_of(name)));
    return {{program_id(fd.get())}, program_map_ids(fd.get())};
  }

  std::optional<Tap> left_, right_; // after xr0 and after xr1
};

} // namespace xr::datapath
