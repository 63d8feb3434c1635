// SPDX-License-Identifier: Apache-2.0
// Every outcome of each check, on simulated facts and file trees.
#include "tree.h"

#include <algorithm>

#include <linux/dcbnl.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <zlib.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "afxdp/umem.h"
#include "afxdp/zero_copy.h"
#include "doctor/check_rdma.h"
#include "doctor/doctor.h"
#include "doctor/kernel.h"
#include "doctor/pfc_trial.h"
#include "doctor/port.h"
#include "host/congestion_settings.h"
#include "host/netlink.h"
#include "host/roce_mode.h"
#include "report/doctor.h"
#include "report/json.h"
#include "report/text.h"

namespace doctor_test {
namespace {

using namespace xr;
using namespace xr::doctor;
using namespace xr::host;

// The first check of that name; one with no text where there is none.
Check find(const Checks &checks, const std::string &name) {
  for (const Check &check : checks)
    if (check.name == name)
      return check;
  return {"", name, CheckVerdict::Unknown, ""};
}

void expect(const Checks &checks, const std::string &name, CheckVerdict verdict,
            const std::string &words, const std::string &hint = "") {
  const Check check = find(checks, name);
  EXPECT_EQ(check.verdict, verdict) << name << ": " << check.text;
  EXPECT_NE(check.text.find(words), std::string::npos) << name << ": " << check.text;
  EXPECT_FALSE(check.text.empty()) << name;
  EXPECT_NE(check.hint.find(hint), std::string::npos) << name << ": " << check.hint;
}

KernelFacts sound_kernel() {
  KernelFacts kernel;
  kernel.release = "6.1.0-18-amd64";
  kernel.options_from = "/boot/config";
  kernel.options = parse_kernel_options(
      "CONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_XDP_SOCKETS=y\nCONFIG_BPF_JIT=y\n"
      "CONFIG_PERF_EVENTS=y\nCONFIG_BPF_EVENTS=y\nCONFIG_DCB=y\n");
  kernel.jit = 1;
  kernel.bpffs = "/sys/fs/bpf";
  kernel.memlock = 64 << 10;
  kernel.memlock_binds = false;
  kernel.missing_to_load = std::vector<std::string>{};
  kernel.missing_for_sockets = std::vector<std::string>{};
  for (const char *name : {"load", "dispatcher", "capture", "sockets", "rules"})
    kernel.trials.push_back({name, Status()});
  kernel.sockets = Status();
  kernel.frags = true;
  return kernel;
}

Checks check(const KernelFacts &kernel) {
  Checks checks;
  check_kernel(kernel, checks);
  return checks;
}

TEST(DoctorPfc, VerdictOfWhatArrived) {
  PfcSeen seen{.from = "eth1", .pfc = true, .ordinary = true, .not_tried = {}};
  EXPECT_EQ(judge_pfc(seen).verdict, CheckVerdict::Ok);
  EXPECT_EQ(judge_pfc(seen).text.find("skb"), std::string::npos);
  seen.skb_mode = true;
  EXPECT_NE(judge_pfc(seen).text.find("skb"), std::string::npos);
  seen.pfc = false;
  EXPECT_EQ(judge_pfc(seen).verdict, CheckVerdict::Unknown);
  EXPECT_NE(judge_pfc(seen).text.find("consumes"), std::string::npos);
  seen.ordinary = false;
  EXPECT_EQ(judge_pfc(seen).verdict, CheckVerdict::Unknown);
  EXPECT_NE(judge_pfc(seen).hint.find("other end"), std::string::npos);
  seen.not_tried = "eth1 is down";
  EXPECT_EQ(judge_pfc(seen).verdict, CheckVerdict::Unknown);
  EXPECT_NE(judge_pfc(seen).text.find("eth1 is down"), std::string::npos);
}

TEST(DoctorKernel, AllIsWell) {
  for (const Check &one : check(sound_kernel()))
    EXPECT_TRUE(one.verdict == CheckVerdict::Ok || one.name == "btf")
        << one.name << ": " << one.text;
}

TEST(DoctorKernel, EachTrouble) {
  KernelFacts kernel = sound_kernel();
  kernel.release = "5.10.0-8-amd64";
  kernel.options.erase("XDP_SOCKETS");
  kernel.jit = 0;
  kernel.bpffs = "";
  kernel.missing_to_load = {"CAP_BPF", "CAP_PERFMON"};
  const Checks checks = check(kernel);
  expect(checks, "version", CheckVerdict::Fail, "too old", "5.15");
  expect(checks, "options", CheckVerdict::Fail,
         "CONFIG_XDP_SOCKETS is off: nothing can be attached");
  expect(checks, "bpffs", CheckVerdict::Info, "none is mounted", "mount -t bpf");
  expect(checks, "jit", CheckVerdict::Warn, "off", "sysctl");
  expect(checks, "privileges", CheckVerdict::Warn, "CAP_BPF, CAP_PERFMON missing", "root");
}

TEST(DoctorKernel, WhatCaptureNeeds) {
  for (const char *option : {"PERF_EVENTS", "BPF_EVENTS"}) {
    KernelFacts kernel = sound_kernel();
    kernel.options.erase(option);
    expect(check(kernel), "options", CheckVerdict::Warn,
           std::string("CONFIG_") + option + " is off: capture needs it");
  }
}

TEST(DoctorKernel, MemlockBefore511) {
  KernelFacts kernel = sound_kernel();
  kernel.release = "5.10.0";
  kernel.memlock = 65536;
  kernel.memlock_binds = true;
  expect(check(kernel), "memlock", CheckVerdict::Warn, "65536 bytes", "ulimit");
  kernel.memlock = ~0ull;
  expect(check(kernel), "memlock", CheckVerdict::Ok, "large enough");
}

// 17,536 chunks of 2 KiB, 1,024 of them for what is sent.
TEST(DoctorKernel, MemlockOfSockets) {
  KernelFacts kernel = sound_kernel();
  kernel.release = "6.18.0";
  expect(check(kernel), "memlock", CheckVerdict::Ok, "does not bind");
  kernel.memlock_binds = true;
  expect(check(kernel), "memlock", CheckVerdict::Warn,
         "64 KiB of locked memory are too few for AF_XDP: at an MTU of 1500 respond needs 35072 "
         "KiB a queue, send without --reliable 2048",
         "ulimit -l unlimited");
  kernel.memlock = (35072 << 10) - 1;
  EXPECT_EQ(find(check(kernel), "memlock").verdict, CheckVerdict::Warn);
  kernel.memlock = 35072 << 10;
  expect(check(kernel), "memlock", CheckVerdict::Ok, "large enough");
}

TEST(DoctorKernel, RefusedByTrying) {
  KernelFacts kernel = sound_kernel();
  kernel.trials = {{"load", Status()},
                   {"dispatcher", Error{"a reason of libxdp's"}},
                   {"rules", Error{"the kernel refused the program", "a hint"}},
                   {"sockets", Error{"no socket"}},
                   {"capture", Error{"no ring"}}};
  kernel.sockets = Status(Error{"AF_XDP sockets are refused"});
  kernel.frags = false;
  const Checks checks = check(kernel);
  expect(checks, "load", CheckVerdict::Ok, "counted a frame");
  expect(checks, "dispatcher", CheckVerdict::Info, "alone on a port's hook: a reason of libxdp's");
  expect(checks, "rules", CheckVerdict::Fail, "refused the program", "a hint");
  expect(checks, "sockets", CheckVerdict::Warn, "send and respond: no socket");
  expect(checks, "capture", CheckVerdict::Warn, "capture: no ring");
  expect(checks, "frags", CheckVerdict::Warn, "several buffers", "3498");
  expect(checks, "af_xdp", CheckVerdict::Warn, "refused", "XDP_SOCKETS");
}

TEST(DoctorKernel, WhatNeedsMoreIsNotTried) {
  KernelFacts kernel = sound_kernel();
  kernel.trials = {{"load", Error{"the kernel refused the program", "a reason"}}};
  const Checks checks = check(kernel);
  expect(checks, "load", CheckVerdict::Fail, "refused the program", "a reason");
  for (const char *name : {"dispatcher", "rules", "sockets", "capture"})
    expect(checks, name, CheckVerdict::Unknown, "not tried, for what it needs failed");
}

// With CAP_BPF and no CAP_SYS_ADMIN, say.
TEST(DoctorKernel, LoadedWhereNothingCanBeAttached) {
  KernelFacts kernel = sound_kernel();
  kernel.trials.clear();
  kernel.untried = "cannot make namespaces for it";
  kernel.load = Status();
  expect(check(kernel), "load", CheckVerdict::Ok,
         "attaching was not tried: cannot make namespaces");
  expect(check(kernel), "rules", CheckVerdict::Unknown, "not tried: cannot make namespaces");
  kernel.load = Status(Error{"the kernel refused the program", "a reason"});
  expect(check(kernel), "load", CheckVerdict::Fail, "refused the program", "a reason");
}

TEST(DoctorKernel, WithoutPrivilegeSaysSo) {
  KernelFacts kernel = sound_kernel();
  kernel.missing_to_load = {"CAP_NET_ADMIN"};
  kernel.missing_for_sockets = {"CAP_NET_RAW"};
  kernel.trials.clear();
  kernel.sockets.reset();
  kernel.frags.reset();
  kernel.options_from = "";
  kernel.options.clear();
  kernel.jit.reset();
  const Checks checks = check(kernel);
  for (const char *name : {"load", "dispatcher", "rules", "af_xdp", "options", "jit"})
    EXPECT_EQ(find(checks, name).verdict, CheckVerdict::Unknown) << name;
  expect(checks, "frags", CheckVerdict::Ok, ""); // by its version
}

TEST(DoctorKernel, Releases) {
  EXPECT_TRUE(release_is("5.11.0", 5, 11));
  EXPECT_TRUE(release_is("6.1", 5, 18));
  EXPECT_FALSE(release_is("5.9.16-rc1", 5, 11));
  EXPECT_FALSE(release_is("nonsense", 5, 11));
}

TEST_F(Tree, KernelOfATree) {
  put("/proc/sys/kernel/osrelease", "6.9.1-made");
  put("/proc/sys/net/core/bpf_jit_enable", "0");
  gzFile config = gzopen((root_ + "/proc/config.gz").c_str(), "wb");
  ASSERT_NE(config, nullptr);
  gzputs(config, "CONFIG_BPF_SYSCALL=y\n# CONFIG_DCB is not set\nCONFIG_NR_CPUS=8\n"
                 "CONFIG_XDP_SOCKETS=m\n");
  gzclose(config);
  const KernelFacts kernel = read_kernel(files());
  EXPECT_EQ(kernel.release, "6.9.1-made");
  EXPECT_EQ(kernel.jit, 0u);
  EXPECT_EQ(kernel.options_from, "/proc/config.gz");
  EXPECT_EQ(kernel.options, (KernelOptions{{"BPF_SYSCALL", 'y'}, {"XDP_SOCKETS", 'm'}}));
}

TEST_F(Tree, KernelOptionsInBoot) {
  put("/proc/sys/kernel/osrelease", "6.9.1-made");
  put("/boot/config-6.9.1-made", "CONFIG_XDP_SOCKETS=y");
  EXPECT_EQ(read_kernel(files()).options_from, "/boot/config-6.9.1-made");
}

PortFacts sound_port() {
  PortFacts port;
  port.link.ifname = "eth7";
  port.link.driver = "mlx5_core";
  port.link.mtu = 1500;
  port.link.up = port.link.running = true;
  port.cpus = 4;
  port.queues = {4, 8};
  port.addresses = {"192.0.2.2/24"};
  XdpFeatures xdp;
  xdp.native = xdp.redirect = xdp.transmits = xdp.zero_copy = xdp.frags = true;
  port.xdp = xdp;
  port.zero_copy = afxdp::ZeroCopyTrial{true, {}};
  port.features = host::Features{{"rx-gro", true}, {"rx-vlan-filter", true}};
  port.hook = datapath::Hook{};
  port.troubles = std::vector<datapath::Trouble>{};
  port.receive = {.coalescing = Coalescing{.rx_frames = 1},
                  .rings = Rings{1024, 1024, 512, 8192},
                  .rss = std::vector<uint32_t>{0, 1, 2, 3, 0, 1, 2, 3},
                  .hashes_ports = true,
                  .flow_rules = 2};
  port.device.topology.port_node = 1;
  port.device.topology.nodes = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {6, 1}};
  port.device.interrupts = {{0, "61", {2}}, {1, "62", {3}}, {2, "63", {0, 1, 2, 3}}};
  return port;
}

Checks check(const PortFacts &port) {
  Checks checks;
  check_port(port, checks);
  return checks;
}

TEST(DoctorPort, AllIsWell) {
  for (const Check &one : check(sound_port()))
    EXPECT_TRUE(one.verdict == CheckVerdict::Ok || one.name == "promiscuous" ||
                one.name == "peer" || one.name == "steering" || one.name == "clock")
        << one.name << ": " << one.text;
}

TEST(DoctorPort, PeerNeedsAnAddressAndOneQueue) {
  PortFacts port = sound_port();
  expect(check(port), "peer", CheckVerdict::Info, "RoCE may arrive on 4",
         "ethtool -L eth7 combined 1, or peer's --steer where the NIC has flow rules");
  port.queues = {1, 1};
  expect(check(port), "peer", CheckVerdict::Ok, "QPs at 192.0.2.2/24");
  port.addresses.clear();
  expect(check(port), "peer", CheckVerdict::Info, "no address",
         "ip address add 192.0.2.2/24 dev eth7");
}

TEST(DoctorPort, XdpCannotBeTold) {
  PortFacts port = sound_port();
  port.xdp = Error{"the kernel does not report it", "6.3 does"};
  port.link.mtu = 9000;
  const Checks checks = check(port);
  expect(checks, "native", CheckVerdict::Unknown, "cannot check", "attach eth7");
  expect(checks, "mtu", CheckVerdict::Info, "PMTU 4096");
  EXPECT_TRUE(find(checks, "redirect").text.empty());
}

TEST(DoctorPort, PoorDriver) {
  PortFacts port = sound_port();
  port.xdp = XdpFeatures{};
  port.zero_copy.reset();
  port.queues = {1, 8};
  const Checks checks = check(port);
  expect(checks, "native", CheckVerdict::Warn, "no native XDP");
  expect(checks, "redirect", CheckVerdict::Info, "--mode skb");
  expect(checks, "zero_copy", CheckVerdict::Info,
         "copies each frame, so send and respond are slower: "
         "mlx5_core has no zero-copy");
  expect(checks, "queues", CheckVerdict::Info, "one CPU does all", "ethtool -L eth7 combined 4");
}

// The driver's word for zero-copy is not a socket's that has it.
TEST(DoctorPort, ZeroCopyIsTriedOrNotTried) {
  PortFacts port = sound_port();
  expect(check(port), "zero_copy", CheckVerdict::Ok, "tried on queue 0");
  port.zero_copy = afxdp::ZeroCopyTrial{false, {"it is refused", "another device"}};
  expect(check(port), "zero_copy", CheckVerdict::Info, "copies each frame", "another device");
  port.zero_copy = Result<afxdp::ZeroCopyTrial>(Error{"queue 0 is taken", "ss --xdp"});
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "without result: queue 0 is taken",
         "ss --xdp");
  port.zero_copy.reset();
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "not tried: the driver has zero-copy",
         "xdp-roce doctor eth7 --try");
  port.netns = "box";
  port.xdp = Error{"the kernel does not report it", "6.3 does"};
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "not tried",
         "xdp-roce --netns box doctor eth7 --try");
  port.program = "/opt/roce/xdp-roce"; // as it was called
  port.asked = "/opt/roce/xdp-roce -v --netns box doctor eth7";
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "not tried",
         "/opt/roce/xdp-roce -v --netns box doctor eth7 --try");
  // What a driver says it has not need not be tried.
  XdpFeatures xdp;
  xdp.native = xdp.zero_copy = true;
  xdp.zero_copy_frags = 1;
  port.xdp = xdp;
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "not tried");
  port.link.mtu = 9000;
  expect(check(port), "zero_copy", CheckVerdict::Info, "several buffers, as MTU 9000 needs",
         "ip link set eth7 mtu 3500");
  xdp.zero_copy_frags = 8;
  port.xdp = xdp;
  expect(check(port), "zero_copy", CheckVerdict::Unknown, "not tried");
}

