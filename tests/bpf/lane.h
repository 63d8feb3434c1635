// SPDX-License-Identifier: Apache-2.0
// A fixture for tests that attach: a network namespace with a veth pair, xr0 and peer0, and its own
// bpffs. Their names contain the test's process ID, and they are removed with it. The host is not
// changed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "datapath/attach.h"
#include "datapath/attached_port.h"
#include "datapath/maps.h"
#include "host/netns.h"
#include "host/privilege.h"

namespace xr::datapath {

inline int shell(const std::string &command) {
  return std::system((command + " 2>/dev/null").c_str()); // NOLINT(cert-env33-c)
}

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().message
#define EXPECT_OK(result) EXPECT_TRUE((result).ok()) << (result).error().message

// The error's sentence has the words.
#define EXPECT_REFUSED(result, words)                                                              \
  do {                                                                                             \
    auto &&refused_ = (result);                                                                    \
    ASSERT_FALSE(refused_.ok());                                                                   \
    EXPECT_NE(refused_.error().message.find(words), std::string::npos)                             \
        << refused_.error().message;                                                               \
  } while (0)

// The process's bpffs. libxdp makes its folder in there once in a process, the first time that it
// needs it: on another one, of the next test, it would not find that any more (ENOENT).
class LaneBpffs {
public:
  static const std::filesystem::path &directory() {
    static const LaneBpffs mine;
    return mine.directory_;
  }
  LaneBpffs(const LaneBpffs &) = delete;
  LaneBpffs &operator=(const LaneBpffs &) = delete;

private:
  LaneBpffs()
      : directory_(std::filesystem::temp_directory_path() / fmt::format("xr-lane-{}", getpid())) {
    std::filesystem::create_directory(directory_);
    mounted_ = mount("bpf", directory_.c_str(), "bpf", 0, "mode=0700") == 0;
  }
  ~LaneBpffs() {
    std::error_code ignored;
    if (mounted_)
      umount2(directory_.c_str(), MNT_DETACH);
    std::filesystem::remove(directory_, ignored);
  }

  std::filesystem::path directory_;
  bool mounted_ = false;
};

class Lane : public ::testing::Test {
protected:
  void SetUp() override {
    if (auto allowed = host::check_privilege(); !allowed)
      GTEST_SKIP() << allowed.error().message;
    netns_ = "xr-lane-" + std::to_string(getpid());
    if (shell("ip netns add " + netns_) != 0)
      GTEST_SKIP() << "cannot make a network namespace with ip(8)";
    directory_ = LaneBpffs::directory();
    setenv("LIBXDP_BPFFS", directory_.c_str(), 1);
    wire();
  }

  void TearDown() override {
    if (directory_.empty())
      return;
    (void)detach_all(netns_);
    shell("ip netns del " + netns_);
  }

