// SPDX-License-Identifier: Apache-2.0
// Disturbances between attach and detach: deleted interfaces, changes by other tools, kill -9.
#include "lane.h"

#include <array>
#include <cstring>
#include <random>

#include <signal.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "datapath/object.h"
#include "datapath/pins.h"
#include "datapath/place.h"

namespace xr::datapath {

namespace {

class Stale : public Lane {
protected:
  AttachState state() {
    auto port = status_of({"xr0", netns_});
    return port.ok() ? port->state : AttachState::NotAttached;
  }

  // Adds the programs that this bpffs or the hook keeps now, and their maps. The rest of the
  // machine is others'.
  void add_kept(Ids &to) {
    std::error_code ignored;
    add(to, Fd(on_hook() ? bpf_prog_get_fd_by_id(on_hook()) : -1));
    for (const auto &entry : std::filesystem::recursive_directory_iterator(directory_, ignored)) {
      const std::string name = entry.path().filename();
      if (name == Pins::kProgram || name.ends_with("-prog"))
        add(to, Fd(bpf_obj_get(entry.path().c_str())));
    }
  }
  static void add(Ids &to, const Fd &program) {
    if (!program || program_name(program.get()) != kProgramName) // other tests leave a stranger's
      return;
    to.programs.push_back(program_id(program.get()));
    for (const uint32_t id : program_map_ids(program.get()))
      to.maps.push_back(id);
  }

  pid_t attach_in_child() {
    pid_t child = fork();
    if (child == 0)
      _exit(attach({"xr0", netns_}, small()).ok() ? 0 : 1);
    return child;
  }
};

} // namespace

TEST_F(Stale, InterfaceDeleted) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  ASSERT_EQ(ip("link del xr0"), 0);
  EXPECT_EQ(state(), AttachState::InterfaceGone);
  auto all = status(netns_);
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().ifname, "xr0");
  EXPECT_REFUSED(AttachedPort::open({"xr0", netns_}), "gone");
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "no such interface");
  auto gone = detach({"xr0", netns_});
  ASSERT_OK(gone);
  EXPECT_EQ(gone->notes.size(), 1u);
  expect_nothing_left(mine);
  EXPECT_REFUSED(detach({"xr0", netns_}), "no such interface");
}

// When the namespace of its veth's other end is removed, the kernel deletes it some time later.
TEST_F(Stale, InterfaceDeletedWhileDetached) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  auto place = find_place({"xr0", netns_}, find_bpffs());
  ASSERT_OK(place);
  ASSERT_EQ(ip("link del xr0"), 0);
  auto gone = detach_held(*place);
  ASSERT_OK(gone);
  EXPECT_EQ(gone->notes, std::vector<std::string>{"the interface has been deleted"});
  expect_nothing_left(mine);
}

TEST_F(Stale, InterfaceDeletedInTheMidstOfDetach) {
  for (int i = 0; i < 20; i++) {
    SCOPED_TRACE(i);
    ASSERT_OK(attach({"xr0", netns_}, small()));
    Ids mine = ids();
    FILE *ip = popen(fmt::format("ip -n {} -batch -", netns_).c_str(), "w");
    ASSERT_NE(ip, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // until it waits for a line
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
      fputs("link del xr0\n", ip);
      EXPECT_EQ(pclose(ip), 0);
    });
    const auto detached = detach({"xr0", netns_});
    other.join();
    ASSERT_OK(detached);
    expect_nothing_left(mine);
    wire();
  }
}

TEST_F(Stale, InterfaceDeletedWhileRead) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  send_frames(7);
  ASSERT_EQ(frames_counted(*port, 7), 7u);
  ASSERT_EQ(ip("link del xr0"), 0);
  auto alive = port->alive();
  ASSERT_OK(alive);
  EXPECT_FALSE(*alive);
  EXPECT_EQ(frames_counted(*port, 7), 7u); // the last counts can still be had
}

TEST_F(Stale, InterfaceMadeAnew) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids old = ids();
  ASSERT_EQ(ip("link del xr0"), 0);
  wire();
  EXPECT_EQ(state(), AttachState::NotAttached);
  auto report = attach({"xr0", netns_}, small());
  ASSERT_OK(report);
  EXPECT_FALSE(report->notes.empty());
  for (int i = 0; i < 100 && alive(old); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive(old));
  Ids mine = ids();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

TEST_F(Stale, IfindexReusedByAnotherInterface) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids old = ids();
  int index = ifindex();
  ASSERT_EQ(ip("link del xr0"), 0);
  ASSERT_EQ(ip(fmt::format("link add other0 index {} type veth peer name other1", index)), 0);
  auto port = status_of({"other0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(port->state, AttachState::OffHook);
  EXPECT_REFUSED(AttachedPort::open({"other0", netns_}), "stale");
  ASSERT_OK(attach({"other0", netns_}, small()));
  EXPECT_OK(AttachedPort::open({"other0", netns_}));
  ASSERT_OK(detach({"other0", netns_}));
  expect_nothing_left(old);
}

TEST_F(Stale, NamespaceDeleted) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  ASSERT_EQ(shell("ip netns del " + netns_), 0);
  auto gone = detach({"xr0", netns_});
  ASSERT_OK(gone);
  EXPECT_FALSE(alive(mine));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
}

