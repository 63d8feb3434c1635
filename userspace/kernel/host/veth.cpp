// SPDX-License-Identifier: Apache-2.0
#include "host/veth.h"

#include <chrono>
#include <thread>

#include <linux/if_link.h>
#include <linux/veth.h>

#include "host/link.h"
#include "host/netlink.h"
#include "host/netns.h"

namespace xr::host {

namespace {

constexpr auto kCarrierPatience = std::chrono::seconds(5);

Status answered(const Answer &answer, const char *what) {
  if (!answer.error)
    return {};
  return errno_error(answer.error, what, answer.words);
}

bool has_carrier(const std::string &ifname) {
  auto facts = read_link({ifname});
  return facts && facts->running;
}

// `netns`: of the other end; null: this thread's. mtu 0: the kernel's default.
Status make_pair(const std::string &word, const std::string &other, const Netns *netns,
                 uint32_t mtu, uint32_t queues) {
  const auto peer = [&](Request &r) {
    r.header(ifinfomsg{}).add(IFLA_IFNAME, other);
    if (netns)
      r.add(IFLA_NET_NS_FD, static_cast<uint32_t>(netns->fd()));
    if (mtu)
      r.add(IFLA_MTU, mtu);
    if (queues > 1)
      r.add(IFLA_NUM_TX_QUEUES, queues).add(IFLA_NUM_RX_QUEUES, queues);
  };
  const auto data = [&](Request &r) { r.nest(VETH_INFO_PEER, peer); };
  const auto info = [&](Request &r) { r.add(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, data); };
  Request request(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  request.add(IFLA_IFNAME, word);
  if (mtu)
    request.add(IFLA_MTU, mtu);
  if (queues > 1)
    request.add(IFLA_NUM_TX_QUEUES, queues).add(IFLA_NUM_RX_QUEUES, queues);
  request.nest(IFLA_LINKINFO, info);
  return answered(ask(request, {}), "cannot make a veth pair");
}

Status await_carrier(const std::string &ifname) {
  const auto until = std::chrono::steady_clock::now() + kCarrierPatience;
  while (!has_carrier(ifname)) {
    if (std::chrono::steady_clock::now() > until)
      return Error{"a veth pair that is up has no carrier"};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

} // namespace

Status make_veth(const std::string &word, const std::string &other) {
  if (auto done = make_pair(word, other, nullptr, 0, 1); !done)
    return done;
  for (const std::string &ifname : {word, other})
    if (auto done = set_up(ifname, true); !done)
      return done;
  for (const std::string &ifname : {word, other})
    if (auto done = await_carrier(ifname); !done)
      return done;
  // The kernel reports carrier before it lets frames through. A work item does that under the lock
  // that this request takes, so this waits for it.
  return set_up(other, true);
}

Status make_veth(const VethEnd &near, const VethEnd &far, uint32_t mtu, uint32_t queues) {
  const auto there = XR_TRY(Netns::open(far.netns));
  {
    const auto inside = XR_TRY(enter_netns(near.netns));
    if (auto done = make_pair(near.ifname, far.ifname, &there, mtu, queues); !done)
      return done;
    if (auto done = set_up(near.ifname, true); !done)
      return done;
  }
  {
    const auto inside = XR_TRY(there.enter());
    // GRO is set when it is up: set while it is down, its peer does not learn of it, and
    // refuses redirected frames.
    if (auto done = set_up(far.ifname, true); !done)
      return done;
    if (auto done = set_feature(far.ifname, "rx-gro", true); !done)
      return done;
    if (auto done = await_carrier(far.ifname); !done)
      return done;
  }
  const auto inside = XR_TRY(enter_netns(near.netns));
  if (auto done = await_carrier(near.ifname); !done)
    return done;
  return set_up(near.ifname, true); // as above
}

} // namespace xr::host
