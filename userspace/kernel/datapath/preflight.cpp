// SPDX-License-Identifier: Apache-2.0
#include "datapath/preflight.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/fd.h"
#include "host/command.h"
#include "host/link.h"
#include "host/netdev_family.h"

namespace xr::datapath {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using Table = std::span<const char *const>;

// Offloads with which a veth end sends frames that are complete only together with skb metadata;
// XDP sees only the bytes.
constexpr const char *kChecksum[] = {"tx-checksum-ip-generic", "tx-checksum-sctp"};
constexpr const char *kTags[] = {"tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"};
// The segmentation offloads that alone let super-frames through. The others (ECN, mangled IDs,
// lists, tunnels) only extend these. tx-generic-segmentation is harmless: the stack segments before
// the device.
constexpr const char *kSuperFrames[] = {"tx-tcp-segmentation", "tx-tcp6-segmentation",
                                        "tx-udp-segmentation", "tx-sctp-segmentation"};
constexpr const char *kMerging[] = {"rx-lro", "rx-gro-hw"};
constexpr const char *kStripping[] = {"rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"};

// Frames of this MTU, with two VLAN tags, fit into one buffer of a page: all drivers leave some 600
// bytes of it to the kernel.
constexpr uint32_t kOneBufferMtu = 3498;

// How a hint's command gets into a namespace: by its name, or through one of its processes.
struct Way {
  std::string netns;
  std::string process;

  std::string command(const std::string &line) const {
    return process.empty() ? host::command_in(netns, line)
                           : fmt::format("nsenter -t {} -n {}", process, line);
  }
};

// A namespace in which the peer of a veth may be. It is kept open, because /proc/thread-self leads
// elsewhere after this thread has entered another namespace.
struct Candidate {
  Fd fd;
  uint64_t inode;
  std::string label; // "netns left"
  Way way;
};

// An interface and its namespace.
struct CheckedEnd {
  std::shared_ptr<const host::Netns> netns;
  Way way;
  std::string name; // for a sentence: "left0 (netns left)"
  host::LinkFacts facts;
  host::Features features;

  bool on(const std::string &feature) const {
    auto found = features.find(feature);
    return found != features.end() && found->second;
  }
  Names enabled(Table names) const {
    Names out;
    std::copy_if(names.begin(), names.end(), std::back_inserter(out),
                 [&](const char *n) { return on(n); });
    return out;
  }
  bool veth() const { return facts.kind == "veth"; }
  std::string command(const std::string &line) const { return way.command(line); }
};

// The caller's namespace, then named ones, then those of processes; each once.
std::vector<Candidate> candidates() {
  std::vector<Candidate> candidates;
  std::set<uint64_t> seen;
  std::error_code ignored;
  auto add = [&](const fs::path &path, std::string label, Way way) {
    struct stat st {};
    if (stat(path.c_str(), &st) < 0 || !seen.insert(st.st_ino).second)
      return;
    if (Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)); fd)
      candidates.push_back({std::move(fd), st.st_ino, std::move(label), std::move(way)});
  };
  add("/proc/thread-self/ns/net", "this command's netns", {});
  for (const auto &entry : fs::directory_iterator("/run/netns", ignored)) {
    std::string name = entry.path().filename();
    add(entry.path(), "netns " + name, {.netns = name, .process = {}});
  }
  for (const auto &entry : fs::directory_iterator("/proc", ignored)) {
    std::string pid = entry.path().filename();
    if (isdigit(static_cast<unsigned char>(pid[0])))
      add(entry.path() / "ns/net", "netns of process " + pid, {.netns = {}, .process = pid});
  }
  return candidates;
}

// The candidate that has this nsid in the port's namespace, or null.
const Candidate *find_by_nsid(const std::vector<Candidate> &all, const host::Netns &netns,
                              int number) {
  auto scope = netns.enter();
  if (!scope)
    return nullptr;
  for (const Candidate &candidate : all)
    if (auto nsid = host::nsid_of(candidate.fd.get()); nsid.ok() && *nsid == number)
      return &candidate;
  return nullptr;
}

Status read_end(CheckedEnd &end, const std::function<Result<host::LinkFacts>()> &read) {
  const auto inside = XR_TRY(end.netns->enter());
  end.facts = XR_TRY(read());
  end.name = end.facts.ifname;
  end.features = XR_TRY(host::read_features(end.facts.ifname));
  return {};
}

