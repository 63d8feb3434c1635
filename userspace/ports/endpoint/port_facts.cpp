// SPDX-License-Identifier: Apache-2.0
#include "endpoint/port_facts.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/link.h"
#include "host/netns.h"
#include "host/privilege.h"
#include "packet/neighbour.h"
#include "parse/address.h"
#include "roce/parse.h"

namespace xr::endpoint {

namespace {

constexpr int kQuestions = 3;
constexpr uint64_t kAnswerPatience = 350'000'000; // ns per question

Result<Fd> raw_socket(const PortFacts &port) {
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  sockaddr_ll where{};
  where.sll_family = AF_PACKET;
  where.sll_protocol = htons(ETH_P_ALL);
  where.sll_ifindex = static_cast<int>(port.ifindex);
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr *>(&where), sizeof(where)) < 0)
    return errno_error(errno, "cannot open a packet socket");
  return fd;
}

Status ask(const Fd &fd, const std::vector<uint8_t> &question) {
  if (::send(fd.get(), question.data(), question.size(), 0) < 0)
    return errno_error(errno, "cannot send an ARP or neighbour request");
  return {};
}

std::optional<packet::Mac> await_answer(const Fd &fd, const packet::Address &address) {
  const uint64_t until = monotonic_ns() + kAnswerPatience;
  std::array<uint8_t, 2048> frame{};
  for (uint64_t now = monotonic_ns(); now < until; now = monotonic_ns()) {
    pollfd item{fd.get(), POLLIN, 0};
    if (poll(&item, 1, static_cast<int>((until - now) / 1'000'000) + 1) <= 0)
      continue;
    const ssize_t size = recv(fd.get(), frame.data(), frame.size(), MSG_DONTWAIT);
    if (size <= 0)
      continue;
    const auto said = packet::parse_neighbour({frame.data(), static_cast<size_t>(size)});
    if (said && !said->question && (said->target == address || said->sender == address))
      return said->sender_mac;
  }
  return {};
}

std::optional<packet::Mac> known(const PortFacts &port, const packet::Address &address) {
  const auto all = host::read_neighbours(port.ifindex);
  if (!all)
    return {};
  const auto found =
      std::find_if(all.get().begin(), all.get().end(),
                   [&](const host::Neighbour &neighbour) { return neighbour.address == address; });
  return found == all.get().end() ? std::nullopt : std::optional(found->mac);
}

} // namespace

std::optional<packet::Address> PortFacts::address(bool ipv4) const {
  const auto found =
      std::find_if(addresses.begin(), addresses.end(),
                   [&](const packet::Address &a) { return packet::is_mapped(a) == ipv4; });
  return found == addresses.end() ? std::nullopt : std::optional(*found);
}

Result<PortFacts> read_port_facts(const PortName &name) {
  XR_TRY(host::check_privilege(host::Privilege::Sockets));
  const auto inside = XR_TRY(host::enter_netns(name.netns));
  auto link = host::read_link(name);
  if (!link)
    return link.error();
  if (!link->up)
    return Error{"the port is down",
                 fmt::format("ip {}link set {} up",
                             name.netns.empty() ? "" : "-n " + name.netns + " ", name.ifname)};
  PortFacts port{name.ifname,
                 name.netns,
                 link->driver,
                 link->bus,
                 link->ifindex,
                 link->mac,
                 link->mtu,
                 host::read_speed(name.ifname),
                 host::read_queues(name.ifname).count,
                 {}};
  const auto addresses = XR_TRY(host::read_addresses(link->ifindex));
  for (const std::string &text : addresses)
    if (auto item = parse::address(text.substr(0, text.find('/'))))
      port.addresses.push_back(*item);
  return port;
}

PortDrops read_port_drops(const PortFacts &port) {
  const auto scope = host::enter_netns(port.netns);
  if (!scope)
    return {};
  const auto link = host::read_link({port.ifname});
  return link ? PortDrops{link.get().tx_packets, link.get().tx_dropped, link.get().rx_missed}
              : PortDrops{};
}

Result<packet::Mac> resolve(const PortFacts &port, const packet::Address &source,
                            const packet::Address &address, const std::vector<packet::Tag> &tags,
                            const packet::Mac &source_mac) {
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  if (const auto mac = known(port, address))
    return *mac;
  auto fd = XR_TRY(raw_socket(port));
  const auto question = packet::neighbour_question(source, source_mac, address, tags);
  for (int i = 0; i < kQuestions; i++) {
    XR_TRY(ask(fd, question));
    if (const auto mac = await_answer(fd, address))
      return *mac;
  }
  return Error{
      fmt::format("no host on {} answers for {}", port.ifname, parse::address_text(address)),
      "give dst-mac; for a host behind a router, the router's MAC"};
}

Status announce(const PortFacts &port, const packet::Address &own) {
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  auto fd = XR_TRY(raw_socket(port));
  return ask(fd, packet::neighbour_question(own, port.mac, own, {}));
}

} // namespace xr::endpoint