TEST_F(Stale, ProgramTakenOffBySomebody) {
  for (bool again : {false, true}) {
    ASSERT_OK(attach({"xr0", netns_}, small()));
    Ids mine = ids();
    inside([] { bpf_xdp_detach(static_cast<int>(if_nametoindex("xr0")), 0, nullptr); });
    EXPECT_EQ(state(), AttachState::OffHook);
    EXPECT_REFUSED(AttachedPort::open({"xr0", netns_}), "not on the interface");
    if (again) {
      ASSERT_OK(attach({"xr0", netns_}, small()));
      EXPECT_EQ(state(), AttachState::Attached);
    }
    ASSERT_OK(detach({"xr0", netns_}));
    expect_nothing_left(mine);
  }
}

TEST_F(Stale, ReplacedBySomebodysProgram) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  Fd stranger = strange_program();
  inside(
      [&] { bpf_xdp_attach(static_cast<int>(if_nametoindex("xr0")), stranger.get(), 0, nullptr); });
  EXPECT_EQ(state(), AttachState::OffHook);
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "stranger");
  ASSERT_OK(detach({"xr0", netns_}));
  EXPECT_FALSE(alive(mine));
  EXPECT_EQ(on_hook(), program_id(stranger.get()));
}

// What is there after bpffs was unmounted, or lies in another mount namespace.
TEST_F(Stale, ProgramWithoutPins) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  send_frames(4);
  std::filesystem::remove_all(pins().parent_path());
  EXPECT_EQ(state(), AttachState::Unpinned);
  auto all = status(netns_);
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 1u);
  {
    auto port = AttachedPort::open({"xr0", netns_}); // its maps can still be found
    ASSERT_OK(port);
    EXPECT_EQ(frames_counted(*port, 4), 4u);
    EXPECT_EQ(port->status().streams_capacity, 1000u);
  }
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "already attached");
  Ids mine = ids();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

TEST_F(Stale, KilledBetweenHookAndPin) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  send_frames(4);
  std::filesystem::remove(pins() / Pins::kProgram);
  EXPECT_EQ(state(), AttachState::Attached);
  {
    auto port = AttachedPort::open({"xr0", netns_});
    ASSERT_OK(port);
    EXPECT_EQ(frames_counted(*port, 4), 4u);
  }
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "already attached since");
  Ids mine = ids();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

TEST_F(Stale, KilledInsideLibxdp) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  // What it pins before it attaches: a program of a dispatcher that is on no hook.
  auto dispatchers = directory_ / "xdp";
  auto ours = dispatchers / fmt::format("dispatch-{}-999999", ifindex());
  auto others = dispatchers / fmt::format("dispatch-{}-999998", ifindex());
  std::filesystem::create_directories(ours);
  std::filesystem::create_directories(others);
  Fd program(our_program()), stranger = strange_program();
  ASSERT_EQ(bpf_obj_pin(program.get(), (ours / "prog0-prog").c_str()), 0);
  ASSERT_EQ(bpf_obj_pin(stranger.get(), (others / "prog0-prog").c_str()), 0);
  program.reset();
  ASSERT_OK(detach({"xr0", netns_}));
  EXPECT_FALSE(std::filesystem::exists(ours));
  EXPECT_TRUE(std::filesystem::exists(others / "prog0-prog"));
  expect_nothing_left(mine);
}

TEST_F(Stale, AnotherAbi) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  Ids mine = ids();
  // A .rodata of the same shape that says so.
  std::vector<char> value(object_rodata_size());
  roce_config config{};
  config.abi = ROCE_ABI + 7;
  std::memcpy(value.data() + object_config_offset(), &config, sizeof(config));
  Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "rodata", sizeof(__u32),
                        static_cast<__u32>(value.size()), 1, nullptr));
  __u32 zero = 0;
  ASSERT_EQ(bpf_map_update_elem(map.get(), &zero, value.data(), 0), 0);
  std::filesystem::remove(pins() / "rodata");
  ASSERT_EQ(bpf_obj_pin(map.get(), (pins() / "rodata").c_str()), 0);

  auto port = status_of({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_EQ(port->state, AttachState::OtherAbi);
  EXPECT_EQ(port->abi, static_cast<uint32_t>(ROCE_ABI + 7));
  EXPECT_REFUSED(AttachedPort::open({"xr0", netns_}), "another version");
  EXPECT_REFUSED(attach({"xr0", netns_}, small()), "another version");
  map.reset();
  ASSERT_OK(detach({"xr0", netns_}));
  expect_nothing_left(mine);
}

TEST_F(Stale, KilledAnywhere) {
  auto start = std::chrono::steady_clock::now();
  ASSERT_OK(attach({"xr0", netns_}, small()));
  auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  Ids made = ids();
  ASSERT_OK(detach({"xr0", netns_}));

  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> delay(0, took.count() * 11 / 10);
  int stale = 0, attached = 0;
  for (int round = 0; round < 30; round++) {
    pid_t child = attach_in_child();
    std::this_thread::sleep_for(std::chrono::microseconds(delay(random)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    add_kept(made);
    auto gone = detach({"xr0", netns_});
    stale += gone.ok() && !gone->notes.empty();
    attached += gone.ok() && gone->notes.empty();
    EXPECT_TRUE(gone.ok() || gone.error().message == "not attached") << gone.error().message;
    EXPECT_EQ(on_hook(), 0u);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
  }
  RecordProperty("left_pins", stale);
  RecordProperty("left_attached", attached);
  EXPECT_GT(made.programs.size(), 1u) << "no child was killed with its program in the kernel";
  expect_nothing_left(made);
}

TEST_F(Stale, TwoAttachesAtOnce) {
  std::array<pid_t, 4> children{};
  int succeeded = 0;
  for (pid_t &child : children)
    child = attach_in_child();
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  EXPECT_EQ(succeeded, 1);
  EXPECT_EQ(state(), AttachState::Attached);
}

} // namespace xr::datapath
