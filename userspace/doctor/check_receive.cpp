// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "doctor/port_checker.h"

namespace xr::doctor {

namespace {

constexpr size_t kMostShown = 8; // queues in a text

// Ascending numbers like "0-3,8".
template <typename Numbers> std::string ranges(const Numbers &numbers) {
  std::string text;
  for (auto from = numbers.begin(); from != numbers.end();) {
    auto to = from;
    while (std::next(to) != numbers.end() && *std::next(to) == *to + 1)
      to++;
    text += fmt::format("{}{}", text.empty() ? "" : ",", *from);
    if (to != from)
      text += fmt::format("-{}", *to);
    from = std::next(to);
  }
  return text;
}

class ReceiveChecker : public PortCheckerBase {
public:
  ReceiveChecker(const PortFacts &facts, Checks &checks) : PortCheckerBase(facts, checks) {}

  void numa() {
    const int node = topology_.port_node;
    if (node < 0)
      return none("numa", "NUMA node", "device");
    add("numa", CheckVerdict::Ok,
        fmt::format("NUMA node {}, with processors {}", node, ranges(of_node())));
  }

  void interrupts() {
    const auto &all = facts_.device.interrupts;
    if (all.empty())
      return add("interrupts", CheckVerdict::Info,
                 "no interrupts of queues: the port is no PCI device, or its driver names none");
    std::string text, far, hint;
    for (size_t i = 0; i < all.size(); i++) {
      const host::QueueInterrupt &each = all[i];
      if (i < kMostShown)
        text += fmt::format("{}queue {} on {}", i ? ", " : "", each.queue, ranges(each.processors));
      if (!is_far(each))
        continue;
      far += fmt::format("{}{}", far.empty() ? "" : ", ", each.queue);
      if (hint.empty())
        hint = set_affinity(each.number, of_node());
    }
    if (all.size() > kMostShown)
      text += fmt::format(", and {} more", all.size() - kMostShown);
    if (!far.empty())
      return add("interrupts", CheckVerdict::Warn,
                 fmt::format("processors of another NUMA node serve queue {}: {}", far, text),
                 hint);
    add("interrupts", CheckVerdict::Ok, text,
        set_affinity(all.front().number, all.front().processors));
  }

  void packet_steering() {
    const auto &set = facts_.device.packet_steering;
    if (!set.empty())
      add("rps", CheckVerdict::Info,
          fmt::format("RPS or XPS is set, which changes nothing for XDP: {}", set.front()),
          "echo 0 >" + set.front());
  }

  void coalescing() {
    if (!receive_.coalescing)
      return none("coalescing", "interrupt coalescing");
    const host::Coalescing &now = *receive_.coalescing;
    const auto word = [](bool on) { return on ? "on" : "off"; };
    const bool waits = now.adaptive_rx || now.rx_usecs;
    add("coalescing", waits ? CheckVerdict::Info : CheckVerdict::Ok,
        fmt::format("rx-usecs {}, rx-frames {}, adaptive rx {} and tx {}{}", now.rx_usecs,
                    now.rx_frames, word(now.adaptive_rx), word(now.adaptive_tx),
                    waits ? ": a frame may wait for its interrupt, which adds to latency" : ""),
        waits ? command("ethtool -C {} adaptive-rx off rx-usecs 0") : "");
  }

  void rings() {
    if (!receive_.rings)
      return none("rings", "sizes of rings");
    const host::Rings &now = *receive_.rings;
    const bool longer = now.rx < now.most_rx;
    add("rings", longer ? CheckVerdict::Info : CheckVerdict::Ok,
        fmt::format("receive {} of at most {}, transmit {} of {}{}", now.rx, now.most_rx, now.tx,
                    now.most_tx,
                    longer ? ": longer ones lose fewer frames in bursts; the change resets the port"
                           : ""),
        longer ? command(fmt::format("ethtool -G {{}} rx {}", now.most_rx)) : "");
  }

  // What is on is a trouble: see PortChecker::troubles().
  void lro() {
    if (facts_.features && !on("rx-lro") && !on("rx-gro-hw"))
      add("lro", CheckVerdict::Ok, "off, as is GRO in hardware (rx-gro-hw)");
  }