TEST(ZeroCopy, WhyASocketCopies) {
  XdpFeatures has;
  has.native = has.zero_copy = true;
  const afxdp::ZeroCopyPort virtio{"eth1", "virtio_net", 1500, 1522};
  EXPECT_NE(afxdp::why_copied(virtio, has, false).hint.find("iommu_platform=on"),
            std::string::npos);
  const Error idle = afxdp::why_copied({"eth2", "ice", 1500, 1522}, has, true);
  EXPECT_EQ(idle.message, "ice sends by zero-copy only while an XDP program is on the port");
  EXPECT_EQ(idle.hint, "xdp-roce attach eth2");
  EXPECT_EQ(afxdp::why_copied({"eth2", "", 1500, 1522}, Error{}, false).message,
            "the driver has no zero-copy, or refuses it");
  EXPECT_FALSE(afxdp::known_to_copy(virtio, Error{}));
  EXPECT_EQ(afxdp::known_to_copy(virtio, XdpFeatures{})->message, "virtio_net has no zero-copy");
}

// Intel's older NICs fill whole kilobytes of a buffer: 2,048 bytes less the kernel's 256 take
// 1,024.
TEST(DoctorPort, ChunksOfNicsThatTakeKilobytes) {
  EXPECT_EQ(afxdp::ChunkLayout::of(1522).chunk, 2048u);
  EXPECT_EQ(afxdp::ChunkLayout::of(1024, true).chunk, 2048u);
  for (const uint32_t longest : {1025u, 1522u, 3072u}) {
    const auto layout = afxdp::ChunkLayout::of(longest, true);
    EXPECT_EQ(layout.chunk, 4096u) << longest;
    EXPECT_EQ(layout.received, 1u) << longest;
    EXPECT_FALSE(layout.several) << longest;
  }
  EXPECT_TRUE(afxdp::ChunkLayout::of(3073, true).several);
  EXPECT_FALSE(afxdp::ChunkLayout::of(3073).several);
  XdpFeatures has;
  has.native = has.zero_copy = true;
  has.zero_copy_frags = 1;
  EXPECT_FALSE(afxdp::known_to_copy({"eth2", "igb", 1500, 1522}, has));
  const auto copied = afxdp::known_to_copy({"eth2", "igb", 3500, 3522}, has);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->message,
            "igb has no zero-copy for frames in several buffers, as MTU 3500 needs");
  EXPECT_EQ(copied->hint, "ip link set eth2 mtu 3000");
}