  // Without IPv6, so that nothing speaks unasked.
  void wire() {
    inside([] {
      for (const char *which : {"all", "default"})
        std::ofstream(fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", which)) << 1;
    });
    ASSERT_EQ(ip("link add xr0 type veth peer name peer0"), 0);
    link_up();
  }

  // The kernel reports that a link is up before it lets frames through, from a work queue. Once
  // that has run, and let go of the lock which the last command takes, none is dropped.
  void link_up() {
    ASSERT_EQ(ip("link set xr0 up"), 0);
    ASSERT_EQ(ip("link set peer0 up"), 0);
    for (int i = 0; i < 500 && !(running("xr0") && running("peer0")); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(ip("link set peer0 up"), 0);
  }

  bool running(const char *name) {
    ifreq request{};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    inside([&] {
      Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      ioctl(fd.get(), SIOCGIFFLAGS, &request);
    });
    return request.ifr_flags & IFF_RUNNING;
  }

  int ip(const std::string &arguments) { return shell("ip -n " + netns_ + " " + arguments); }

  void inside(const std::function<void()> &work) {
    auto netns = host::Netns::open(netns_);
    ASSERT_OK(netns);
    auto scope = netns->enter();
    ASSERT_OK(scope);
    work();
  }

  int ifindex(const char *name = "xr0") {
    int index = 0;
    inside([&] { index = static_cast<int>(if_nametoindex(name)); });
    return index;
  }

  uint32_t on_hook() {
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    inside([&] { bpf_xdp_query(static_cast<int>(if_nametoindex("xr0")), 0, &query); });
    return query.prog_id;
  }

  // Broadcasts of no protocol that anybody counts as RoCE.
  void send_frames(int count) {
    inside([&] {
      Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_ifindex = static_cast<int>(if_nametoindex("peer0"));
      std::vector<unsigned char> frame(64, 0xff);
      for (int i = 0; i < count; i++)
        ASSERT_EQ(sendto(fd.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr *>(&to),
                         sizeof(to)),
                  static_cast<ssize_t>(frame.size()));
    });
  }

  // Until they all came, or a second passed: how many did.
  uint64_t frames_counted(const AttachedPort &port, uint64_t awaited) {
    uint64_t counted = 0;
    for (int i = 0; i < 100; i++) {
      auto snapshot = port.snapshot();
      if (!snapshot.ok())
        return 0;
      counted = 0;
      for (uint64_t frames : snapshot->totals.frames)
        counted += frames;
      if (counted >= awaited)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return counted;
  }

  std::filesystem::path pins() {
    auto netns = host::Netns::open(netns_);
    return directory_ / "xdp-roce" / fmt::format("{}-{}", netns->inode(), ifindex());
  }

  // A new file descriptor of our program, which a dispatcher may call.
  int our_program() {
    auto status = status_of({"xr0", netns_});
    return bpf_prog_get_fd_by_id(status && status->program_id ? status->program_id : on_hook());
  }

  // Ids of the attachment's program and maps.
  struct Ids {
    std::vector<uint32_t> programs, maps;
    bool dispatcher = false; // libxdp's calls the program
  };
  Ids ids() {
    Fd fd(our_program());
    const uint32_t id = program_id(fd.get());
    return {{id}, program_map_ids(fd.get()), id != on_hook()};
  }

  // Objects that the kernel still has, a word each.
  static std::vector<std::string> left_of(const Ids &ids) {
    std::vector<std::string> left;
    const auto look = [&left](const std::vector<uint32_t> &of, const char *kind, auto next) {
      for (const uint32_t id : of) {
        __u32 found = 0;
        if (id && next(id - 1, &found) == 0 && found == id)
          left.push_back(fmt::format("{} {}", kind, id));
      }
    };
    look(ids.programs, "program", bpf_prog_get_next_id);
    look(ids.maps, "map", bpf_map_get_next_id);
    return left;
  }
  static bool alive(const Ids &ids) { return !left_of(ids).empty(); }

  // libxdp 1.3 keeps file descriptors of its dispatcher, and of what it runs, until the process
  // that attached ends.
  static void close_programs_of_libxdp() {
    std::vector<int> held;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
      std::ifstream info(entry.path());
      for (std::string key, value; info >> key >> value;)
        if (key == "prog_id:")
          held.push_back(std::stoi(entry.path().filename()));
    }
    for (const int fd : held)
      close(fd);
  }

  // Nothing of the attachment is in the kernel, on the hook or in bpffs. The kernel frees a program
  // that a dispatcher called some time after it was detached.
  void expect_nothing_left(const Ids &of) {
    if (of.dispatcher)
      close_programs_of_libxdp();
    for (int i = 0; i < 600 && alive(of); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(alive(of)) << fmt::format("{}", fmt::join(left_of(of), ", "));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "xdp-roce"));
    EXPECT_EQ(on_hook(), 0u); // also where there is no interface any more
  }

  // Somebody else's program, which passes everything.
  static Fd strange_program() {
    const bpf_insn pass[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                             {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    return Fd(bpf_prog_load(BPF_PROG_TYPE_XDP, "stranger", "GPL", pass, 2, nullptr));
  }

  AttachOptions small() {
    AttachOptions options;
    options.streams = 1000;
    return options;
  }

  std::string netns_;
  std::filesystem::path directory_; // the bpffs
};

} // namespace xr::datapath