  // A NIC cannot hash the QP, but its UDP source port.
  void rss() {
    if (!receive_.rss)
      return none("rss", "RSS table");
    const std::set<uint32_t> used(receive_.rss->begin(), receive_.rss->end());
    std::string text = fmt::format("{} of its table: queue {}",
                                   counted(receive_.rss->size(), "entry", "entries"), ranges(used));
    if (used.size() == 1)
      return add("rss", CheckVerdict::Ok, text + ", where all RoCE arrives",
                 command("ethtool -X {} default"));
    if (!receive_.hashes_ports)
      return add("rss", CheckVerdict::Info, text + "; whether UDP ports are hashed is not known",
                 command(kHashPorts));
    if (*receive_.hashes_ports)
      return add("rss", CheckVerdict::Ok,
                 text + "; UDP ports are hashed: QPs with source ports of their own are spread",
                 command("ethtool -X {} equal 1") + " brings all to queue 0");
    add("rss", CheckVerdict::Warn,
        text + "; UDP ports are not hashed: all QPs of two addresses arrive on one queue",
        command(kHashPorts));
  }

  void steering() {
    if (!receive_.flow_rules)
      return none("steering", "flow rules");
    const std::string set = counted(*receive_.flow_rules, "flow rule") + " set";
    if (facts_.flow_rule && *facts_.flow_rule)
      return add("steering", CheckVerdict::Ok,
                 set + "; one for UDP port 4791 was taken, and is removed: --steer works",
                 facts_.our(fmt::format("respond {} --steer", facts_.link.ifname)));
    if (facts_.features && !on("rx-ntuple-filter"))
      return add("steering", CheckVerdict::Info, set + "; they are off",
                 command("ethtool -K {} ntuple on"));
    if (facts_.flow_rule)
      return add("steering", CheckVerdict::Info, facts_.flow_rule->error().message,
                 facts_.flow_rule->error().hint);
    add("steering", CheckVerdict::Unknown,
        set + "; whether the driver takes one for a UDP port is known by trying",
        facts_.this_command() + " --try");
  }

  // The NIC's clock, and what XDP and AF_XDP get of it.
  void clock() {
    if (!facts_.clock || facts_.clock.get().index < 0)
      return add("clock", CheckVerdict::Info, "no clock of its own (PHC)" + times());
    std::string text = "/dev/" + facts_.clock.get().name();
    if (facts_.clock_offset)
      text += fmt::format(", {} ns ahead of CLOCK_TAI (known within {} ns)",
                          facts_.clock_offset.get().tai_ns, facts_.clock_offset.get().within_ns);
    else
      text += ", which cannot be read: " + facts_.clock_offset.error().message;
    if (!facts_.clock.get().stamps_received)
      text += "; it does not stamp every received frame";
    add("clock", CheckVerdict::Ok, text + times(),
        facts_.clock_offset ? "" : "as root: " + facts_.this_command());
  }

private:
  std::string times() const {
    if (!facts_.xdp)
      return "";
    const host::XdpFeatures &xdp = facts_.xdp.get();
    const auto word = [](const std::optional<bool> &has) {
      return !has ? "unknown" : *has ? "yes" : "no";
    };
    return fmt::format("; the driver gives XDP receive times: {}, its hash: {}; AF_XDP transmit "
                       "times: {}, launch times: {}",
                       word(xdp.rx_time), word(xdp.rx_hash), word(xdp.tx_time),
                       word(xdp.launch_time));
  }

  static constexpr const char *kHashPorts = "ethtool -N {} rx-flow-hash udp4 sdfn";

  bool on(const char *feature) const {
    const auto found = facts_.features.get().find(feature);
    return found != facts_.features.get().end() && found->second;
  }
  std::vector<uint32_t> of_node() const {
    std::vector<uint32_t> all;
    for (const auto &[processor, node] : topology_.nodes)
      if (node == topology_.port_node)
        all.push_back(processor);
    return all;
  }
  bool is_far(const host::QueueInterrupt &interrupt) const {
    return topology_.port_node >= 0 && !interrupt.processors.empty() &&
           std::ranges::none_of(interrupt.processors, [&](uint32_t processor) {
             const auto node = topology_.nodes.find(processor);
             return node == topology_.nodes.end() || node->second == topology_.port_node;
           });
  }
  static std::string set_affinity(const std::string &number,
                                  const std::vector<uint32_t> &processors) {
    return fmt::format("echo {} >/proc/irq/{}/smp_affinity_list", ranges(processors), number);
  }
  void none(const char *name, const char *what, const char *who = "driver") {
    add(name, CheckVerdict::Info, fmt::format("no {}: the {} has none", what, who));
  }

  const host::Topology &topology_ = facts_.device.topology;
  const host::ReceiveSettings &receive_ = facts_.receive;
};

} // namespace

void check_receive(const PortFacts &facts, Checks &checks) {
  ReceiveChecker port(facts, checks);
  port.numa();
  port.interrupts();
  port.packet_steering();
  port.coalescing();
  port.rings();
  port.lro();
  port.rss();
  port.steering();
  port.clock();
}

} // namespace xr::doctor
