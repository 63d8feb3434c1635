// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "doctor/port_checker.h"
#include "host/driver_faults.h"

namespace xr::doctor {

namespace {

// The MTU that fits in one page with the headroom of XDP and the kernel; drivers differ by a few
// bytes.
constexpr uint32_t kLinearMtu = 3498;
// Headers around the payload of the largest packets: IPv6, UDP, BTH, RETH and immediate, iCRC.
constexpr uint32_t kRoceHeaders = 40 + 8 + 12 + 16 + 4 + 4;

uint32_t largest_pmtu(uint32_t mtu) {
  uint32_t pmtu = 4096;
  while (pmtu >= 256 && mtu < pmtu + kRoceHeaders)
    pmtu /= 2;
  return pmtu >= 256 ? pmtu : 0;
}

class PortChecker : public PortCheckerBase {
public:
  PortChecker(const PortFacts &facts, Checks &checks) : PortCheckerBase(facts, checks) {}

  void driver() {
    const auto &link = facts_.link;
    add("driver", link.driver.empty() ? CheckVerdict::Unknown : CheckVerdict::Ok,
        fmt::format("{}{}{}", link.driver.empty() ? "its driver is unknown" : link.driver,
                    link.kind.empty() || link.kind == link.driver ? "" : ", a " + link.kind,
                    link.master.empty() ? "" : ", a port of " + link.master));
  }

  // The preflight findings of a bridge that concern a single port.
  void troubles() {
    const auto &link = facts_.link;
    if (!facts_.troubles)
      return add("frames", CheckVerdict::Unknown, facts_.troubles.error().message,
                 facts_.troubles.error().hint);
    for (const auto &trouble : facts_.troubles.get())
      if (trouble.fixed)
        add("fixed", CheckVerdict::Ok,
            fmt::format("{}; changed, as `{}` does", trouble.text, trouble.hint));
      else
        add(trouble.fixable ? "frames" : "link", CheckVerdict::Warn, trouble.text, trouble.hint);
    if (link.running)
      add("link", CheckVerdict::Ok, "up, with carrier");
    if (std::none_of(facts_.troubles.get().begin(), facts_.troubles.get().end(),
                     [](const auto &t) { return t.fixable && !t.fixed; }))
      add("frames", CheckVerdict::Ok,
          "XDP sees frames as they come: no LRO, no stripped VLAN tags");
  }

  void gro() {
    if (facts_.features && on("rx-gro"))
      add("gro", CheckVerdict::Ok, "on, which changes nothing: it comes after XDP");
  }

  void native() {
    const std::string &ifname = facts_.link.ifname;
    if (!facts_.xdp)
      add("native", CheckVerdict::Unknown,
          fmt::format("cannot check whether {} has native XDP: {}", ifname,
                      facts_.xdp.error().message),
          facts_.our("attach " + ifname) + " tries it, and takes skb mode where there is none");
    else if (const auto fault = host::native_fault(facts_.link.driver);
             fault && facts_.xdp.get().native)
      add("native", CheckVerdict::Warn,
          fmt::format("the driver has native XDP, but {} {}", facts_.link.driver, *fault),
          facts_.our(fmt::format("attach {} --mode skb", facts_.link.ifname)) +
              ", or detach and attach again afterwards");
    else if (facts_.xdp.get().native)
      add("native", CheckVerdict::Ok, "the driver has native XDP");
    else
      add("native", CheckVerdict::Warn, "the driver has no native XDP: skb mode, which is slower",
          "a port of a driver that has it: mlx5, ice, i40e, ixgbe, bnxt, virtio_net, veth, ...");
  }

  void redirect() {
    if (!facts_.xdp)
      return;
    const host::XdpFeatures &xdp = facts_.xdp.get();
    if (xdp.redirect && xdp.transmits)
      add("redirect", CheckVerdict::Ok,
          "frames can leave for, and come from, a bridge's other port");
    else if (xdp.redirect)
      add("redirect", CheckVerdict::Info,
          "frames can leave for a bridge's other port, but a bridge cannot send any here yet",
          facts_.link.kind == "veth"
              ? fmt::format("GRO on at the veth's other end; {} does it",
                            facts_.our(fmt::format("bridge {} IF2 --fix", facts_.link.ifname)))
              : facts_.our(fmt::format("bridge {} IF2", facts_.link.ifname)) +
                    " reports what it needs");
    else
      add("redirect", CheckVerdict::Info,
          "the driver redirects no frames: a bridge needs --mode skb");
  }

  // The feature flag of the driver is not enough: it may reject a device, a queue or a buffer size.
  void zero_copy() {
    if (facts_.zero_copy && !*facts_.zero_copy)
      return add("zero_copy", CheckVerdict::Unknown,
                 "tried on queue 0 without result: " + facts_.zero_copy->error().message,
                 facts_.zero_copy->error().hint);
    if (facts_.zero_copy && facts_.zero_copy->get().zero_copy)
      return add("zero_copy", CheckVerdict::Ok, "AF_XDP without copying: tried on queue 0");
    const auto copies = facts_.zero_copy
                            ? std::optional(facts_.zero_copy->get().why)
                            : afxdp::known_to_copy(facts_.zero_copy_port(), facts_.xdp);
    if (copies)
      return add("zero_copy", CheckVerdict::Info,
                 "AF_XDP copies each frame, so send and respond are slower: " + copies->message,
                 copies->hint);
    add("zero_copy", CheckVerdict::Unknown,
        facts_.xdp ? "not tried: the driver has zero-copy, but may refuse it on this port"
                   : "not tried",
        facts_.this_command() + " --try; frames of the port's traffic may be lost");
  }

