// SPDX-License-Identifier: Apache-2.0
#include "datapath/remedy.h"

#include <fmt/format.h>

#include "datapath/attach.h"
#include "host/netns.h"
#include "roce/config.h"

namespace xr::datapath {

namespace {

// The options of the port that differ from the defaults, then `more`; not `less`.
std::string options_of(const PortStatus &port, std::string_view more, std::string_view less) {
  const AttachOptions defaults;
  std::string text;
  const auto add = [&](bool differs, const std::string &option) {
    const std::string name = option.substr(0, option.find(' '));
    if (differs && name != more && name != less)
      text += " " + option;
  };
  const uint32_t has = port.features;
  const bool pairs = has & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME);
  add(port.mode == Mode::Skb, "--mode skb");
  add(!port.track && more != "--follow" && more != "--latency" && more != "--job", "--no-track");
  add(port.decap, "--decap auto"); // the names of tunnels are known to reports only
  add(port.udp_port != defaults.udp_port, fmt::format("--udp-port {}", port.udp_port));
  add(port.track && port.streams_capacity != defaults.streams,
      fmt::format("--streams {}", port.streams_capacity));
  add(has & ROCE_FEATURE_CLASSES, "--classes");
  add(has & ROCE_FEATURE_FOLLOW, "--follow");
  add(has & ROCE_FEATURE_TIME, "--latency");
  add(has & ROCE_FEATURE_JOB, "--job");
  add(pairs && port.pairs_capacity != defaults.pairs,
      fmt::format("--pairs {}", port.pairs_capacity));
  add(port.cnp_window_ns != defaults.cnp_window_ns,
      fmt::format("--cnp-window {}", port.cnp_window_ns / 1000));
  return more.empty() ? text : fmt::format("{} {}", text, more);
}

// "OPTION NAME ", or "" in the caller's namespace.
std::string in_netns(const PortStatus &port, std::string_view option) {
  const auto own = host::Netns::open("");
  const bool elsewhere = !port.netns.empty() && own && own.get().inode() != port.netns_inode;
  return elsewhere ? fmt::format("{} {} ", option, port.netns) : "";
}

bool is_bridged(const PortStatus &port) {
  return port.features & ROCE_FEATURE_FORWARD && !port.peer.empty();
}

} // namespace

std::string command_for(const PortStatus &port, std::string_view words) {
  return fmt::format("xdp-roce {}{}", in_netns(port, "--netns"), words);
}

std::string ip_for(const PortStatus &port, std::string_view words) {
  return fmt::format("ip {}{}", in_netns(port, "-n"), words);
}

std::string attach_again(const PortStatus &port, std::string_view more, std::string_view less) {
  const std::string options = options_of(port, more, less);
  if (is_bridged(port))
    return fmt::format(
        "{}, then {}", command_for(port, "detach " + port.ifname),
        command_for(port, fmt::format("bridge {} {}{}", port.ifname, port.peer, options)));
  std::string names = port.ifname;
  for (const std::string &other : port.shared_with)
    names += " " + other;
  return fmt::format(
      "{}, then {}", command_for(port, "detach " + names),
      command_for(port, fmt::format("attach {}{}{}", names,
                                    port.shared_with.empty() ? "" : " --one", options)));
}

std::string make_bridge(const PortStatus &port, std::string_view command) {
  const std::string bridge = command_for(port, fmt::format("{} {} IF2", command, port.ifname));
  return port.program_id
             ? fmt::format("{}, then {}", command_for(port, "detach " + port.ifname), bridge)
             : bridge;
}

std::string replace_other_abi(const PortStatus &port) {
  if (port.peer.empty())
    return command_for(port, "attach --ensure " + port.ifname) + " replaces it";
  return fmt::format("{}, then {}", command_for(port, "detach " + port.ifname),
                     command_for(port, fmt::format("bridge {} {}", port.ifname, port.peer)));
}

} // namespace xr::datapath
