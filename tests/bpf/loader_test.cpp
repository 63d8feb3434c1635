// SPDX-License-Identifier: Apache-2.0
// Attaching, reading and detaching without disturbance, and requests that are rejected.
#include "lane.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "datapath/link_restart.h"
#include "datapath/object.h"

namespace xr::datapath {

namespace {

class Loader : public Lane {
protected:
  bool mentions(const std::vector<std::string> &notes, const char *words) {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string &note) {
      return note.find(words) != std::string::npos;
    });
  }
};

// Runs in a child, because capabilities cannot be had back; its exit status is the answer.
bool in_child(const std::function<bool()> &holds) {
  pid_t child = fork();
  if (child == 0)
    _exit(holds() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool kernel_before(int major, int minor) {
  utsname host{};
  int at[2] = {};
  uname(&host);
  sscanf(host.release, "%d.%d", &at[0], &at[1]); // NOLINT(cert-err34-c): a kernel's own words
  return at[0] < major || (at[0] == major && at[1] < minor);
}

void drop_capabilities(std::initializer_list<int> caps) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, data);
  for (int cap : caps) {
    data[CAP_TO_INDEX(cap)].effective &= ~CAP_TO_MASK(cap);
    data[CAP_TO_INDEX(cap)].permitted &= ~CAP_TO_MASK(cap);
  }
  syscall(SYS_capset, &header, data);
}

} // namespace

TEST_F(Loader, AttachesNativeReadsZeroAndLeavesNothing) {
  AttachOptions options = small();
  options.mode = Mode::Native;
  options.udp_port = 4792;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  const PortStatus &port = report->port;
  EXPECT_EQ(port.state, AttachState::Attached);
  EXPECT_EQ(port.ifname, "xr0");
  EXPECT_EQ(port.netns, netns_);
  EXPECT_EQ(port.mode, Mode::Native);
  EXPECT_EQ(port.abi, static_cast<uint32_t>(ROCE_ABI));
  EXPECT_EQ(port.udp_port, 4792);
  EXPECT_EQ(port.streams_capacity, 1000u);
  EXPECT_EQ(port.streams_used, 0u);
  EXPECT_EQ(port.programs.size(), 1u);
  EXPECT_TRUE(port.track);
  EXPECT_GT(port.map_bytes, 1000u * sizeof(roce_stream));
  EXPECT_LT(static_cast<uint64_t>(time(nullptr)) - port.since_ns / 1'000'000'000, 60u);
  EXPECT_TRUE(port.dispatcher || port.program_id == on_hook());

  auto opened = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(opened);
  auto snapshot = opened->snapshot();
  ASSERT_OK(snapshot);
  EXPECT_EQ(snapshot->name, "xr0");
  EXPECT_EQ(snapshot->stream_capacity, 1000u);
  EXPECT_TRUE(snapshot->streams.empty());
  EXPECT_EQ(frames_counted(*opened, 0), 0u);
  for (const auto &opcode : snapshot->opcodes)
    EXPECT_EQ(opcode.packets[0] + opcode.packets[1] + opcode.packets[2] + opcode.bytes, 0u);
  auto alive = opened->alive();
  ASSERT_OK(alive);
  EXPECT_TRUE(*alive);

  Ids mine = ids();
  ASSERT_FALSE(mine.maps.empty());
  *opened = AttachedPort();
  auto gone = detach({"xr0", netns_});
  ASSERT_OK(gone);
  EXPECT_TRUE(gone->notes.empty());
  expect_nothing_left(mine);
}

TEST_F(Loader, AttachesInSkbMode) {
  AttachOptions options = small();
  options.mode = Mode::Skb;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  EXPECT_EQ(report->port.mode, Mode::Skb);
  send_frames(10);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(frames_counted(*port, 10), 10u);
  Ids mine = ids();
  *port = AttachedPort();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

TEST_F(Loader, AutoIsNativeWhereTheDriverHasIt) {
  auto report = attach({"xr0", netns_}, small());
  ASSERT_OK(report);
  EXPECT_EQ(report->port.mode, Mode::Native);
  EXPECT_FALSE(mentions(report->notes, "skb"));
}

TEST_F(Loader, AutoFallsBackToSkbAndSaysSo) {
  auto report = attach({"lo", netns_}, small()); // the namespace's own, which has no native XDP
  ASSERT_OK(report);
  EXPECT_EQ(report->port.mode, Mode::Skb);
  EXPECT_TRUE(mentions(report->notes, "skb"));
  ASSERT_OK(detach({"lo", netns_}));
  AttachOptions native = small();
  native.mode = Mode::Native;
  EXPECT_REFUSED(attach({"lo", netns_}, native), "no native XDP");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
}

TEST_F(Loader, KeepsCountingWhenTheLinkGoesDownAndUp) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  send_frames(5);
  EXPECT_EQ(frames_counted(*port, 5), 5u);
  ASSERT_EQ(ip("link set xr0 down"), 0);
  link_up();
  send_frames(5);
  EXPECT_EQ(frames_counted(*port, 10), 10u);
}

// A NIC does so when the first program comes; a port without a carrier is not waited for.
TEST_F(Loader, WaitsForALinkThatTheDriverRestarts) {
  auto netns = host::Netns::open(netns_);
  ASSERT_OK(netns);
  const std::vector<unsigned> ports = {static_cast<unsigned>(ifindex())};
  const LinkRestart restart(*netns, ports);
  std::vector<std::string> notes;
  restart.wait(notes);
  EXPECT_TRUE(notes.empty());
  ASSERT_EQ(ip("link set peer0 down"), 0);
  LinkRestart(*netns, ports).wait(notes);
  EXPECT_TRUE(notes.empty());
  std::thread driver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ip("link set peer0 up");
  });
  restart.wait(notes);
  driver.join();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(mentions(notes, "veth restarted xr0: no carrier for ")) << notes[0];
}