  void mtu() {
    const uint32_t mtu = facts_.link.mtu, pmtu = largest_pmtu(mtu);
    const std::string fits = pmtu ? fmt::format("MTU {}: packets of PMTU {} fit", mtu, pmtu)
                                  : fmt::format("MTU {}: no RoCE packet with data fits", mtu);
    if (!pmtu)
      add("mtu", CheckVerdict::Warn, fits, command("ip link set {} mtu 1500"));
    else if (mtu <= kLinearMtu)
      add("mtu", CheckVerdict::Ok, fits + ", in one buffer");
    else if (!facts_.xdp)
      add("mtu", CheckVerdict::Info,
          fits + "; whether the driver has XDP for frames of several "
                 "buffers is unknown");
    else if (facts_.xdp.get().frags)
      add("mtu", CheckVerdict::Ok, fits + ", in several buffers, which the driver's XDP takes");
    else if (facts_.xdp.get().native)
      add("mtu", CheckVerdict::Warn,
          fits + ", but the driver's XDP takes no frames of several buffers: it may refuse",
          command(fmt::format("ip link set {{}} mtu {}, or attach --mode skb", kLinearMtu)));
    else
      add("mtu", CheckVerdict::Ok, fits);
  }

  void queues() {
    const uint32_t queues = facts_.queues.count, cpus = facts_.cpus;
    const uint32_t possible = std::min(cpus, facts_.queues.most_combined);
    std::string text = counted(queues, "receive queue") + ", " + counted(cpus, "CPU");
    if (queues == 1 && cpus > 1 && facts_.link.kind.empty())
      add("queues", CheckVerdict::Info, text + ": one CPU does all the counting",
          possible > 1 ? command(fmt::format("ethtool -L {{}} combined {}", possible)) : "");
    else
      add("queues", CheckVerdict::Ok, std::move(text));
  }

  // What a QP of `peer` needs: an address that the other side's GID reaches, and one queue.
  void peer() {
    const uint32_t queues = facts_.queues.count;
    if (facts_.addresses.empty())
      return add("peer", CheckVerdict::Info, "the port has no address: peer has no GID to give",
                 command("ip address add 192.0.2.2/24 dev {}"));
    const std::string gid =
        fmt::format("peer has QPs at {}: the other side's GID index (-x) is that of "
                    "its address in the same network",
                    fmt::join(facts_.addresses, ", "));
    if (queues > 1)
      return add("peer", CheckVerdict::Info,
                 fmt::format("{}; it reads queue 0, and RoCE may arrive on {}", gid, queues),
                 command("ethtool -L {} combined 1") +
                     ", or peer's --steer where the NIC has flow rules");
    add("peer", CheckVerdict::Ok, gid);
  }

  void promiscuous() {
    const auto &link = facts_.link;
    if (link.promiscuous)
      add("promiscuous", CheckVerdict::Ok, "frames for all MACs come in");
    else if (link.kind == "veth")
      add("promiscuous", CheckVerdict::Ok, "not needed: a veth hands all frames to XDP");
    else
      add("promiscuous", CheckVerdict::Info,
          fmt::format("off: on a mirror port the NIC keeps back frames for other MACs{}; `bridge` "
                      "turns it on by itself",
                      facts_.features && on("rx-vlan-filter") ? " and other VLANs" : ""),
          command("ip link set {} promisc on"));
  }

  void hook() {
    if (!facts_.hook)
      return add("hook", CheckVerdict::Unknown, facts_.hook.error().message,
                 facts_.hook.error().hint);
    const datapath::Hook &hook = facts_.hook.get();
    const auto *other = hook.foreign();
    const bool ours = hook.ours();
    if (hook.programs.empty())
      add("hook", CheckVerdict::Ok, "no XDP program is on it");
    else if (!other)
      add("hook", CheckVerdict::Ok,
          fmt::format("xdp-roce is on it, in {} mode", mode_name(hook.mode)));
    else if (other->name.empty())
      add("hook", CheckVerdict::Unknown, "an XDP program is on it, whose name cannot be asked for",
          "as root: " + facts_.this_command());
    else if (hook.dispatcher)
      add("hook", CheckVerdict::Ok,
          fmt::format("{} on it, {}, under a dispatcher: there is room for more",
                      counted(hook.programs.size(), "XDP program"),
                      ours ? "xdp-roce among them" : other->name));
    else
      add("hook", CheckVerdict::Fail,
          fmt::format("another XDP program, {} (id {}), is alone on it: attach is refused",
                      other->name, other->id),
          command(hook.mode == Mode::Skb ? "ip link set dev {} xdpgeneric off"
                                         : "ip link set dev {} xdpdrv off"));
  }

private:
  bool on(const char *feature) const {
    const auto found = facts_.features.get().find(feature);
    return found != facts_.features.get().end() && found->second;
  }
};

} // namespace

void check_port(const PortFacts &facts, Checks &checks) {
  PortChecker port(facts, checks);
  port.driver();
  port.troubles();
  port.gro();
  port.native();
  port.redirect();
  port.zero_copy();
  port.mtu();
  port.queues();
  check_receive(facts, checks);
  port.peer();
  port.promiscuous();
  port.hook();
}

} // namespace xr::doctor
