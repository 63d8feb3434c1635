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

#include "base/fd.h"
#include "host/link.h"

namespace xr::datapath {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using Table = std::span<const char *const>;

// What makes a veth's end hand on frames that are finished only in the skb: XDP sees the bytes.
constexpr const char *kChecksum[] = {"tx-checksum-ip-generic", "tx-checksum-sctp"};
constexpr const char *kTags[] = {"tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"};
// Of segmentation, those that let whole super-frames through by themselves. The others (ECN,
// mangled IDs, lists, tunnels) only add to these, and tx-generic-segmentation is done above a
// device that cannot do it, and so harms nobody.
constexpr const char *kSuperFrames[] = {"tx-tcp-segmentation", "tx-tcp6-segmentation",
                                        "tx-udp-segmentation", "tx-sctp-segmentation"};
constexpr const char *kMerging[] = {"rx-lro", "rx-gro-hw"};
constexpr const char *kStripping[] = {"rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"};

// A namespace where the other end of a veth may be. Held open: a path through /proc leads elsewhere
// once this thread has entered another.
struct Candidate {
  Fd fd;
  uint64_t inode;
  std::string label;  // "netns left"
  std::string prefix; // what a command there begins with
};

// An interface and where it is.
struct End {
  std::shared_ptr<const host::Netns> netns;
  std::string prefix;
  std::string name; // for a sentence: "left0 (netns left)"
  host::LinkFacts facts;
  host::Features features;

  bool on(const std::string &feature) const {
    auto found = features.find(feature);
    return found != features.end() && found->second;
  }
  Names those_on(Table names) const {
    Names out;
    std::copy_if(names.begin(), names.end(), std::back_inserter(out),
                 [&](const char *n) { return on(n); });
    return out;
  }
  bool veth() const { return facts.kind == "veth"; }
  std::string command(const std::string &what) const { return prefix + what; }
};

// The caller's own, then those with a name, then those that a process holds: each once.
std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  std::set<uint64_t> seen;
  std::error_code ignored;
  auto add = [&](const fs::path &path, std::string label, std::string prefix) {
    struct stat st {};
    if (stat(path.c_str(), &st) < 0 || !seen.insert(st.st_ino).second)
      return;
    if (Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)); fd)
      all.push_back({std::move(fd), st.st_ino, std::move(label), std::move(prefix)});
  };
  add("/proc/thread-self/ns/net", "this command's netns", "");
  for (const auto &entry : fs::directory_iterator("/run/netns", ignored)) {
    std::string name = entry.path().filename();
    add(entry.path(), "netns " + name, "ip netns exec " + name + " ");
  }
  for (const auto &entry : fs::directory_iterator("/proc", ignored)) {
    std::string pid = entry.path().filename();
    if (isdigit(static_cast<unsigned char>(pid[0])))
      add(entry.path() / "ns/net", "netns of process " + pid, "nsenter -t " + pid + " -n ");
  }
  return all;
}

// Which of them the port's namespace knows by that number.
const Candidate *by_number(const std::vector<Candidate> &all, const host::Netns &netns,
                           int number) {
  auto scope = netns.enter();
  if (!scope)
    return nullptr;
  for (const Candidate &candidate : all)
    if (auto nsid = host::nsid_of(candidate.fd.get()); nsid.ok() && *nsid == number)
      return &candidate;
  return nullptr;
}

Status read_end(End &end, const std::function<Result<host::LinkFacts>()> &read) {
  auto scope = end.netns->enter();
  if (!scope)
    return std::move(scope).error();
  auto facts = read();
  if (!facts)
    return std::move(facts).error();
  end.facts = *facts;
  end.name = end.facts.ifname;
  auto features = host::read_features(end.facts.ifname);
  if (!features)
    return std::move(features).error();
  end.features = *features;
  return {};
}