// The peer of a veth; nothing if its namespace cannot be found.
std::optional<CheckedEnd> find_peer(const CheckedEnd &port) {
  CheckedEnd peer;
  peer.way = port.way;
  peer.netns = port.netns;
  std::string label;
  if (port.facts.peer_nsid >= 0) {
    const auto all = candidates();
    const Candidate *found = find_by_nsid(all, *port.netns, port.facts.peer_nsid);
    auto netns = found ? host::Netns::find(found->inode) : std::nullopt;
    if (!netns)
      return {};
    peer.netns = std::make_shared<host::Netns>(std::move(*netns));
    peer.way = found->way;
    label = fmt::format(" ({})", found->label);
  }
  if (!port.facts.peer_ifindex ||
      !read_end(peer, [&] { return host::read_link_at(port.facts.peer_ifindex); }) ||
      !peer.veth() || peer.facts.peer_ifindex != port.facts.ifindex)
    return {};
  peer.name += label;
  return peer;
}

Status set_features(const CheckedEnd &end, const Names &names, bool on) {
  const auto inside = XR_TRY(end.netns->enter());
  for (const std::string &name : names) {
    auto features = host::read_features(end.facts.ifname);
    // Skip one that already changed together with another: segmentation depends on checksums.
    if (features && features->count(name) && features->at(name) == on)
      continue;
    if (auto done = host::set_feature(end.facts.ifname, name, on); !done)
      return done;
  }
  return {};
}

std::string ethtool_command(const CheckedEnd &end, const Names &names, bool on) {
  std::string line = "ethtool -K " + end.facts.ifname;
  for (const std::string &name : names)
    line += fmt::format(" {} {}", name == "rx-gro" ? "gro" : name, on ? "on" : "off");
  return end.command(line);
}

class Preflight {
public:
  Preflight(bool skb_mode, bool fix) : skb_mode_(skb_mode), fix_(fix) {}

  Status check_bridge(const host::Netns &netns, const std::string &a, const std::string &b);
  Status check_port(const host::Netns &netns, const std::string &ifname);
  std::vector<Trouble> take_troubles() { return std::move(found_); }

private:
  // Adds a trouble; with `fix`, also calls `repair`. Returns whether it is repaired.
  bool report(const CheckedEnd &port, std::string text, std::string hint,
              const std::function<Status()> &repair = {});
  void report_features(const CheckedEnd &port, const CheckedEnd &where, Table names,
                       const std::string &text);

  void check_link(const CheckedEnd &port, const std::optional<CheckedEnd> &peer);
  void check_host_use(const CheckedEnd &port);
  void check_own_features(const CheckedEnd &port, const CheckedEnd &other);
  void report_unknown_peer(const CheckedEnd &port);
  void check_peer_features(const CheckedEnd &port, const CheckedEnd &peer, const CheckedEnd &other);
  void check_peer_mtu(CheckedEnd &port, const CheckedEnd &peer);
  void check_port_mtus(CheckedEnd &a, CheckedEnd &b);
  void check_large_frames(const CheckedEnd &port, const CheckedEnd &other);
  void raise_mtu(CheckedEnd &end, uint32_t mtu, const std::string &text);

  // Whether skb metadata of a frame (VLAN tag, unfinished checksum) is lost on the way to `other`.
  // Native XDP has no skb. Generic XDP passes the skb to the other port's driver: veth accepts all
  // metadata, other drivers only what they announce as a feature.
  bool loses(const CheckedEnd &other, std::initializer_list<const char *> announced) const {
    return !skb_mode_ ||
           (!other.veth() && std::none_of(announced.begin(), announced.end(),
                                          [&](const char *n) { return other.on(n); }));
  }

  bool skb_mode_, fix_;
  std::vector<Trouble> found_;
};

bool Preflight::report(const CheckedEnd &port, std::string text, std::string hint,
                       const std::function<Status()> &repair) {
  Trouble trouble{port.facts.ifname, std::move(text), std::move(hint), bool(repair), false};
  if (repair && fix_) {
    auto done = repair();
    trouble.fixed = done.ok();
    if (!done)
      trouble.text += fmt::format("; the repair failed: {}", done.error().message);
  }
  found_.push_back(std::move(trouble));
  return found_.back().fixed;
}

void Preflight::report_features(const CheckedEnd &port, const CheckedEnd &where, Table names,
                                const std::string &text) {
  const Names on = where.enabled(names);
  if (!on.empty())
    report(port, fmt::format("{} has {} on: {}", where.name, fmt::join(on, ", "), text),
           ethtool_command(where, on, false), [&] { return set_features(where, on, false); });
}

void Preflight::check_link(const CheckedEnd &port, const std::optional<CheckedEnd> &peer) {
  if (!port.facts.up)
    report(port, fmt::format("{} is down: nothing enters or leaves there", port.name),
           port.command(fmt::format("ip link set {} up", port.facts.ifname)));
  else if (!port.facts.running && peer && !peer->facts.up)
    report(port,
           fmt::format("{} has no carrier, because its other end, {}, is down: nothing enters or "
                       "leaves there",
                       port.name, peer->name),
           peer->command(fmt::format("ip link set {} up", peer->facts.ifname)));
  else if (!port.facts.running)
    report(port, fmt::format("{} has no carrier: nothing enters or leaves there", port.name),
           port.command(fmt::format("ethtool {}", port.facts.ifname)));
}