TEST(DoctorPort, DriverThatForgetsItsProgram) {
  PortFacts port = sound_port();
  port.link.driver = "vmxnet3";
  expect(check(port), "native", CheckVerdict::Warn,
         "vmxnet3 forgets its program when the port goes down", "attach eth7 --mode skb");
}

TEST(DoctorPort, ClockOfTheNic) {
  PortFacts port = sound_port();
  expect(check(port), "clock", CheckVerdict::Info, "no clock of its own");
  port.clock = host::NicClock{2, true};
  port.clock_offset = host::ClockOffset{37'000'000'012, 12, 300};
  port.xdp->rx_time = true;
  port.xdp->tx_time = false;
  expect(check(port), "clock", CheckVerdict::Ok,
         "/dev/ptp2, 12 ns ahead of CLOCK_TAI (known within 300 ns); the driver gives XDP receive "
         "times: yes, its hash: unknown; AF_XDP transmit times: no");
  port.clock->stamps_received = false;
  port.clock_offset = Error{"cannot open /dev/ptp2: Permission denied (EACCES)"};
  expect(check(port), "clock", CheckVerdict::Ok, "cannot be read: cannot open /dev/ptp2",
         "as root: ");
  expect(check(port), "clock", CheckVerdict::Ok, "does not stamp every received frame");
}

TEST(DoctorPort, QueuesThatTheDeviceCanHave) {
  PortFacts port = sound_port();
  port.queues = {1, 2};
  expect(check(port), "queues", CheckVerdict::Info, "1 receive queue, 4 CPUs",
         "ethtool -L eth7 combined 2");
  for (const uint32_t most : {0u, 1u}) { // unknown, or no more
    port.queues.most_combined = most;
    expect(check(port), "queues", CheckVerdict::Info, "one CPU does all");
    EXPECT_EQ(find(check(port), "queues").hint, "");
  }
}

TEST(DoctorPort, LargeMtuWithoutFrags) {
  PortFacts port = sound_port();
  XdpFeatures xdp;
  xdp.native = true;
  port.xdp = xdp;
  port.link.mtu = 4200;
  expect(check(port), "mtu", CheckVerdict::Warn, "PMTU 4096", "ip link set eth7 mtu 3498");
  xdp.frags = true;
  port.xdp = xdp;
  expect(check(port), "mtu", CheckVerdict::Ok, "several buffers");
  port.link.mtu = 300;
  expect(check(port), "mtu", CheckVerdict::Warn, "no RoCE packet");
}

// A packet's headers around the payload: IPv6, UDP, BTH, RETH, immediate and iCRC, 84 bytes.
TEST(DoctorPort, MtuAtItsBoundaries) {
  PortFacts port = sound_port();
  const auto said = [&](uint32_t mtu) {
    port.link.mtu = mtu;
    return find(check(port), "mtu");
  };
  for (const uint32_t pmtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    EXPECT_NE(said(pmtu + 84).text.find(fmt::format("PMTU {} fit", pmtu)), std::string::npos);
    EXPECT_EQ(said(pmtu + 83).text.find(fmt::format("PMTU {} fit", pmtu)), std::string::npos);
  }
  EXPECT_EQ(said(256 + 84).verdict, CheckVerdict::Ok);
  EXPECT_EQ(said(256 + 83).verdict, CheckVerdict::Warn);
  // 3498 is the most that one buffer has room for.
  port.xdp = XdpFeatures{.native = true};
  EXPECT_EQ(said(3498).verdict, CheckVerdict::Ok);
  EXPECT_EQ(said(3499).verdict, CheckVerdict::Warn);
}

TEST(DoctorPort, TroublesAndTheirCommands) {
  PortFacts port = sound_port();
  port.link.running = false;
  port.troubles = std::vector<datapath::Trouble>{
      {"eth7", "eth7 has no carrier", "ethtool eth7"},
      {"eth7", "eth7 has rx-lro on: fewer frames", "ethtool -K eth7 rx-lro off", true}};
  const Checks checks = check(port);
  expect(checks, "link", CheckVerdict::Warn, "no carrier", "ethtool eth7");
  expect(checks, "frames", CheckVerdict::Warn, "rx-lro", "ethtool -K eth7 rx-lro off");
}

TEST(DoctorPort, HintsEnterItsNamespace) {
  PortFacts port = sound_port();
  port.netns = "box";
  expect(check(port), "promiscuous", CheckVerdict::Info, "other VLANs",
         "ip -n box link set eth7 promisc on");
  port.link.promiscuous = true;
  expect(check(port), "promiscuous", CheckVerdict::Ok, "");
  EXPECT_EQ(port.command("ethtool -K eth7 gro on"),
            "nsenter --net=/run/netns/box ethtool -K eth7 gro on"); // ethtool takes no namespace
}

TEST(DoctorPort, WhatFixChanged) {
  PortFacts port = sound_port();
  port.troubles = std::vector<datapath::Trouble>{
      {"eth7", "eth7 has rx-lro on", "ethtool -K eth7 rx-lro off", true, true}};
  const Checks checks = check(port);
  expect(checks, "fixed", CheckVerdict::Ok, "changed, as `ethtool -K eth7 rx-lro off` does");
  expect(checks, "frames", CheckVerdict::Ok, "as they come");
}

TEST(DoctorReceive, WhatIsThere) {
  const Checks checks = check(sound_port());
  expect(checks, "numa", CheckVerdict::Ok, "NUMA node 1, with processors 2-3,6");
  expect(checks, "interrupts", CheckVerdict::Ok, "queue 0 on 2, queue 1 on 3, queue 2 on 0-3",
         "echo 2 >/proc/irq/61/smp_affinity_list");
  expect(checks, "coalescing", CheckVerdict::Ok, "rx-usecs 0, rx-frames 1, adaptive rx off");
  expect(checks, "rings", CheckVerdict::Ok, "receive 1024 of at most 1024, transmit 512 of 8192");
  expect(checks, "lro", CheckVerdict::Ok, "off");
  expect(checks, "rss", CheckVerdict::Ok, "8 entries of its table: queue 0-3; UDP ports are hashed",
         "ethtool -X eth7 equal 1");
  expect(checks, "steering", CheckVerdict::Info, "2 flow rules set; they are off",
         "ethtool -K eth7 ntuple on");
  EXPECT_TRUE(find(checks, "rps").text.empty());
}

TEST(DoctorReceive, WhatCouldBeBetter) {
  PortFacts port = sound_port();
  port.netns = "box";
  const std::string in_box = "nsenter --net=/run/netns/box ";
  port.receive.coalescing = Coalescing{8, 128, true, false};
  port.receive.rings->rx = 512;
  port.receive.hashes_ports = false;
  port.receive.flow_rules = 1;
  port.features = Features{{"rx-ntuple-filter", true}, {"rx-gro-hw", true}};
  port.device.interrupts[1].processors = {0};
  port.device.packet_steering = {"/sys/class/net/eth7/queues/rx-0/rps_cpus"};
  const Checks checks = check(port);
  expect(checks, "interrupts", CheckVerdict::Warn, "another NUMA node serve queue 1: queue 0 on 2",
         "echo 2-3,6 >/proc/irq/62/smp_affinity_list");
  expect(checks, "rps", CheckVerdict::Info, "nothing for XDP",
         "echo 0 >/sys/class/net/eth7/queues/rx-0/rps_cpus");
  expect(checks, "coalescing", CheckVerdict::Info,
         "rx-usecs 8, rx-frames 128, adaptive rx on and tx off: a frame may wait",
         in_box + "ethtool -C eth7 adaptive-rx off rx-usecs 0");
  expect(checks, "rings", CheckVerdict::Info, "resets the port",
         in_box + "ethtool -G eth7 rx 1024");
  expect(checks, "rss", CheckVerdict::Warn, "ports are not hashed",
         in_box + "ethtool -N eth7 rx-flow-hash udp4 sdfn");
  expect(checks, "steering", CheckVerdict::Unknown, "1 flow rule set; whether",
         "doctor eth7 --try");
  port.flow_rule = Status();
  expect(check(port), "steering", CheckVerdict::Ok, "--steer works", "respond eth7 --steer");
  port.flow_rule = Status(Error{"refused", "ethtool -X eth7 equal 1"});
  expect(check(port), "steering", CheckVerdict::Info, "refused", "ethtool -X eth7 equal 1");
  EXPECT_TRUE(find(checks, "lro").text.empty()); // "frames" has it
  port.receive.hashes_ports.reset();
  expect(check(port), "rss", CheckVerdict::Info, "not known");
  port.receive.rss = {0, 0};
  expect(check(port), "rss", CheckVerdict::Ok, "queue 0, where all RoCE arrives");
}

TEST(DoctorReceive, WhatADriverHasNot) {
  PortFacts port = sound_port();
  port.receive = {};
  port.device = {};
  for (const char *name : {"numa", "interrupts", "coalescing", "rings", "rss", "steering"})
    expect(check(port), name, CheckVerdict::Info, "no ");
}

TEST_F(Tree, DeviceOfAPort) {
  const std::string device = "/sys/bus/pci/devices/0000:08:00.0/";
  const std::string queues = "/sys/class/net/eth7/queues/";
  put(device + "numa_node", "1");
  put("/sys/devices/system/node/node1/cpulist", "2-3");
  for (const auto &[number, name] : {std::pair{"61", "mlx5_comp1@pci"}, {"62", "mlx5_comp0@pci"}}) {
    put(device + "msi_irqs/" + number, "msix");
    put(std::string("/sys/kernel/irq/") + number + "/actions", name);
    put(std::string("/proc/irq/") + number + "/smp_affinity_list", "0-7");
  }
  put(queues + "rx-0/rps_cpus", "00000000,00000000");
  put(queues + "rx-1/rps_cpus", "00000000,00000002");
  PortFacts port = sound_port();
  port.link.bus = "0000:08:00.0";
  read_device(files(), true, port);
  EXPECT_EQ(port.device.topology.port_node, 1);
  ASSERT_EQ(port.device.interrupts.size(), 2U);
  EXPECT_EQ(port.device.interrupts[0].number, "62");
  EXPECT_EQ(port.device.interrupts[1].processors.size(), 8U);
  EXPECT_EQ(port.device.packet_steering, std::vector<std::string>{queues + "rx-1/rps_cpus"});
  read_device(files(), false, port);
  EXPECT_TRUE(port.device.packet_steering.empty());
}

TEST(DoctorPort, WhoIsOnTheHook) {
  PortFacts port = sound_port();
  datapath::Hook hook;
  hook.mode = Mode::Skb;
  hook.programs = {{7, "someone"}};
  port.hook = hook;
  expect(check(port), "hook", CheckVerdict::Fail, "someone (id 7)",
         "ip link set dev eth7 xdpgeneric off");
  hook.programs = {{7, ""}};
  port.hook = hook;
  expect(check(port), "hook", CheckVerdict::Unknown, "name");
  hook.programs = {{7, datapath::kProgramName}};
  port.hook = hook;
  expect(check(port), "hook", CheckVerdict::Ok, "xdp-roce is on it, in skb mode");
  hook.programs = {{7, datapath::kProgramName}, {8, "someone"}};
  hook.dispatcher = true;
  port.hook = hook;
  expect(check(port), "hook", CheckVerdict::Ok, "room for more");
}

// An attribute as netlink has it.
std::string attribute(uint16_t type, const std::string &data) {
  const rtattr head{static_cast<uint16_t>(sizeof(head) + data.size()), type};
  std::string out(reinterpret_cast<const char *>(&head), sizeof(head));
  out += data;
  out.resize(RTA_ALIGN(out.size()));
  return out;
}
template <typename T> std::string bytes(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

TEST(DoctorNetlink, XdpFeatures) {
  const std::string head = bytes(genlmsghdr{1, 1, 0});
  // BASIC, REDIRECT, ZEROCOPY, RX_SG
  const std::string body = head + attribute(1, bytes(uint32_t{9})) +
                           attribute(3, bytes(uint64_t{1 | 2 | 8 | 32})) +
                           attribute(4, bytes(uint32_t{17}));
  const auto found = parse_xdp_features(body, 9);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found.get().native && found.get().redirect && found.get().zero_copy &&
              found.get().frags);
  EXPECT_FALSE(found.get().transmits || found.get().transmits_frags);
  EXPECT_EQ(found.get().zero_copy_frags, 17u);
  EXPECT_FALSE(found.get().rx_time || found.get().tx_time); // an older kernel does not say
  const auto newer = parse_xdp_features(
      body + attribute(5, bytes(uint64_t{2})) + attribute(6, bytes(uint64_t{1 | 4})), 9);
  ASSERT_TRUE(newer.ok());
  EXPECT_EQ(newer.get().rx_time, false);
  EXPECT_EQ(newer.get().rx_hash, true);
  EXPECT_EQ(newer.get().tx_time, true);
  EXPECT_EQ(newer.get().launch_time, true);
  EXPECT_FALSE(parse_xdp_features(body, 10).ok());
  EXPECT_FALSE(parse_xdp_features(head, 9).ok());
  EXPECT_FALSE(parse_xdp_features("", 9).ok());
  for (size_t cut = 0; cut < body.size(); cut++)
    (void)parse_xdp_features(body.substr(0, cut), 9);
}

TEST(DoctorNetlink, Pfc) {
  ieee_pfc pfc{};
  pfc.pfc_en = 1 << 3;
  pfc.requests[3] = 12;
  pfc.indications[3] = 34;
  const std::string body =
      bytes(dcbmsg{0, DCB_CMD_IEEE_GET, 0}) + attribute(DCB_ATTR_IFNAME, "eth7") +
      attribute(DCB_ATTR_IEEE | NLA_F_NESTED, attribute(DCB_ATTR_IEEE_PFC, bytes(pfc)));
  const auto found = parse_pfc(body);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.get().enabled, 8);
  EXPECT_EQ(found.get().requests[3], 12u);
  EXPECT_EQ(found.get().indications[3], 34u);
  EXPECT_FALSE(parse_pfc(bytes(dcbmsg{})).ok());
  for (size_t cut = 0; cut < body.size(); cut++)
    (void)parse_pfc(body.substr(0, cut));
}