// The other end of a veth, or nothing if it is in no namespace that can be found.
std::optional<End> find_far(const End &port) {
  End far;
  far.prefix = port.prefix;
  far.netns = port.netns;
  std::string label;
  if (port.facts.peer_nsid >= 0) {
    const auto all = candidates();
    const Candidate *found = by_number(all, *port.netns, port.facts.peer_nsid);
    auto netns = found ? host::Netns::find(found->inode) : std::nullopt;
    if (!netns)
      return {};
    far.netns = std::make_shared<host::Netns>(std::move(*netns));
    far.prefix = found->prefix;
    label = fmt::format(" ({})", found->label);
  }
  if (!port.facts.peer_ifindex ||
      !read_end(far, [&] { return host::read_link_at(port.facts.peer_ifindex); }) || !far.veth() ||
      far.facts.peer_ifindex != port.facts.ifindex)
    return {};
  far.name += label;
  return far;
}

Status set_features(const End &end, const Names &names, bool on) {
  auto scope = end.netns->enter();
  if (!scope)
    return std::move(scope).error();
  for (const std::string &name : names) {
    auto features = host::read_features(end.facts.ifname);
    // One may have gone with another: segmentation goes with checksums.
    if (features && features->count(name) && features->at(name) == on)
      continue;
    if (auto done = host::set_feature(end.facts.ifname, name, on); !done)
      return done;
  }
  return {};
}

std::string ethtool_command(const End &end, const Names &names, bool on) {
  std::string line = "ethtool -K " + end.facts.ifname;
  for (const std::string &name : names)
    line += fmt::format(" {} {}", name == "rx-gro" ? "gro" : name, on ? "on" : "off");
  return end.command(line);
}

class Preflight {
public:
  Preflight(bool skb_mode, bool fix) : skb_mode_(skb_mode), fix_(fix) {}

  Status look(const host::Netns &netns, const std::string &a, const std::string &b);
  Status look_alone(const host::Netns &netns, const std::string &ifname);
  std::vector<Trouble> take() { return std::move(found_); }

private:
  // Tells; mends it too, if there is a way and that is wanted.
  bool tell(const End &port, std::string text, std::string hint,
            const std::function<Status()> &mend = {});
  void tell_feature(const End &port, const End &where, Table names, const std::string &text);

  void link(const End &port, const std::optional<End> &far);
  void host_use(const End &port);
  void own_features(const End &port, const End &other);
  void unknown_far(const End &port);
  void far_features(const End &port, const End &far, const End &other);
  void mtu_of_far(End &port, const End &far);
  void mtu_of_ports(End &a, End &b);
  void raise_mtu(End &end, uint32_t mtu, const std::string &text);

  // Whether what only the skb says of a frame (a tag, an unfinished checksum) is lost on the way.
  // Native XDP has no skb. Generic XDP hands it to the other port's driver as it is: veth takes
  // all, other drivers what they announce.
  bool loses(const End &other, std::initializer_list<const char *> announced) const {
    return !skb_mode_ ||
           (!other.veth() && std::none_of(announced.begin(), announced.end(),
                                          [&](const char *n) { return other.on(n); }));
  }

  bool skb_mode_, fix_;
  std::vector<Trouble> found_;
};

bool Preflight::tell(const End &port, std::string text, std::string hint,
                     const std::function<Status()> &mend) {
  Trouble trouble{port.facts.ifname, std::move(text), std::move(hint), bool(mend), false};
  if (mend && fix_) {
    auto done = mend();
    trouble.mended = done.ok();
    if (!done)
      trouble.text += fmt::format("; mending failed: {}", done.error().message);
  }
  found_.push_back(std::move(trouble));
  return found_.back().mended;
}

void Preflight::tell_feature(const End &port, const End &where, Table names,
                             const std::string &text) {
  const Names on = where.those_on(names);
  if (!on.empty())
    tell(port, fmt::format("{} has {} on: {}", where.name, fmt::join(on, ", "), text),
         ethtool_command(where, on, false), [&] { return set_features(where, on, false); });
}

void Preflight::link(const End &port, const std::optional<End> &far) {
  if (!port.facts.up)
    tell(port, fmt::format("{} is down: nothing enters or leaves there", port.name),
         port.command(fmt::format("ip link set {} up", port.facts.ifname)));
  else if (!port.facts.running && far && !far->facts.up)
    tell(port,
         fmt::format("{} has no carrier, because its other end, {}, is down: nothing enters or "
                     "leaves there",
                     port.name, far->name),
         far->command(fmt::format("ip link set {} up", far->facts.ifname)));
  else if (!port.facts.running)
    tell(port, fmt::format("{} has no carrier: nothing enters or leaves there", port.name),
         port.command(fmt::format("ethtool {}", port.facts.ifname)));
}

