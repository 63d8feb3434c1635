// SPDX-License-Identifier: Apache-2.0
// Properties of interfaces read from the kernel, and the states in which a bridge would lose
// frames, on veth pairs in each of these states. Namespaces left, box and right: left0 <-> box0,
// box1 <-> right0.
#include "lane.h"

#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "datapath/preflight.h"
#include "host/link.h"
#include "host/netdev_family.h"

namespace xr::datapath {

namespace {

using Troubles = std::vector<Trouble>;

class Preflight : public ::testing::Test {
protected:
  void SetUp() override {
    if (auto allowed = host::check_privilege(); !allowed)
      GTEST_SKIP() << allowed.error().message;
    if (shell("ip netns add " + box_) != 0)
      GTEST_SKIP() << "cannot make a network namespace with ip(8)";
    made_ = true;
    for (const std::string &name : {left_, right_})
      ASSERT_EQ(shell("ip netns add " + name), 0);
    for (const std::string &name : {left_, box_, right_})
      in(name, [] {
        for (const char *which : {"all", "default"})
          std::ofstream(fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", which)) << 1;
      });
    pair("box0", left_, "left0");
    pair("box1", right_, "right0");
  }

  void TearDown() override {
    if (made_)
      for (const std::string &name : {left_, box_, right_})
        shell("ip netns del " + name);
  }

  // Up and with nothing to complain of.
  void pair(const std::string &port, const std::string &far_netns, const std::string &far) {
    ASSERT_EQ(shell(fmt::format("ip -n {} link add {} type veth peer name {} netns {}", box_, port,
                                far, far_netns)),
              0);
    ASSERT_EQ(shell(fmt::format("ip -n {} link set {} up", box_, port)), 0);
    ASSERT_EQ(shell(fmt::format("ip -n {} link set {} up", far_netns, far)), 0);
    in(far_netns, [&] {
      ASSERT_OK(host::set_feature(far, "rx-gro", true));
      for (const char *off :
           {"tx-checksum-ip-generic", "tx-checksum-sctp", "tx-vlan-hw-insert",
            "tx-vlan-stag-hw-insert", "tx-udp-segmentation", "tx-sctp-segmentation"})
        if (host::read_features(far)->count(off) && host::read_features(far)->at(off)) {
          ASSERT_OK(host::set_feature(far, off, false));
        }
    });
  }

  static void in(const std::string &name, const std::function<void()> &work) {
    auto netns = host::Netns::open(name);
    ASSERT_OK(netns);
    auto scope = netns->enter();
    ASSERT_OK(scope);
    work();
  }

  Troubles look(bool fix = false, bool skb_mode = false) {
    auto netns = host::Netns::open(box_);
    auto found = bridge_preflight(*netns, "box0", "box1", skb_mode, fix);
    EXPECT_OK(found);
    return found.ok() ? *found : Troubles{};
  }

  static std::string told(const Troubles &troubles) {
    std::string all;
    for (const Trouble &t : troubles)
      all += fmt::format("{}: {} [{}]{}\n", t.ifname, t.text, t.hint, t.fixed ? " fixed" : "");
    return all;
  }

  bool feature(const std::string &netns, const std::string &ifname, const std::string &name) {
    bool on = false;
    in(netns, [&] { on = host::read_features(ifname)->at(name); });
    return on;
  }

  void set(const std::string &netns, const std::string &ifname, const std::string &name, bool on) {
    in(netns, [&] { ASSERT_OK(host::set_feature(ifname, name, on)); });
  }

  // The only trouble, with the words in it.
  void expect_one(const Troubles &troubles, const std::string &words) {
    ASSERT_EQ(troubles.size(), 1u) << told(troubles);
    EXPECT_NE(troubles[0].text.find(words), std::string::npos) << told(troubles);
    EXPECT_FALSE(troubles[0].hint.empty());
  }

  // Reported; reported and repaired with `fix`; not reported after that.
  void expect_fixed(const std::string &words, bool skb_mode = false) {
    auto before = look(false, skb_mode);
    expect_one(before, words);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(before[0].fixable);
    EXPECT_FALSE(before[0].fixed);
    auto meanwhile = look(true, skb_mode);
    expect_one(meanwhile, words);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(meanwhile[0].fixed) << told(meanwhile);
    auto after = look(false, skb_mode);
    EXPECT_TRUE(after.empty()) << told(after);
  }

  // Passes everything, in frames of one buffer.
  static Fd pass_program() {
    const bpf_insn pass[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                             {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    return Fd(bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, 2, nullptr));
  }

  // The hint is a command that mends it.
  void expect_hint_mends() {
    for (const Trouble &trouble : look())
      EXPECT_EQ(shell(trouble.hint + " >/dev/null"), 0) << trouble.hint;
    auto after = look();
    EXPECT_TRUE(after.empty()) << told(after);
  }

  const std::string id_ = std::to_string(getpid());
  const std::string left_ = "xr-pre-" + id_ + "-l", box_ = "xr-pre-" + id_ + "-b",
                    right_ = "xr-pre-" + id_ + "-r";
  bool made_ = false;
};

TEST_F(Preflight, QuietWhenAllIsWell) {
  EXPECT_EQ(told(look()), "");
  EXPECT_EQ(told(look(false, true)), "");
  EXPECT_EQ(told(look(true)), "");
}

TEST_F(Preflight, FactsOfALink) {
  in(box_, [&] {
    auto facts = host::read_link({"box0"});
    ASSERT_OK(facts);
    EXPECT_EQ(facts->ifname, "box0");
    EXPECT_EQ(facts->ifindex, if_nametoindex("box0"));
    EXPECT_EQ(facts->mtu, 1500u);
    EXPECT_TRUE(facts->up && facts->running);
    EXPECT_FALSE(facts->promiscuous || facts->has_xdp || facts->has_native_xdp);
    EXPECT_EQ(facts->driver, "veth");
    EXPECT_EQ(facts->kind, "veth");
    EXPECT_GE(facts->peer_nsid, 0);
    auto netns = host::Netns::open(left_);
    Fd fd(open(("/run/netns/" + left_).c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(host::nsid_of(fd.get()).get(), facts->peer_nsid);
    auto scope = netns->enter();
    EXPECT_EQ(facts->peer_ifindex, if_nametoindex("left0"));
    EXPECT_EQ(host::read_link_at(facts->peer_ifindex)->ifname, "left0");
  });
  in(box_, [] {
    EXPECT_EQ(host::read_link({"lo"})->kind, "");
    EXPECT_EQ(host::read_link({"lo"})->peer_ifindex, 0u);
    EXPECT_REFUSED(host::read_link({"nosuch"}), "no such interface");
    EXPECT_REFUSED(host::read_link({"far-too-long-a-name"}), "no such interface");
    EXPECT_REFUSED(host::read_features("nosuch"), "no such interface");
    EXPECT_REFUSED(host::read_link_at(999999), "no such interface");
  });
}

TEST_F(Preflight, CountsWhatALinkDropped) {
  in(box_, [&] {
    ASSERT_EQ(host::read_link({"box0"})->tx_dropped, 0u);
    ASSERT_EQ(shell("ip -n " + left_ + " link set left0 mtu 100"), 0);
    Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex("box0"));
    std::vector<unsigned char> frame(1000, 0xff);
    (void)sendto(fd.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr *>(&to),
                 sizeof(to));
    EXPECT_EQ(host::read_link({"box0"})->tx_dropped, 1u);
  });
}

TEST_F(Preflight, SetsWhatCanBeSet) {
  in(box_, [] {
    ASSERT_OK(host::set_promiscuous("box0", true));
    EXPECT_TRUE(host::read_link({"box0"})->promiscuous);
    ASSERT_OK(host::set_promiscuous("box0", false));
    EXPECT_FALSE(host::read_link({"box0"})->promiscuous);
    EXPECT_TRUE(host::read_link({"box0"})->up);
    EXPECT_REFUSED(host::set_promiscuous("nosuch", true), "no such interface");

    ASSERT_OK(host::set_mtu("box0", 9000));
    EXPECT_EQ(host::read_link({"box0"})->mtu, 9000u);
    auto refused = host::set_mtu("box0", 10);
    EXPECT_REFUSED(refused, "cannot set the MTU of box0 to 10");
    EXPECT_NE(refused.error().hint.find("mtu"), std::string::npos) << refused.error().hint;

    ASSERT_OK(host::set_feature("box0", "rx-gro", true));
    EXPECT_TRUE(host::read_features("box0")->at("rx-gro"));
    ASSERT_OK(host::set_feature("box0", "rx-gro", false));
    EXPECT_FALSE(host::read_features("box0")->at("rx-gro"));
    EXPECT_REFUSED(host::set_feature("box0", "rx-lro", true), "leaves it as it is");
    EXPECT_REFUSED(host::set_feature("box0", "rx-nonsense", true), "knows no feature");
    EXPECT_REFUSED(host::set_feature("nosuch", "rx-gro", true), "no such interface");
  });
}

TEST_F(Preflight, AddressesOfALink) {
  ASSERT_EQ(shell("ip -n " + box_ + " addr add 192.0.2.7/24 dev box0"), 0);
  in(box_, [] {
    EXPECT_EQ(host::read_addresses(if_nametoindex("box0")).get(),
              std::vector<std::string>{"192.0.2.7/24"});
    EXPECT_TRUE(host::read_addresses(if_nametoindex("box1"))->empty());
  });
}

TEST_F(Preflight, NoSuchPort) {
  auto netns = host::Netns::open(box_);
  EXPECT_REFUSED(bridge_preflight(*netns, "box0", "nosuch", false, false), "no such interface");
}

TEST_F(Preflight, FarEndWithoutGro) {
  set(right_, "right0", "rx-gro", false);
  expect_fixed("right0 (netns " + right_ + "), the other end of box1, has neither GRO");
  EXPECT_TRUE(feature(right_, "right0", "rx-gro"));
  set(right_, "right0", "rx-gro", false);
  expect_hint_mends();
  set(right_, "right0", "rx-gro", false);
  EXPECT_EQ(told(look(false, true)), ""); // generic XDP sends as everybody does
}

// The other end beside the port, in the same namespace.
TEST_F(Preflight, FarEndInTheSameNamespace) {
  ASSERT_EQ(shell("ip -n " + left_ + " link set left0 netns " + box_), 0);
  ASSERT_EQ(shell("ip -n " + box_ + " link set left0 up"), 0);
  in(box_, [] { EXPECT_EQ(host::read_link({"box0"})->peer_nsid, -1); });
  set(box_, "left0", "rx-gro", false);
  expect_fixed("left0, the other end of box0, has neither GRO");
  EXPECT_TRUE(feature(box_, "left0", "rx-gro"));
}

// A namespace that has no name, only a process: this one.
TEST_F(Preflight, FarEndWhereTheCommandRuns) {
  std::thread([&] {
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    const auto thread = std::to_string(gettid());
    ASSERT_EQ(shell(fmt::format("ip -n {} link set left0 netns {}", left_, thread)), 0);
    ASSERT_EQ(shell("ip link set left0 up"), 0);
    ASSERT_OK(host::set_feature("left0", "rx-gro", false));
    expect_one(look(), "left0 (this command's netns)");
    EXPECT_EQ(told(look(true)).find("the repair failed"), std::string::npos);
    EXPECT_TRUE(host::read_features("left0")->at("rx-gro"));
  }).join();
}

TEST_F(Preflight, FarEndThatAnotherProcessHolds) {
  int wake[2], ready[2];
  char byte = 0;
  ASSERT_EQ(pipe(wake), 0);
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    close(wake[1]);
    if (unshare(CLONE_NEWNET) == 0)
      (void)!write(ready[1], "x", 1);
    _exit(static_cast<int>(read(wake[0], &byte, 1)));
  }
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(shell(fmt::format("ip -n {} link set left0 netns {}", left_, child)), 0);
  EXPECT_EQ(shell(fmt::format("nsenter -t {} -n ethtool -K left0 gro off", child)), 0);
  EXPECT_EQ(shell(fmt::format("nsenter -t {} -n ip link set left0 up", child)), 0);
  expect_fixed(fmt::format("left0 (netns of process {})", child));
  for (int fd : {wake[0], wake[1], ready[0], ready[1]})
    close(fd);
  waitpid(child, nullptr, 0);
}

// Its name is gone and no process is in it: something else keeps it.
TEST_F(Preflight, FarEndThatCannotBeFound) {
  Fd held(open(("/run/netns/" + left_).c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(held);
  ASSERT_EQ(shell("ip netns del " + left_), 0);
  auto troubles = look(true);
  expect_one(troubles, "namespace of box0's other end cannot be found");
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_FALSE(troubles[0].fixable || troubles[0].fixed);
  EXPECT_NE(troubles[0].hint.find("gro on"), std::string::npos);
}

TEST_F(Preflight, FarEndWithNativeXdp) {
  set(left_, "left0", "rx-gro", false);
  Fd program = pass_program();
  ASSERT_TRUE(program);
  in(left_, [&] {
    int left0 = static_cast<int>(if_nametoindex("left0"));
    ASSERT_EQ(bpf_xdp_attach(left0, program.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
    EXPECT_TRUE(host::read_link({"left0"})->has_native_xdp);
  });
  EXPECT_EQ(told(look()), "");
  in(left_, [&] {
    int left0 = static_cast<int>(if_nametoindex("left0"));
    ASSERT_EQ(bpf_xdp_detach(left0, XDP_FLAGS_DRV_MODE, nullptr), 0);
    ASSERT_EQ(bpf_xdp_attach(left0, program.get(), XDP_FLAGS_SKB_MODE, nullptr), 0);
    EXPECT_TRUE(host::read_link({"left0"})->has_xdp);
    EXPECT_FALSE(host::read_link({"left0"})->has_native_xdp);
  });
  expect_one(look(), "neither GRO nor a native XDP program");
}

TEST_F(Preflight, FarEndLeavesChecksumsUnfinished) {
  set(left_, "left0", "tx-checksum-ip-generic", true);
  EXPECT_EQ(told(look(false, true)).find("checksum"), std::string::npos); // the skb stays whole
  expect_fixed("tx-checksum-ip-generic on: frames of its own host");
  EXPECT_FALSE(feature(left_, "left0", "tx-checksum-ip-generic"));
  set(left_, "left0", "tx-checksum-ip-generic", true);
  expect_hint_mends();
}

TEST_F(Preflight, FarEndPutsTagsBeside) {
  set(left_, "left0", "tx-vlan-hw-insert", true);
  EXPECT_EQ(told(look(false, true)), "");
  expect_fixed("tx-vlan-hw-insert on");
  EXPECT_FALSE(feature(left_, "left0", "tx-vlan-hw-insert"));
}

TEST_F(Preflight, FarEndSendsSuperFrames) {
  set(left_, "left0", "tx-checksum-ip-generic", true); // without it, no segmentation
  set(left_, "left0", "tx-tcp-segmentation", true);
  set(left_, "left0", "tx-udp-segmentation", true);
  expect_fixed("super-frames", true);
  EXPECT_FALSE(feature(left_, "left0", "tx-tcp-segmentation"));
  EXPECT_FALSE(feature(left_, "left0", "tx-udp-segmentation"));
  set(left_, "left0", "tx-udp-segmentation", true);
  // Native: the kernel itself forbids them while a program is on the port.
  Fd program = pass_program();
  in(box_, [&] {
    int box0 = static_cast<int>(if_nametoindex("box0"));
    ASSERT_EQ(bpf_xdp_attach(box0, program.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
  });
  EXPECT_FALSE(feature(left_, "left0", "tx-udp-segmentation"));
}

TEST_F(Preflight, ADefaultPairIsMendedWhole) {
  ASSERT_EQ(shell("ip -n " + box_ + " link del box0"), 0);
  ASSERT_EQ(
      shell(fmt::format("ip -n {} link add box0 type veth peer name left0 netns {}", box_, left_)),
      0);
  ASSERT_EQ(shell("ip -n " + box_ + " link set box0 up"), 0);
  ASSERT_EQ(shell("ip -n " + left_ + " link set left0 up"), 0);
  for (bool skb_mode : {true, false}) {
    auto found = look(true, skb_mode);
    EXPECT_FALSE(found.empty());
    for (const Trouble &trouble : found)
      EXPECT_TRUE(trouble.fixable && trouble.fixed) << told({trouble});
    EXPECT_EQ(told(look(false, skb_mode)), "");
  }
}

TEST_F(Preflight, PortsOfDifferentMtu) {
  for (const auto &[netns, name] : {std::pair{box_, "box1"}, std::pair{right_, "right0"}})
    in(netns, [&, name = name] { ASSERT_OK(host::set_mtu(name, 3000)); });
  in(left_, [] { ASSERT_OK(host::set_mtu("left0", 1500)); });
  expect_one(look(), "the MTU of box0 is 1500, that of box1 3000");
  auto fixed = look(true);
  ASSERT_EQ(fixed.size(), 2u) << told(fixed);
  EXPECT_TRUE(fixed[0].fixed);
  in(box_, [] { EXPECT_EQ(host::read_link({"box0"})->mtu, 3000u); });
  // The host at the end keeps its own, which is reported.
  EXPECT_FALSE(fixed[1].fixable);
  EXPECT_NE(fixed[1].text.find("left0"), std::string::npos) << told(fixed);
  in(left_, [] { EXPECT_EQ(host::read_link({"left0"})->mtu, 1500u); });
  expect_hint_mends();
}

TEST_F(Preflight, FarEndsOfLargerMtu) {
  in(left_, [] { ASSERT_OK(host::set_mtu("left0", 3000)); });
  in(right_, [] { ASSERT_OK(host::set_mtu("right0", 3000)); });
  EXPECT_EQ(look().size(), 2u);
  for (const Trouble &trouble : look(true))
    EXPECT_TRUE(trouble.fixed) << told({trouble});
  EXPECT_EQ(told(look()), "");
  in(box_, [] { EXPECT_EQ(host::read_link({"box1"})->mtu, 3000u); });
}

TEST_F(Preflight, FramesThatTheKernelCannotForward) {
  for (const auto &[netns, name] :
       {std::pair{left_, "left0"}, {box_, "box0"}, {box_, "box1"}, {right_, "right0"}})
    in(netns, [&, name = name] { ASSERT_OK(host::set_mtu(name, 9000)); });
  bool old = false;
  in(box_, [&] { old = !host::read_xdp_features(host::read_link({"box0"})->ifindex); });
  const Troubles found = look();
  EXPECT_EQ(found.size(), old ? 2u : 0u) << told(found);
  for (const Trouble &trouble : found) {
    EXPECT_NE(trouble.text.find("kernels before 6.3 cannot forward"), std::string::npos)
        << told({trouble});
    EXPECT_NE(trouble.hint.find("--mode skb"), std::string::npos) << told({trouble});
  }
  EXPECT_EQ(told(look(false, true)), ""); // generic XDP joins the buffers
}

// A program that takes no frames of several buffers holds the MTU down.
TEST_F(Preflight, MtuThatTheKernelRefuses) {
  in(left_, [] { ASSERT_OK(host::set_mtu("left0", 1500)); });
  Fd program = pass_program();
  in(box_, [&] { ASSERT_OK(host::set_mtu("box1", 9000)); });
  in(left_, [&] {
    int left0 = static_cast<int>(if_nametoindex("left0"));
    ASSERT_EQ(bpf_xdp_attach(left0, program.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
  });
  auto found = look(true);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].fixable);
  EXPECT_FALSE(found[0].fixed) << told(found);
  EXPECT_NE(found[0].text.find("the repair failed: cannot set the MTU of box0"), std::string::npos)
      << told(found);
}

TEST_F(Preflight, PortIsDown) {
  ASSERT_EQ(shell("ip -n " + box_ + " link set box1 down"), 0);
  in(box_, [] { EXPECT_FALSE(host::read_link({"box1"})->up); });
  expect_one(look(true), "box1 is down");
  expect_hint_mends();
}

TEST_F(Preflight, FarEndIsDown) {
  ASSERT_EQ(shell("ip -n " + right_ + " link set right0 down"), 0);
  in(box_, [] {
    EXPECT_TRUE(host::read_link({"box1"})->up);
    EXPECT_FALSE(host::read_link({"box1"})->running);
  });
  expect_one(look(true), "box1 has no carrier, because its other end, right0");
  expect_hint_mends();
}

TEST_F(Preflight, PortThatTheHostUses) {
  ASSERT_EQ(shell("ip -n " + box_ + " addr add 192.0.2.7/24 dev box0"), 0);
  auto found = look(true);
  expect_one(found, "box0 has the address 192.0.2.7/24");
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_FALSE(found[0].fixable);
  expect_hint_mends();
  if (shell("ip -n " + box_ + " link add br0 type bridge") != 0)
    GTEST_SKIP() << "this kernel has no bridge";
  ASSERT_EQ(shell("ip -n " + box_ + " link set box1 master br0"), 0);
  in(box_, [] {
    EXPECT_EQ(host::read_link({"box1"})->master, "br0");
    EXPECT_EQ(host::read_link({"br0"})->kind, "bridge");
  });
  found = look(true);
  expect_one(found, "box1 is a port of br0, a bridge");
  expect_hint_mends();
}

// A port alone: what its program does not see, and no more than that.
TEST_F(Preflight, OfAPortAlone) {
  const auto alone = [&](bool skb_mode) {
    auto netns = host::Netns::open(box_);
    auto found = port_preflight(*netns, "box0", skb_mode);
    EXPECT_OK(found);
    return found.ok() ? *found : Troubles{};
  };
  EXPECT_EQ(told(alone(false)), "");
  set(left_, "left0", "rx-gro", false); // a bridge's affair
  set(left_, "left0", "tx-checksum-ip-generic", true);
  EXPECT_EQ(told(alone(false)), "");
  set(left_, "left0", "tx-vlan-hw-insert", true);
  expect_one(alone(false), "XDP does not see it");
  set(left_, "left0", "tx-vlan-hw-insert", false);
  set(left_, "left0", "tx-udp-segmentation", true);
  EXPECT_EQ(told(alone(false)), "");
  expect_one(alone(true), "super-frames");
}

} // namespace

} // namespace xr::datapath