void Preflight::check_host_use(const CheckedEnd &port) {
  const host::LinkFacts &facts = port.facts;
  if (auto scope = port.netns->enter(); scope.ok())
    if (auto addresses = host::read_addresses(facts.ifindex); addresses.ok() && !addresses->empty())
      report(port,
             fmt::format("{} has the address {}: this host gets no frame that enters there; all "
                         "leave by the other port",
                         port.name, fmt::join(*addresses, ", ")),
             port.command(fmt::format("ip address flush dev {}", facts.ifname)));
  if (!facts.master.empty())
    report(
        port,
        fmt::format("{} is a port of {}{}: that gets no frame that enters there; all leave by the "
                    "other port",
                    port.name, facts.master,
                    facts.master_kind.empty() ? "" : ", a " + facts.master_kind),
        port.command(fmt::format("ip link set {} nomaster", facts.ifname)));
}

// GRO is not checked: it runs after native XDP, and the kernel turns it off for generic XDP. VLAN
// stripping is not checked on a veth, which does not strip tags.
void Preflight::check_own_features(const CheckedEnd &port, const CheckedEnd &other) {
  report_features(port, port, kMerging,
                  "frames arrive merged into larger ones, which are lost or forwarded as one");
  if (!port.veth() && loses(other, {"tx-vlan-hw-insert"}))
    report_features(port, port, kStripping,
                    "XDP does not see VLAN tags, and frames are forwarded without them");
}

void Preflight::report_unknown_peer(const CheckedEnd &port) {
  const bool native = !skb_mode_;
  report(port,
         fmt::format("the namespace of {}'s other end cannot be found or entered, so {}", port.name,
                     native ? "whether GRO or native XDP is on there is unknown: with neither, "
                              "every frame for it is lost"
                            : "whether it sends frames larger than the MTU is unknown"),
         fmt::format("there, where OTHER is the other end: ethtool -K OTHER {}",
                     native ? "gro on tx-checksum-ip-generic off tx-vlan-hw-insert off"
                            : "tso off tx-udp-segmentation off"));
}

void Preflight::check_peer_features(const CheckedEnd &port, const CheckedEnd &peer,
                                    const CheckedEnd &other) {
  // veth_xdp_xmit() drops all frames if the receiving end has no NAPI. GRO or native XDP enables
  // NAPI; generic XDP does not.
  if (!skb_mode_ && !peer.on("rx-gro") && !peer.facts.has_native_xdp)
    report(
        port,
        fmt::format("{}, the other end of {}, has neither GRO nor a native XDP program on: every "
                    "frame for it is lost",
                    peer.name, port.name),
        ethtool_command(peer, {"rx-gro"}, true),
        [&] { return set_features(peer, {"rx-gro"}, true); });
  // Super-frames before checksums: turning checksums off also turns segmentation off, which would
  // then not be reported. With a native program the kernel turns segmentation off by itself.
  if (skb_mode_)
    report_features(port, peer, kSuperFrames,
                    "it sends super-frames larger than the MTU, which are lost");
  if (loses(other, {"tx-checksum-ip-generic", "tx-checksum-ipv4"}))
    report_features(
        port, peer, kChecksum,
        "frames of its own host arrive with unfinished checksums, and the receiver drops "
        "them");
  if (loses(other, {"tx-vlan-hw-insert"}))
    report_features(port, peer, kTags,
                    "frames of its VLAN devices arrive with the tag in metadata, and are forwarded "
                    "without it");
}

void Preflight::raise_mtu(CheckedEnd &end, uint32_t mtu, const std::string &text) {
  const std::string &ifname = end.facts.ifname;
  bool raised = report(end, text, end.command(fmt::format("ip link set {} mtu {}", ifname, mtu)),
                       [&]() -> Status {
                         const auto inside = XR_TRY(end.netns->enter());
                         return host::set_mtu(ifname, mtu);
                       });
  if (raised)
    end.facts.mtu = mtu;
}

void Preflight::check_peer_mtu(CheckedEnd &port, const CheckedEnd &peer) {
  const uint32_t here = port.facts.mtu, there = peer.facts.mtu;
  if (there > here)
    raise_mtu(port, there,
              fmt::format("the MTU of {} is {}, that of its other end, {}, {}: larger frames are "
                          "lost when they enter",
                          port.name, here, peer.name, there));
}

void Preflight::check_port_mtus(CheckedEnd &a, CheckedEnd &b) {
  CheckedEnd &smaller = a.facts.mtu < b.facts.mtu ? a : b, &larger = &smaller == &a ? b : a;
  if (smaller.facts.mtu != larger.facts.mtu)
    raise_mtu(smaller, larger.facts.mtu,
              fmt::format("the MTU of {} is {}, that of {} {}: larger frames are lost between them",
                          smaller.name, smaller.facts.mtu, larger.name, larger.facts.mtu));
}

