// SPDX-License-Identifier: Apache-2.0
#include "doctor/pfc_trial.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "datapath/attach.h"
#include "datapath/attached_port.h"
#include "host/link.h"
#include "host/netns.h"
#include "packet/pause.h"

namespace xr::doctor {

namespace {

constexpr uint16_t kExperimental = 0x88b5; // IEEE 802, local experimental EtherType 1
constexpr int kRounds = 30;                // a driver may restart its link when XDP is attached
constexpr auto kRound = std::chrono::milliseconds(100);

PfcSeen failed(const std::string &from, const Error &error) {
  PfcSeen seen;
  seen.from = from;
  seen.not_tried = error.message;
  seen.hint = error.hint;
  return seen;
}

std::vector<uint8_t> ordinary_frame(const packet::Mac &dst, const packet::Mac &src) {
  std::vector<uint8_t> bytes(packet::kPauseBytes);
  std::copy(dst.begin(), dst.end(), bytes.begin());
  std::copy(src.begin(), src.end(), bytes.begin() + ETH_ALEN);
  bytes[12] = kExperimental >> 8;
  bytes[13] = kExperimental & 0xff;
  return bytes;
}

Result<Fd> packet_socket() {
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)); // protocol 0: receives nothing
  if (!fd)
    return errno_error(errno, "cannot open a packet socket", "CAP_NET_RAW is needed");
  return fd;
}

Status send_from(const Fd &fd, unsigned ifindex, const std::vector<uint8_t> &frame) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(ifindex);
  if (sendto(fd.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr *>(&to),
             sizeof(to)) < 0)
    return errno_error(errno, "cannot send a frame");
  return {};
}

// The address of PFC frames is a group that no host joins: without this, a NIC may filter it.
Status be_promiscuous(const Fd &fd, unsigned ifindex) {
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(ifindex);
  request.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) < 0)
    return errno_error(errno, "cannot make the port promiscuous");
  return {};
}

// Sends both frames, round after round, until both have arrived.
Result<PfcSeen> exchange(const datapath::AttachedPort &port, const host::LinkFacts &to,
                         const host::LinkFacts &from, const std::string &netns) {
  const auto inside = XR_TRY(host::enter_netns(netns));
  auto fd = XR_TRY(packet_socket());
  XR_TRY(be_promiscuous(fd, to.ifindex));
  const auto before = port.snapshot(false);
  if (!before)
    return before.error();
  packet::Pause pause;
  pause.src = from.mac;
  const auto pfc = packet::build_pause(pause), ordinary = ordinary_frame(to.mac, from.mac);
  PfcSeen seen;
  seen.from = from.ifname;
  seen.skb_mode = port.status().mode == Mode::Skb;
  for (int round = 0; round < kRounds && !(seen.pfc && seen.ordinary); round++) {
    for (const auto *frame : {&pfc, &ordinary})
      if (auto done = send_from(fd, from.ifindex, *frame); !done && round + 1 == kRounds)
        return done.error(); // before: the link may be on its way up
    std::this_thread::sleep_for(kRound);
    const auto now = XR_TRY(port.snapshot(false));
    const auto grew = [&](roce_class class_) {
      return now.totals.frames[class_] > before.get().totals.frames[class_];
    };
    seen.pfc = grew(ROCE_CLASS_PFC);
    seen.ordinary = grew(ROCE_CLASS_OTHER);
  }
  return seen;
}

Result<PfcSeen> look(const PortName &name, const host::LinkFacts &from) {
  auto to = [&]() -> Result<host::LinkFacts> {
    const auto inside = XR_TRY(host::enter_netns(name.netns));
    return host::read_link(name);
  }();
  if (!to)
    return to.error();
  if (!to->up || !from.up)
    return Error{fmt::format("{} is down", to->up ? from.ifname : name.ifname)};
  auto port = datapath::AttachedPort::open(name);
  const bool attached = port.ok();
  if (!attached) {
    datapath::AttachOptions options;
    options.track = false;
    XR_TRY(datapath::attach(name, options));
    port = datapath::AttachedPort::open(name);
  }
  auto seen = port ? exchange(*port, *to, from, name.netns) : Result<PfcSeen>(port.error());
  if (attached)
    return seen;
  XR_TRY(datapath::detach(name));
  return seen;
}

} // namespace

Check judge_pfc(const PfcSeen &seen) {
  Check check{"port", "pfc_frames", CheckVerdict::Unknown, ""};
  if (!seen.not_tried.empty()) {
    check.text = "whether XDP sees PFC frames could not be tried: " + seen.not_tried;
    check.hint = seen.hint;
  } else if (seen.pfc) {
    check.verdict = CheckVerdict::Ok;
    check.text = fmt::format("XDP{} sees PFC and PAUSE frames (0x8808): one from {} arrived",
                             seen.skb_mode ? " in skb mode" : "", seen.from);
  } else if (seen.ordinary) {
    check.text = fmt::format("no PFC frame from {} reached XDP, an ordinary frame did: this NIC or "
                             "driver consumes them, or that of {} does not send them",
                             seen.from, seen.from);
    check.hint = "`ethtool -S` of both ports has their counters of pauses";
  } else {
    check.text = fmt::format("no frame from {} reached XDP, also no ordinary one", seen.from);
    check.hint = "--pfc-from must be the other end of this port's link";
  }
  return check;
}

Result<Check> try_pfc(const PortName &port, const std::string &from) {
  auto sender = [&]() -> Result<host::LinkFacts> {
    const auto inside = XR_TRY(host::enter_netns(port.netns));
    return host::read_link({from, port.netns});
  }();
  if (!sender)
    return sender.error().in(fmt::format("--pfc-from {}", from));
  const auto seen = look(port, *sender);
  return judge_pfc(seen ? seen.get() : failed(from, seen.error()));
}

} // namespace xr::doctor