// An attribute whose length is not the kernel's: shorter is the rest 0, longer is cut.
TEST(DoctorNetlink, AttributesOfOtherLengths) {
  const std::string run =
      attribute(1, std::string(1, 7)) + attribute(2, bytes(uint64_t{9} << 32 | 5));
  std::vector<std::pair<int, uint32_t>> seen;
  each_attribute(run, [&](const Attribute &a) { seen.emplace_back(a.type, a.as<uint32_t>()); });
  EXPECT_EQ(seen, (std::vector<std::pair<int, uint32_t>>{{1, 7}, {2, 5}}));
}

// The layout of netlink(7), made here by hand once more.
TEST(DoctorNetlink, RequestsNest) {
  Request request(RTM_NEWLINK, NLM_F_ACK, ifinfomsg{});
  request.add(IFLA_IFNAME, "a").nest(IFLA_LINKINFO, [](Request &r) {
    r.add(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, [](Request &d) { d.add(1, uint32_t{8}); });
  });
  const std::string data =
      attribute(IFLA_INFO_DATA | NLA_F_NESTED, attribute(1, bytes(uint32_t{8})));
  const std::string body = bytes(ifinfomsg{}) + attribute(IFLA_IFNAME, std::string("a\0", 2)) +
                           attribute(IFLA_LINKINFO | NLA_F_NESTED,
                                     attribute(IFLA_INFO_KIND, std::string("veth\0", 5)) + data);
  const nlmsghdr *head = request.message();
  ASSERT_EQ(head->nlmsg_len, sizeof(nlmsghdr) + body.size());
  EXPECT_EQ(head->nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(head->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(head + 1), body.size()), body);
  EXPECT_TRUE(request.fits());
}