// A kernel that reports no XDP features is older than 6.3, and loses such frames with every driver.
// The features of a veth depend on its peer, which check_peer_features() checks.
void Preflight::check_large_frames(const CheckedEnd &port, const CheckedEnd &other) {
  if (skb_mode_ || port.facts.mtu <= kOneBufferMtu)
    return;
  auto scope = other.netns->enter();
  if (!scope)
    return;
  const auto features = host::read_xdp_features(other.facts.ifindex);
  if (features && (other.veth() || features.get().transmits_frags))
    return;
  report(port,
         fmt::format("the MTU of {} is {}: frames of more than {} bytes come in several buffers, "
                     "and {}: they are lost, and not counted",
                     port.name, port.facts.mtu, kOneBufferMtu,
                     features ? fmt::format("the driver of {} cannot send those", other.name)
                              : "kernels before 6.3 cannot forward those"),
         port.command(fmt::format("ip link set {} mtu {}, or attach with --mode skb",
                                  port.facts.ifname, kOneBufferMtu)));
}

Result<CheckedEnd> open_port(const host::Netns &netns, const std::string &ifname) {
  CheckedEnd end;
  end.netns = {std::shared_ptr<const host::Netns>(), &netns}; // the caller's
  end.way.netns = netns.name();
  if (auto done = read_end(end, [&] { return host::read_link({ifname, netns.name()}); }); !done)
    return done.error();
  return end;
}

Status Preflight::check_bridge(const host::Netns &netns, const std::string &a,
                               const std::string &b) {
  struct BridgePort {
    CheckedEnd end;
    std::optional<CheckedEnd> peer;
  };
  std::vector<BridgePort> ports;
  for (const std::string &name : {a, b}) {
    auto end = XR_TRY(open_port(netns, name));
    auto peer = end.veth() ? find_peer(end) : std::nullopt;
    ports.push_back({std::move(end), std::move(peer)});
  }
  for (BridgePort &port : ports) {
    const CheckedEnd &other = (&port == &ports[0] ? ports[1] : ports[0]).end;
    check_link(port.end, port.peer);
    check_host_use(port.end);
    check_own_features(port.end, other);
    if (port.peer)
      check_peer_features(port.end, *port.peer, other);
    else if (port.end.veth())
      report_unknown_peer(port.end);
  }
  for (BridgePort &port : ports)
    if (port.peer)
      check_peer_mtu(port.end, *port.peer);
  check_port_mtus(ports[0].end, ports[1].end);
  check_large_frames(ports[0].end, ports[1].end);
  check_large_frames(ports[1].end, ports[0].end);
  // The MTU of a host is reported but not changed.
  for (const BridgePort &port : ports)
    if (port.peer && port.peer->facts.mtu < port.end.facts.mtu)
      report(port.end,
             fmt::format("the MTU of {} is {}, that of its other end, {}, {}: larger frames for it "
                         "are lost",
                         port.end.name, port.end.facts.mtu, port.peer->name, port.peer->facts.mtu),
             port.peer->command(fmt::format("ip link set {} mtu {}", port.peer->facts.ifname,
                                            port.end.facts.mtu)));
  return {};
}

Status Preflight::check_port(const host::Netns &netns, const std::string &ifname) {
  auto port = XR_TRY(open_port(netns, ifname));
  const auto peer = port.veth() ? find_peer(port) : std::nullopt;
  check_link(port, peer);
  report_features(port, port, kMerging, "XDP sees fewer and larger frames than there were");
  if (!port.veth())
    report_features(port, port, kStripping, "XDP does not see VLAN tags: no rule matches them");
  if (!peer)
    return {};
  if (skb_mode_)
    report_features(port, *peer, kSuperFrames, "XDP sees super-frames larger than the MTU");
  report_features(
      port, *peer, kTags,
      "frames of its VLAN devices arrive with the tag in metadata, where XDP does not see "
      "it");
  return {};
}

} // namespace

Result<std::vector<Trouble>> bridge_preflight(const host::Netns &netns, const std::string &a,
                                              const std::string &b, bool skb_mode, bool fix) {
  Preflight preflight(skb_mode, fix);
  XR_TRY(preflight.check_bridge(netns, a, b));
  return preflight.take_troubles();
}

Result<std::vector<Trouble>> port_preflight(const host::Netns &netns, const std::string &ifname,
                                            bool skb_mode, bool fix) {
  Preflight preflight(skb_mode, fix);
  XR_TRY(preflight.check_port(netns, ifname));
  return preflight.take_troubles();
}

} // namespace xr::datapath