TEST_F(Loader, TakesLargeMtus) {
  if (!kernel_has_frags())
    GTEST_SKIP() << "this kernel has no XDP for frames in several buffers";
  ASSERT_EQ(ip("link set xr0 mtu 9000"), 0);
  ASSERT_EQ(ip("link set peer0 mtu 9000"), 0);
  AttachOptions options = small();
  options.mode = Mode::Native;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  EXPECT_TRUE(report->port.frags);
}

TEST_F(Loader, GoesWithoutFragsWhenTheKernelMust) {
  AttachOptions options = small();
  options.frags = false;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  EXPECT_FALSE(report->port.frags);
  send_frames(3);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(frames_counted(*port, 3), 3u);
}

// Exchanges the program like a command, on a kernel without frags.
TEST_F(Loader, OpensObjectsWithoutFragsOneAfterTheOtherAndTwoAtOnce) {
  const roce_config config = make_config(small(), false);
  for (int i = 0; i < 2; i++) {
    auto first = Object::open(config, 4096);
    ASSERT_OK(first);
    {
      auto second = Object::open(config, 4096);
      ASSERT_OK(second);
      ASSERT_OK(second->load());
    }
    ASSERT_OK(first->load());
    auto third = Object::open(make_config(small(), kernel_has_frags()), 4096);
    ASSERT_OK(third);
    ASSERT_OK(third->load());
  }
}

TEST_F(Loader, NoTrackCostsNoMemory) {
  AttachOptions options;
  options.track = false;
  options.streams = 1'000'000;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  EXPECT_FALSE(report->port.track);
  EXPECT_EQ(report->port.streams_capacity, 0u);
  EXPECT_LT(report->port.map_bytes, 256u << 10);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  auto snapshot = port->snapshot();
  ASSERT_OK(snapshot);
  EXPECT_FALSE(snapshot->tracked);
  EXPECT_TRUE(snapshot->streams.empty());
}

TEST_F(Loader, AMillionStreams) {
  AttachOptions options;
  options.streams = 1'000'000;
  auto report = attach({"xr0", netns_}, options);
  ASSERT_OK(report);
  EXPECT_EQ(report->port.streams_capacity, 1'000'000u);
  // Before 6.4 a kernel gives an estimate, which counts a key for each element of an array: 4
  // bytes, rounded up to 8.
  const uint64_t keys = kernel_before(6, 4) ? 8 * 1'000'000u : 0;
  EXPECT_LE(report->port.map_bytes, 392'000'000u + (4u << 20) + keys);
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_OK(port->snapshot());
}

// Alone on the hook, with the reason, whatever it is that keeps libxdp's dispatcher away.
TEST_F(Loader, AloneSaysWhy) {
  for (const auto &[variable, value, reason] :
       {std::tuple("LIBXDP_SKIP_DISPATCHER", "1", "LIBXDP_SKIP_DISPATCHER=1 is set"),
        {"LIBXDP_OBJECT_PATH", "/nonexistent", "cannot find its dispatcher"}}) {
    SCOPED_TRACE(variable);
    setenv(variable, value, 1);
    auto report = attach({"xr0", netns_}, small());
    unsetenv(variable);
    ASSERT_OK(report);
    EXPECT_FALSE(report->port.dispatcher);
    EXPECT_NE(report->port.alone.find(reason), std::string::npos) << report->port.alone;
    EXPECT_FALSE(mentions(report->notes, reason)); // status and doctor say it
    auto status = status_of({"xr0", netns_});
    ASSERT_OK(status);
    EXPECT_EQ(status->alone, report->port.alone);
    auto port = AttachedPort::open({"xr0", netns_});
    ASSERT_OK(port);
    send_frames(3);
    EXPECT_EQ(frames_counted(*port, 3), 3u);
    Ids mine = ids();
    *port = AttachedPort();
    ASSERT_OK(detach({"xr0", netns_}));
    expect_nothing_left(mine);
  }
}