TEST(DoctorNetlink, ARequestThatIsTooLongIsNotSent) {
  Request request(RTM_GETLINK, NLM_F_ACK, ifinfomsg{});
  request.add(IFLA_IFNAME, std::string(960, 'x')).nest(IFLA_LINKINFO, [](Request &r) {
    r.header(std::array<char, 64>{}).add(IFLA_INFO_KIND, std::string(64, 'y'));
  });
  EXPECT_FALSE(request.fits());
  EXPECT_LE(request.message()->nlmsg_len, 1024u);
  EXPECT_EQ(ask(request, {}).error, EMSGSIZE);
}

// Loopback is in every namespace, and reading needs no privilege.
TEST(DoctorNetlink, AsksTheKernel) {
  std::string name;
  ifinfomsg head{};
  head.ifi_index = 1;
  const auto use = [&](uint16_t type, std::string_view body) {
    EXPECT_EQ(type, RTM_NEWLINK);
    each_attribute(body.substr(sizeof(ifinfomsg)), [&](const Attribute &a) {
      if (a.type == IFLA_IFNAME)
        name = a.text();
    });
  };
  EXPECT_EQ(ask(Request(RTM_GETLINK, NLM_F_ACK, head), use).error, 0);
  EXPECT_EQ(name, "lo");
  int links = 0;
  EXPECT_EQ(ask(Request(RTM_GETLINK, NLM_F_DUMP, ifinfomsg{}),
                [&](uint16_t, std::string_view) { links++; })
                .error,
            0);
  EXPECT_GT(links, 0);
  // The kernel's reason comes with its refusal.
  const Answer refused = ask(Request(RTM_GETNEIGH, NLM_F_ACK, ndmsg{}), {});
  EXPECT_EQ(refused.error, EINVAL);
  EXPECT_FALSE(refused.words.empty());
}

