// SPDX-License-Identifier: Apache-2.0
// The program of live frames in the kernel: on single frames, and as the kernel recycles them, on a
// veth. Each frame is byte by byte the open-loop requester's.
#include "datapath/live_program.h"

#include <algorithm>
#include <map>

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "lane.h"
#include "parse/words.h"
#include "requester/live_flow.h"
#include "requester/open.h"

namespace xr::datapath {
namespace {

using requester::LiveFlow;
using Bytes = std::vector<uint8_t>;
constexpr double kLine = 10e9;

flow::Flow parsed(const std::string &words) {
  const std::string ends =
      words.find("src ") == std::string::npos ? "src 192.0.2.1 dst 192.0.2.2 " : "";
  auto made = flow::parse_flow(parse::split(ends + "dst-mac 02:00:00:00:00:02 seed 7 " + words));
  EXPECT_TRUE(made.ok()) << words;
  made->path.dst_mac = *made->dst_mac;
  return *made;
}

std::vector<Bytes> frames_of(const flow::Flow &flow, size_t count) {
  requester::OpenSource source({flow}, {}, kLine);
  std::vector<Bytes> all;
  packet::Outgoing out;
  while (all.size() < count && source.next(1'000'000'000, {&out, 1}) == 1) {
    Bytes &frame = all.emplace_back(out.shape->bytes().begin(), out.shape->bytes().end());
    out.shape->stamp(frame.data(), out.fields);
  }
  return all;
}

class LiveFrames : public Lane {
protected:
  Result<LiveProgram> load(const LiveFlow &flow) {
    Result<LiveProgram> program = Error{"not loaded"};
    inside([&] {
      program = LiveProgram::load(flow.plan(), flow.qps(), flow.frame(), if_nametoindex("xr0"));
    });
    return program;
  }

  // A socket at the other end; room for all frames of a test.
  Fd watch() {
    Fd fd;
    inside([&] {
      fd = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
      sockaddr_ll where{};
      where.sll_family = AF_PACKET;
      where.sll_protocol = htons(ETH_P_ALL);
      where.sll_ifindex = static_cast<int>(if_nametoindex("peer0"));
      const int room = 64 << 20;
      setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
      EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr *>(&where), sizeof(where)), 0);
    });
    return fd;
  }

  // VLAN tags are not in the bytes that a packet socket gives: flows without.
  static std::vector<Bytes> arrived(const Fd &fd, size_t count) {
    std::vector<Bytes> all;
    for (pollfd one{fd.get(), POLLIN, 0}; all.size() < count && poll(&one, 1, 1000) > 0;) {
      Bytes frame(4096);
      const ssize_t size = recv(fd.get(), frame.data(), frame.size(), MSG_DONTWAIT);
      if (size <= 0)
        break;
      frame.resize(static_cast<size_t>(size));
      all.push_back(std::move(frame));
    }
    return all;
  }