void Preflight::host_use(const End &port) {
  const host::LinkFacts &facts = port.facts;
  if (auto scope = port.netns->enter(); scope.ok())
    if (auto addresses = host::read_addresses(facts.ifindex); addresses.ok() && !addresses->empty())
      tell(port,
           fmt::format("{} has the address {}: this host gets no frame that enters there, all go "
                       "on to the other port",
                       port.name, fmt::join(*addresses, ", ")),
           port.command(fmt::format("ip address flush dev {}", facts.ifname)));
  if (!facts.master.empty())
    tell(port,
         fmt::format("{} is a port of {}{}: that gets no frame that enters there, all go on to the "
                     "other port",
                     port.name, facts.master,
                     facts.master_kind.empty() ? "" : ", a " + facts.master_kind),
         port.command(fmt::format("ip link set {} nomaster", facts.ifname)));
}

// GRO is not among them: it comes after native XDP, and the kernel leaves it out where a generic
// XDP program is. Nor are tags at a veth, which strips none.
void Preflight::own_features(const End &port, const End &other) {
  tell_feature(port, port, kMerging,
               "frames come merged into larger ones, which are lost or go on as one");
  if (!port.veth() && loses(other, {"tx-vlan-hw-insert"}))
    tell_feature(port, port, kStripping,
                 "XDP does not see VLAN tags, and frames go on without theirs");
}

void Preflight::unknown_far(const End &port) {
  const bool native = !skb_mode_;
  tell(port,
       fmt::format("the namespace of {}'s other end cannot be found or entered, so {}", port.name,
                   native ? "whether GRO or native XDP is on there cannot be told: with neither, "
                            "every frame for it is lost"
                          : "whether it sends frames larger than the MTU cannot be told"),
       fmt::format("there, where OTHER is the other end: ethtool -K OTHER {}",
                   native ? "gro on tx-checksum-ip-generic off tx-vlan-hw-insert off"
                          : "tso off tx-udp-segmentation off"));
}

void Preflight::far_features(const End &port, const End &far, const End &other) {
  // Without NAPI at the receiving end veth_xdp_xmit() takes nothing. A generic program brings none.
  if (!skb_mode_ && !far.on("rx-gro") && !far.facts.has_native_xdp)
    tell(port,
         fmt::format("{}, the other end of {}, has neither GRO nor a native XDP program on: every "
                     "frame for it is lost",
                     far.name, port.name),
         ethtool_command(far, {"rx-gro"}, true),
         [&] { return set_features(far, {"rx-gro"}, true); });
  // Super-frames first: they go with the checksums, and would not be told then. A native program on
  // the port makes the kernel put them off by itself.
  if (skb_mode_)
    tell_feature(port, far, kSuperFrames,
                 "it sends super-frames larger than the MTU, which are lost");
  if (loses(other, {"tx-checksum-ip-generic", "tx-checksum-ipv4"}))
    tell_feature(port, far, kChecksum,
                 "what its own host sends comes with unfinished checksums, and the receiver drops "
                 "it");
  if (loses(other, {"tx-vlan-hw-insert"}))
    tell_feature(port, far, kTags,
                 "frames of its VLAN devices come with the tag beside them, and go on without it");
}

void Preflight::raise_mtu(End &end, uint32_t mtu, const std::string &text) {
  const std::string &ifname = end.facts.ifname;
  bool raised = tell(end, text, end.command(fmt::format("ip link set {} mtu {}", ifname, mtu)),
                     [&]() -> Status {
                       auto scope = end.netns->enter();
                       if (!scope)
                         return std::move(scope).error();
                       return host::set_mtu(ifname, mtu);
                     });
  if (raised)
    end.facts.mtu = mtu;
}