class DoctorRdma : public Tree {
protected:
  Checks look(const std::string &peer = "", const Result<Pfc> &pfc = Pfc{},
              const std::string &master = "") const {
    Checks checks;
    PortFacts port = sound_port();
    port.link.master = master;
    port.pfc = pfc;
    check_rdma(files(), port, peer, checks);
    return checks;
  }
};

TEST_F(DoctorRdma, None) {
  put_rdma("mlx5_0", "mlx5_core", "eth0"); // on another port
  const Checks checks = look("", Error{"the driver does not report it"});
  expect(checks, "place", CheckVerdict::Ok, "no RDMA device on eth7",
         "rdma link add rxe_eth7 type rxe netdev eth7");
  expect(checks, "pfc", CheckVerdict::Unknown, "does not report it");
  EXPECT_EQ(checks.size(), 2u);
  Checks list;
  list_rdma(files(), list);
  expect(list, "rdma_device", CheckVerdict::Info, "mlx5_0/1: mlx5, on eth0, RoCE v1, RoCE v2");
}

TEST_F(DoctorRdma, Mlx5) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_cm("mlx5_0", "RoCE v2", 106);
  const std::string ecn = "/sys/class/net/eth7/ecn/";
  for (int i = 0; i < 8; i++) {
    put(ecn + "roce_np/enable/" + std::to_string(i), i == 3 || i == 5 ? "1" : "0");
    put(ecn + "roce_rp/enable/" + std::to_string(i), "0");
  }
  put(ecn + "roce_np/cnp_dscp", "48");
  put(ecn + "roce_np/cnp_802p_prio", "6");
  put(ecn + "roce_np/min_time_between_cnps", "4");
  put_counter("mlx5_0", "packet_seq_err", 12);
  put_counter("mlx5_0", "out_of_sequence", 0);
  Pfc pfc;
  pfc.enabled = 1 << 3;
  pfc.indications[3] = 5;
  const Checks checks = look("", pfc);
  expect(checks, "place", CheckVerdict::Warn, "bypass the kernel", "mirror");
  expect(checks, "gids", CheckVerdict::Ok, "RoCE v1 and RoCE v2");
  expect(checks, "roce_mode", CheckVerdict::Ok, "RoCE v2");
  expect(checks, "roce_tos", CheckVerdict::Ok, "TOS 106 (DSCP 26)");
  expect(checks, "ecn_np", CheckVerdict::Ok, "at priorities 3, 5");
  expect(checks, "ecn_rp", CheckVerdict::Warn, "off at all", "ecn/roce_rp/enable");
  expect(checks, "cnp", CheckVerdict::Ok, "DSCP 48, priority 6, at least 4 us apart");
  expect(checks, "hw_counters", CheckVerdict::Info, "packet_seq_err 12; 0: out_of_sequence",
         "--nic");
  expect(checks, "pfc", CheckVerdict::Ok, "priorities 3; priority 3 sent 0 and received 5");
  expect(look("", Pfc{}), "pfc", CheckVerdict::Warn, "lossy", "dcb pfc set dev eth7");
}

// The GIDs of a RoCE LAG are the bond's; its packets use both members, one of which is the
// device's.
TEST_F(DoctorRdma, Bond) {
  put_rdma("mlx5_bond_0", "mlx5_core", "bond0");
  expect(look(), "place", CheckVerdict::Ok, "no RDMA device on eth7");
  const std::string second = "mlx5_bond_0/1 (mlx5) uses bond0, which eth7 is a port of: its "
                             "QPs' packets bypass the kernel";
  const Checks checks = look("", Pfc{}, "bond0");
  expect(checks, "place", CheckVerdict::Warn, second, "mirror");
  expect(checks, "gids", CheckVerdict::Ok, "RoCE v1 and RoCE v2");
  expect(checks, "pfc", CheckVerdict::Warn, "lossy", "dcb pfc set dev eth7");
  expect(look("", Pfc{}, "bond1"), "place", CheckVerdict::Ok, "no RDMA device on eth7");
  std::filesystem::create_directories(root_ + "/sys/class/infiniband/mlx5_bond_0/device/net/eth7");
  expect(look(), "place", CheckVerdict::Warn, "mlx5_bond_0/1 (mlx5) uses eth7: its QPs' packets");
}

TEST_F(DoctorRdma, Mlx5OfTheKernelTellsInDebugfs) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  expect(look(), "ecn", CheckVerdict::Unknown, "mlx5", "debugfs");
  const std::string cc = "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/";
  put(cc + "np_cnp_dscp", "46");
  put(cc + "np_cnp_prio", "5");
  expect(look(), "cnp", CheckVerdict::Ok, "DSCP 46, priority 5");
}

TEST_F(DoctorRdma, Rxe) {
  put_rdma("rxe0", "", "eth7");
  put_counter("rxe0", "out_of_seq_request", 0);
  const Checks checks = look();
  expect(checks, "place", CheckVerdict::Ok, "rxe0/1 (rxe) runs over eth7");
  expect(checks, "ecn", CheckVerdict::Info, "no CE marks");
  expect(checks, "hw_counters", CheckVerdict::Ok, "out_of_seq_request");
  expect(checks, "pfc", CheckVerdict::Info, "off");
}