  bool has_gro() { return shell("ip netns exec " + netns_ + " ethtool -K peer0 gro on") == 0; }
};

const char *const kFlows[] = {
    "qp 0x11 write size 64k psn 0xfffff0",
    "qp 0x11 send size 1k",
    "qp 0x11 send size 1",
    "qp 0x11 qps 7 write size 10001 pmtu 1024 ack-every 3",
    "qp 0x11 qps 7 write size 10001 pmtu 1024 by message",
    "qp 0x11 qps 3 send size 2047 pmtu 1024",
    "qp 0x11 qps 3 write size 1025 pmtu 1024 src 2001:db8::1 dst 2001:db8::2",
    "qp 0x11 qps 3 src-qp 0x500 transport ud send size 777",
    "qp 0x11 qps 3 transport xrc srq 0x77 send-inv size 5001",
    "qp 0x11 read size 64k",
    "qp 0x11 qps 2 cmp-swap size 8",
};

TEST_F(LiveFrames, EachRunMakesTheNextPacket) {
  for (const std::string words : kFlows)
    for (const char *more : {"", " vlan 7", " vlan 7,5/3"}) {
      SCOPED_TRACE(words + more);
      const flow::Flow flow = parsed(words + more);
      const LiveFlow live(flow, kLine);
      auto program = load(live);
      ASSERT_OK(program);
      program->state().limit = 100;
      for (const Bytes &wanted : frames_of(flow, 100)) {
        const auto made = program->try_on(live.frame());
        ASSERT_OK(made);
        ASSERT_EQ(made.get(), wanted) << "packet " << program->state().sent;
      }
      EXPECT_FALSE(program->try_on(live.frame()).ok()) << "beyond the limit";
      EXPECT_EQ(program->state().sent, 100U);
    }
}

TEST_F(LiveFrames, RecycledFramesArriveAsTheyAreMade) {
  if (!has_gro())
    GTEST_SKIP() << "no ethtool, or this veth has no GRO";
  for (const std::string words : kFlows) {
    SCOPED_TRACE(words);
    const flow::Flow flow = parsed(words);
    const LiveFlow live(flow, kLine);
    auto program = load(live);
    if (!program && program.error().message.find("no live frames") != std::string::npos)
      GTEST_SKIP() << program.error().message;
    ASSERT_OK(program);
    const Fd fd = watch();
    constexpr size_t kCount = 5000; // each frame is used many times
    program->state().limit = kCount;
    for (int i = 0; i < 20; i++)
      inside([&] { EXPECT_OK(program->run(300, 64)); });
    EXPECT_EQ(program->state().sent, kCount);
    const auto seen = arrived(fd, kCount), wanted = frames_of(flow, kCount);
    ASSERT_EQ(seen.size(), kCount);
    for (size_t i = 0; i < kCount; i++)
      ASSERT_EQ(seen[i], wanted[i]) << "packet " << i;
  }
}

TEST_F(LiveFrames, TenThousandQpsInTurn) {
  const flow::Flow flow = parsed("qp 0x100 qps 10000 write size 300 pmtu 256");
  const LiveFlow live(flow, kLine);
  auto program = load(live);
  ASSERT_OK(program);
  program->state().limit = UINT64_MAX;
  const auto wanted = frames_of(flow, 25'000);
  for (const Bytes &frame : wanted) {
    const auto made = program->try_on(live.frame());
    ASSERT_OK(made);
    ASSERT_EQ(made.get(), frame) << "packet " << program->state().sent;
  }
}

TEST_F(LiveFrames, PacketsAreMadeWhenTheyAreDue) {
  const LiveFlow live(parsed("qp 0x11 write size 1k rate 1kpps"), kLine);
  auto program = load(live);
  ASSERT_OK(program);
  roce_live_state &state = program->state();
  state.limit = UINT64_MAX;
  state.end = UINT64_MAX;
  state.due = monotonic_ns() + 3'600'000'000'000;
  EXPECT_FALSE(program->try_on(live.frame()).ok());
  state.due = monotonic_ns() - 10'000'000; // ten are due
  for (int i = 0; i < 10; i++)
    EXPECT_OK(program->try_on(live.frame())) << i;
  EXPECT_EQ(state.sent, 10U);
  EXPECT_EQ(state.slipped, 0U);
  uint64_t late = 0;
  for (const uint64_t times : state.late)
    late += times;
  EXPECT_EQ(late, 10U);
  state.end = state.due;
  EXPECT_FALSE(program->try_on(live.frame()).ok()) << "after the end";
}

// Names of the network interfaces here.
std::vector<std::string> ports() {
  std::vector<std::string> names;
  struct if_nameindex *all = if_nameindex();
  for (const struct if_nameindex *port = all; port && port->if_index; port++)
    names.emplace_back(port->if_name);
  if_freenameindex(all);
  return names;
}

TEST_F(LiveFrames, TheirPlaceIsInNobodysWay) {
  const LiveFlow live(parsed("qp 0x11 write size 1k"), kLine);
  std::vector<std::string> before, inside_before, inside_after;
  inside([&] { inside_before = ports(); });
  before = ports();
  uint32_t id = 0;
  {
    auto program = load(live);
    ASSERT_OK(program);
    if (!program->quick())
      GTEST_SKIP() << program->why_slow();
    inside([&] { inside_after = ports(); });
    EXPECT_EQ(ports(), before);
    EXPECT_EQ(inside_after, inside_before);
    bpf_prog_info info = {};
    uint32_t size = sizeof(info);
    ASSERT_EQ(bpf_obj_get_info_by_fd(program->fd(), &info, &size), 0);
    id = info.id;
  }
  // The port holds the program until it is gone.
  bool gone = false;
  for (int i = 0; i < 500 && !gone; i++) {
    const Fd still(bpf_prog_get_fd_by_id(id));
    gone = !still;
    usleep(20'000);
  }
  EXPECT_TRUE(gone);
}

TEST_F(LiveFrames, AFrameThatIsTooLongIsRefused) {
  const LiveFlow live(parsed("qp 0x11 write size 64k pmtu 4096"), kLine);
  EXPECT_REFUSED(load(live), "too long for live frames");
}

} // namespace
} // namespace xr::datapath