// Either way `dispatcher` and the reason exclude each other.
TEST_F(Loader, BehindTheDispatcherOrWithAReason) {
  auto report = attach({"xr0", netns_}, small());
  ASSERT_OK(report);
  EXPECT_EQ(report->port.dispatcher, report->port.alone.empty());
}

TEST_F(Loader, RefusesASecondAttach) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  uint32_t before = on_hook();
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "already attached since 20");
  EXPECT_EQ(on_hook(), before);
  EXPECT_OK(AttachedPort::open({"xr0", netns_}));
}

TEST_F(Loader, RefusesWhatIsNotThere) {
  EXPECT_REFUSED(attach({"nosuch0", netns_}, small()), "no such interface");
  EXPECT_REFUSED(detach({"nosuch0", netns_}), "no such interface");
  EXPECT_REFUSED(attach({"a-name-far-too-long-for-one", netns_}, small()), "no such interface");
  EXPECT_REFUSED(attach({"xr0", "no-such-netns"}, small()), "no such network namespace");
  EXPECT_REFUSED(attach({"xr0", "../netns/" + netns_}, small()), "no such network namespace");
  EXPECT_REFUSED(detach({"xr0", netns_}), "not attached");
  EXPECT_REFUSED(AttachedPort::open({"xr0", netns_}), "not attached");
  auto status = status_of({"xr0", netns_});
  ASSERT_OK(status);
  EXPECT_EQ(status->state, AttachState::NotAttached);
  AttachOptions many;
  many.streams = 1u << 24;
  EXPECT_REFUSED(attach({"xr0", netns_}, many), "16777214");
}

TEST_F(Loader, RefusesABusyHook) {
  for (uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    Fd stranger = strange_program();
    inside([&] {
      ASSERT_EQ(
          bpf_xdp_attach(static_cast<int>(if_nametoindex("xr0")), stranger.get(), mode, nullptr),
          0);
    });
    auto refused = attach({"xr0", netns_}, small());
    EXPECT_REFUSED(refused, "stranger");
    EXPECT_FALSE(refused.error().hint.empty());
    EXPECT_EQ(on_hook(), program_id(stranger.get()));
    EXPECT_REFUSED(detach({"xr0", netns_}), "not attached");
    EXPECT_EQ(on_hook(), program_id(stranger.get()));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
    inside([&] { bpf_xdp_detach(static_cast<int>(if_nametoindex("xr0")), mode, nullptr); });
  }
}

TEST_F(Loader, NamesTheMissingPrivilege) {
  EXPECT_TRUE(in_child([&] {
    drop_capabilities({CAP_NET_ADMIN});
    return attach({"xr0", netns_}, small()).error().message ==
           "no privilege: CAP_NET_ADMIN missing";
  }));
  EXPECT_TRUE(in_child([&] {
    drop_capabilities({CAP_BPF, CAP_SYS_ADMIN});
    return AttachedPort::open({"xr0", netns_}).error().message == "no privilege: CAP_BPF missing";
  }));
}

TEST_F(Loader, SaysWhatToDoWithoutBpffs) {
  setenv("LIBXDP_BPFFS", "/nonexistent", 1);
  auto refused = attach({"xr0", netns_}, small());
  setenv("LIBXDP_BPFFS", directory_.c_str(), 1);
  EXPECT_REFUSED(refused, "not a mounted bpffs");
  EXPECT_NE(refused.error().hint.find("mount -t bpf"), std::string::npos);
  EXPECT_EQ(on_hook(), 0u);
}

TEST_F(Loader, ListsAndDetachesAll) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  ASSERT_OK(attach({"peer0", netns_}, small()));
  auto all = status(netns_);
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].state, AttachState::Attached);
  EXPECT_EQ((*all)[1].state, AttachState::Attached);
  EXPECT_NE((*all)[0].ifname, (*all)[1].ifname);
  Ids mine = ids();
  auto gone = detach_all(netns_);
  ASSERT_OK(gone);
  EXPECT_EQ(gone->size(), 2u);
  expect_nothing_left(mine);
}

TEST_F(Loader, EventsHaveOneReader) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  auto port = AttachedPort::open({"xr0", netns_}), other = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  ASSERT_OK(other);
  {
    auto events = port->events([](const roce_event &) {});
    ASSERT_OK(events);
    auto got = events->poll(10);
    ASSERT_OK(got);
    EXPECT_EQ(*got, 0);
    EXPECT_REFUSED(other->events([](const roce_event &) {}), "another process");
  }
  EXPECT_OK(other->events([](const roce_event &) {}));
}

TEST(Kernel, TellsWhatIsTooOld) {
  EXPECT_TRUE(host::kernel_too_old("4.19.0-26-amd64"));
  EXPECT_TRUE(host::kernel_too_old("5.14.21"));
  EXPECT_FALSE(host::kernel_too_old("5.15.0"));
  EXPECT_FALSE(host::kernel_too_old("6.1.0-18-amd64"));
  EXPECT_FALSE(host::kernel_too_old("10.0"));
}

} // namespace xr::datapath