TEST_F(DoctorRdma, Irdma) {
  put_rdma("rocep59s0", "ice", "eth7");
  put_counter("rocep59s0", "cnpSent", 3);
  put_counter("rocep59s0", "RxECNMrkd", 9);
  const Checks checks = look();
  expect(checks, "place", CheckVerdict::Warn, "rocep59s0/1 (irdma)");
  expect(checks, "ecn", CheckVerdict::Unknown, "irdma does not report");
  expect(checks, "hw_counters", CheckVerdict::Info, "cnpSent 3, RxECNMrkd 9");
}

// RDMA over TCP, with any driver: no RoCE check reports anything.
TEST_F(DoctorRdma, Iwarp) {
  put_rdma("siw0", "", "eth7");
  std::filesystem::remove(root_ + "/sys/class/infiniband/siw0/parent"); // rxe's alone
  put_iwarp("siw0");
  Checks checks = look("v1");
  expect(checks, "place", CheckVerdict::Info, "siw0/1 (siw) on eth7 speaks iWARP");
  expect(checks, "peer_mode", CheckVerdict::Unknown, "no RoCE device on eth7");
  EXPECT_EQ(checks.size(), 4u); // its state, and PFC
  checks.clear();
  list_rdma(files(), checks);
  expect(checks, "rdma_device", CheckVerdict::Info, "siw0/1: siw, on eth7, iWARP");
  // Beside one of RoCE; in iWARP mode irdma bypasses the kernel, but with nothing to count.
  put_rdma("rocep59s0", "ice", "eth7");
  checks = look();
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check &one) { return one.name == "place"; }),
            2);
  EXPECT_FALSE(find(checks, "gids").text.empty());
  put_iwarp("rocep59s0");
  expect(look(), "place", CheckVerdict::Info, "rocep59s0/1 (irdma) on eth7 speaks iWARP");
  EXPECT_TRUE(find(look(), "gids").text.empty());
}

TEST_F(DoctorRdma, StateOfThePort) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_link_layer("mlx5_0", "Ethernet");
  expect(look(), "rdma_port", CheckVerdict::Unknown, "mlx5_0/1 does not report");
  put_state("mlx5_0", "4: ACTIVE", "5: LinkUp");
  const std::string all = "mlx5_0/1: ACTIVE, LinkUp, 100 Gb/sec (4X EDR), firmware 16.35.2000";
  expect(look(), "rdma_port", CheckVerdict::Ok, all);
  EXPECT_EQ(find(look(), "rdma_port").text, all);
  Checks list;
  list_rdma(files(), list);
  expect(list, "rdma_device", CheckVerdict::Info,
         "on eth7, RoCE v1, RoCE v2; ACTIVE, LinkUp, 100 Gb/sec (4X EDR), firmware 16.35.2000");
  put_state("mlx5_0", "5: ACTIVE_DEFER", "5: LinkUp");
  expect(look(), "rdma_port", CheckVerdict::Ok, "ACTIVE_DEFER");
  put_state("mlx5_0", "1: DOWN", "3: Disabled");
  expect(look(), "rdma_port", CheckVerdict::Warn, "DOWN, Disabled, 100 Gb/sec",
         "ip link set eth7 up");
  // A subnet manager is InfiniBand's.
  put_state("mlx5_0", "2: INIT", "5: LinkUp");
  expect(look(), "rdma_port", CheckVerdict::Warn, "INIT, LinkUp", "ip link set eth7 up");
}

// The kernel calls its GIDs "IB/RoCE v1" too.
TEST_F(DoctorRdma, InfiniBand) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_link_layer("mlx5_0", "InfiniBand");
  put_state("mlx5_0", "2: INIT", "5: LinkUp");
  put_cm("mlx5_0", "IB/RoCE v1", 0);
  Checks checks = look("v1");
  expect(checks, "place", CheckVerdict::Info,
         "mlx5_0/1 (mlx5) on eth7 is an InfiniBand port: no RoCE");
  expect(checks, "rdma_port", CheckVerdict::Warn, "INIT, LinkUp", "opensm");
  expect(checks, "peer_mode", CheckVerdict::Unknown, "no RoCE device on eth7");
  for (const char *name : {"gids", "roce_mode", "ecn", "hw_counters"})
    EXPECT_TRUE(find(checks, name).text.empty()) << name;
  put_state("mlx5_0", "1: DOWN", "2: Polling");
  expect(look(), "rdma_port", CheckVerdict::Warn, "DOWN, Polling", "ip link set eth7 up");
  checks.clear();
  list_rdma(files(), checks);
  expect(checks, "rdma_device", CheckVerdict::Info, "mlx5_0/1: mlx5, on eth7, InfiniBand; DOWN");
  EXPECT_EQ(find(checks, "rdma_device").text.find("RoCE"), std::string::npos);
}

TEST_F(DoctorRdma, BothNamesOfRoceV1) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  for (const char *name : {"IB/RoCE v1", "RoCE v1"}) {
    put("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", name);
    put_cm("mlx5_0", name, 0);
    expect(look(), "gids", CheckVerdict::Ok, "GIDs of RoCE v1 and RoCE v2");
    expect(look(), "roce_mode", CheckVerdict::Ok, "RDMA-CM begins with RoCE v1");
    expect(look("v1"), "peer_mode", CheckVerdict::Ok, "RoCE v1 here fits a peer of RoCE v1");
  }
}

TEST_F(DoctorRdma, NoGidAndNoCounters) {
  put("/sys/class/infiniband/rxe0/parent", "eth7");
  put("/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN");
  const Checks checks = look();
  expect(checks, "gids", CheckVerdict::Warn, "no GID", "ip link set eth7 up");
  expect(checks, "hw_counters", CheckVerdict::Unknown, "no hw_counters");
}

TEST_F(DoctorRdma, PeerModes) {
  const auto fits = [&](const std::string &own, const std::string &peer) {
    put_cm("mlx5_0", own == "v1" ? "IB/RoCE v1" : "RoCE v2", 0);
    return find(look(peer), "peer_mode");
  };
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  EXPECT_EQ(fits("v1", "v1").verdict, CheckVerdict::Ok);
  EXPECT_EQ(fits("v2", "v2").verdict, CheckVerdict::Ok);
  EXPECT_NE(fits("v1", "v2").text.find("a peer of RoCE v2 cannot connect to a server here"),
            std::string::npos);
  EXPECT_NE(fits("v2", "v1").text.find("a client here, which is RoCE v2, cannot connect"),
            std::string::npos);
  EXPECT_EQ(fits("v2", "v1").verdict, CheckVerdict::Warn);
  EXPECT_NE(fits("v2", "v1").hint.find("--set-roce-mode v1 --rdma-dev mlx5_0 --rdma-port 1"),
            std::string::npos);
  // All four, client to server.
  EXPECT_TRUE(modes_fit("v1", "v1"));
  EXPECT_TRUE(modes_fit("v1", "v2"));
  EXPECT_TRUE(modes_fit("v2", "v2"));
  EXPECT_FALSE(modes_fit("v2", "v1"));
}