void Preflight::mtu_of_far(End &port, const End &far) {
  const uint32_t here = port.facts.mtu, there = far.facts.mtu;
  if (there > here)
    raise_mtu(port, there,
              fmt::format("the MTU of {} is {}, that of its other end, {}, {}: larger frames are "
                          "lost on entering",
                          port.name, here, far.name, there));
}

void Preflight::mtu_of_ports(End &a, End &b) {
  End &smaller = a.facts.mtu < b.facts.mtu ? a : b, &larger = &smaller == &a ? b : a;
  if (smaller.facts.mtu != larger.facts.mtu)
    raise_mtu(smaller, larger.facts.mtu,
              fmt::format("the MTU of {} is {}, that of {} {}: larger frames are lost between them",
                          smaller.name, smaller.facts.mtu, larger.name, larger.facts.mtu));
}

Result<End> open_port(const host::Netns &netns, const std::string &ifname) {
  End end;
  end.netns = {std::shared_ptr<const host::Netns>(), &netns}; // the caller's
  if (!netns.name().empty())
    end.prefix = "ip netns exec " + netns.name() + " ";
  if (auto done = read_end(end, [&] { return host::read_link(ifname, netns.name()); }); !done)
    return done.error();
  return end;
}

Status Preflight::look(const host::Netns &netns, const std::string &a, const std::string &b) {
  struct Port {
    End end;
    std::optional<End> far;
  };
  std::vector<Port> ports;
  for (const std::string &name : {a, b}) {
    auto end = open_port(netns, name);
    if (!end)
      return std::move(end).error();
    auto far = end->veth() ? find_far(*end) : std::nullopt;
    ports.push_back({std::move(*end), std::move(far)});
  }
  for (Port &port : ports) {
    const End &other = (&port == &ports[0] ? ports[1] : ports[0]).end;
    link(port.end, port.far);
    host_use(port.end);
    own_features(port.end, other);
    if (port.far)
      far_features(port.end, *port.far, other);
    else if (port.end.veth())
      unknown_far(port.end);
  }
  for (Port &port : ports)
    if (port.far)
      mtu_of_far(port.end, *port.far);
  mtu_of_ports(ports[0].end, ports[1].end);
  // A host's own MTU is its own affair: told, not mended.
  for (const Port &port : ports)
    if (port.far && port.far->facts.mtu < port.end.facts.mtu)
      tell(port.end,
           fmt::format("the MTU of {} is {}, that of its other end, {}, {}: larger frames for it "
                       "are lost",
                       port.end.name, port.end.facts.mtu, port.far->name, port.far->facts.mtu),
           port.far->command(
               fmt::format("ip link set {} mtu {}", port.far->facts.ifname, port.end.facts.mtu)));
  return {};
}

Status Preflight::look_alone(const host::Netns &netns, const std::string &ifname) {
  auto port = open_port(netns, ifname);
  if (!port)
    return std::move(port).error();
  const auto far = port->veth() ? find_far(*port) : std::nullopt;
  link(*port, far);
  tell_feature(*port, *port, kMerging, "XDP sees fewer and larger frames than there were");
  if (!port->veth())
    tell_feature(*port, *port, kStripping, "XDP does not see VLAN tags: no rule matches them");
  if (!far)
    return {};
  if (skb_mode_)
    tell_feature(*port, *far, kSuperFrames, "XDP sees super-frames larger than the MTU");
  tell_feature(*port, *far, kTags,
               "frames of its VLAN devices come with the tag beside them, where XDP does not see "
               "it");
  return {};
}

} // namespace

Result<std::vector<Trouble>> bridge_preflight(const host::Netns &netns, const std::string &a,
                                              const std::string &b, bool skb_mode, bool fix) {
  Preflight preflight(skb_mode, fix);
  if (auto done = preflight.look(netns, a, b); !done)
    return done.error();
  return preflight.take();
}

Result<std::vector<Trouble>> port_preflight(const host::Netns &netns, const std::string &ifname,
                                            bool skb_mode) {
  Preflight preflight(skb_mode, false);
  if (auto done = preflight.look_alone(netns, ifname); !done)
    return done.error();
  return preflight.take();
}

} // namespace xr::datapath