TEST_F(DoctorRdma, PeerModeWithoutADevice) {
  put_rdma("mlx5_0", "mlx5_core", "eth0"); // on another port
  expect(look("v1"), "peer_mode", CheckVerdict::Unknown,
         "cannot check whether a peer of RoCE v1 fits: no RDMA device on eth7");
  EXPECT_TRUE(find(look(), "peer_mode").text.empty());
}

// /sys is not its namespace's; dcbnl was asked inside.
TEST(DoctorElsewhere, TellsWhatCanBeTold) {
  PortFacts port = sound_port();
  port.netns = "box";
  port.pfc = Pfc{};
  Checks checks;
  rdma_elsewhere(port, "v2", checks);
  expect(checks, "place", CheckVerdict::Unknown, "/sys belongs to another network namespace",
         "xdp-roce --netns box doctor eth7");
  expect(checks, "peer_mode", CheckVerdict::Unknown,
         "a peer of RoCE v2 fits: /sys belongs to another network namespace");
  expect(checks, "pfc", CheckVerdict::Info, "off at all priorities", "dcb -n box pfc set dev eth7");
  Pfc on;
  on.enabled = 1 << 3;
  port.pfc = on;
  checks.clear();
  rdma_elsewhere(port, "", checks);
  EXPECT_TRUE(find(checks, "peer_mode").text.empty());
  expect(checks, "pfc", CheckVerdict::Ok, "on at priorities 3");
}

TEST_F(DoctorRdma, ModeCannotBeTold) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  expect(look("v1"), "roce_mode", CheckVerdict::Unknown, "configfs is not mounted",
         "mount -t configfs");
  expect(look("v1"), "peer_mode", CheckVerdict::Unknown, "v1");
  put("/proc/mounts", "configfs /sys/kernel/config configfs rw 0 0");
  expect(look(), "roce_mode", CheckVerdict::Unknown, "rdma_cm is not loaded", "modprobe rdma_cm");
  std::filesystem::create_directories(root_ + "/sys/kernel/config/rdma_cm");
  expect(look(), "roce_mode", CheckVerdict::Unknown, "not shown", "mkdir");
}

class DoctorSetMode : public Tree {
protected:
  Status set(const std::string &device, const std::string &port, const std::string &mode) const {
    return set_roce_mode(files(), device, port, mode);
  }
  static void expect_error(const Status &status, const std::string &words) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
    EXPECT_FALSE(status.error().hint.empty());
  }
};

TEST_F(DoctorSetMode, WritesWhatTheKernelTakes) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_cm("mlx5_0", "RoCE v2", 0);
  const std::string entry = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode";
  ASSERT_TRUE(set("mlx5_0", "1", "v1").ok());
  EXPECT_EQ(files().line(entry), "IB/RoCE v1");
  ASSERT_TRUE(set("mlx5_0", "1", "v2").ok());
  EXPECT_EQ(files().line(entry), "RoCE v2");
}

// The kernel's text of a GID's type.
TEST_F(DoctorSetMode, WritesTheKernelsOwnName) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "RoCE v1");
  put_cm("mlx5_0", "RoCE v2", 0);
  ASSERT_TRUE(set("mlx5_0", "1", "v1").ok());
  EXPECT_EQ(files().line("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode"), "RoCE v1");
}

TEST_F(DoctorSetMode, TypeOfService) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_cm("mlx5_0", "RoCE v2", 0);
  const std::string entry = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos";
  const auto set_tos = [&](uint8_t tos) { return set_roce_tos(files(), "mlx5_0", "1", tos); };
  for (const uint8_t tos : {106, 255, 0}) {
    ASSERT_TRUE(set_tos(tos).ok());
    EXPECT_EQ(files().line(entry), std::to_string(tos));
  }
  EXPECT_EQ(files().line("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode"), "RoCE v2");
  std::filesystem::remove(root_ + entry);
  expect_error(set_tos(1), "there is no /sys/kernel/config/rdma_cm/mlx5_0");
  std::filesystem::create_symlink("/dev/null", root_ + entry); // keeps nothing
  expect_error(set_tos(1), "1 was written and '' is read back");
  expect_error(set_roce_tos(files(), "mlx5_9", "1", 0), "no such RDMA device");
}

TEST_F(DoctorSetMode, OfRoceOnly) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_cm("mlx5_0", "IB/RoCE v1", 0);
  put_link_layer("mlx5_0", "InfiniBand");
  expect_error(set("mlx5_0", "1", "v2"), "mlx5_0/1 speaks InfiniBand, not RoCE");
  expect_error(set_roce_tos(files(), "mlx5_0", "1", 0), "mlx5_0/1 speaks InfiniBand");
  put_link_layer("mlx5_0", "Ethernet");
  put_iwarp("mlx5_0");
  expect_error(set("mlx5_0", "1", "v2"), "mlx5_0/1 speaks iWARP");
}

TEST_F(DoctorSetMode, SaysWhyNot) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  expect_error(set("mlx5_9", "1", "v1"), "no such RDMA device");
  expect_error(set("mlx5_0", "2", "v1"), "no such RDMA device");
  expect_error(set("mlx5_0", "1", "v1"), "configfs is not mounted");
  put("/proc/mounts", "configfs /sys/kernel/config configfs rw 0 0");
  expect_error(set("mlx5_0", "1", "v1"), "rdma_cm is not loaded");
  // The kernel fills a directory that is made there; a tree does not.
  std::filesystem::create_directories(root_ + "/sys/kernel/config/rdma_cm");
  expect_error(set("mlx5_0", "1", "v1"), "default_roce_mode");
  EXPECT_TRUE(files().exist("/sys/kernel/config/rdma_cm/mlx5_0"));
}

TEST_F(DoctorSetMode, ReadsBack) {
  put_rdma("mlx5_0", "mlx5_core", "eth7");
  put_cm("mlx5_0", "RoCE v2", 0);
  // Takes what is written and keeps nothing.
  const std::string entry = root_ + "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode";
  std::filesystem::remove(entry);
  std::filesystem::create_symlink("/dev/null", entry);
  expect_error(set("mlx5_0", "1", "v1"), "is read back");
}

TEST(DoctorReport, TextAndJsonSayTheSame) {
  const Checks checks = {{"kernel", "version", CheckVerdict::Ok, "6.1"},
                         {"port", "mtu", CheckVerdict::Fail, "too small", "ip link"}};
  const auto document = report::doctor_report("eth7", checks);
  const std::string text = report::to_text(document);
  const auto json = nlohmann::json::parse(report::to_json(document));
  EXPECT_NE(text.find("eth7: 1 ok, 0 warn, 1 fail"), std::string::npos) << text;
  EXPECT_NE(text.find("-> ip link"), std::string::npos) << text;
  ASSERT_EQ(json["checks"].size(), 2u);
  EXPECT_EQ(json["checks"][1]["status"], "fail");
  EXPECT_EQ(json["checks"][1]["hint"], "ip link");
  EXPECT_EQ(json["checks"][0]["group"], "kernel");
}

} // namespace
} // namespace doctor_test
