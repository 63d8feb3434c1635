// SPDX-License-Identifier: Apache-2.0
#include "places/lane.h"

#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "datapath/attach.h"
#include "host/named_netns.h"
#include "host/veth.h"
#include "places/process_name.h"

namespace xr::places {

namespace {

constexpr const char *kNetnsPrefix = "xr-run-";
constexpr const char *kSender = "tx0", *kLeft = "box0", *kRight = "box1", *kReceiver = "rx0";

// The name is xr-run-PID-START-ROLE.
bool is_stale(const std::string &name) {
  return name.starts_with(kNetnsPrefix) && names_ended_process(name.substr(strlen(kNetnsPrefix)));
}

// The program goes off the ports first: its pins stay when a namespace goes.
void remove(const std::string &name) {
  if (const auto detached = datapath::detach_all(name); !detached)
    (void)detached.error(); // nothing was attached
  if (const Status s = host::remove_netns(name); !s)
    (void)s.error(); // it is gone
}

} // namespace

void remove_stale_lanes() {
  std::set<std::string> names = datapath::pinned_netns_names();
  for (std::string &name : host::netns_names())
    names.insert(std::move(name));
  for (const std::string &name : names)
    if (is_stale(name))
      remove(name);
}

Result<Lane> Lane::make(uint32_t mtu) {
  remove_stale_lanes();
  const std::string id = kNetnsPrefix + own_process_name();
  Lane lane;
  for (const auto &[name, role] :
       {std::pair{&lane.senders_, "send"}, std::pair{&lane.wire_, "wire"},
        std::pair{&lane.receivers_, "recv"}}) {
    const std::string wanted = fmt::format("{}-{}", id, role);
    XR_TRY(host::make_netns(wanted));
    *name = wanted;
  }
  for (const auto &[near, netns, far] : {std::tuple{kLeft, &lane.senders_, kSender},
                                         std::tuple{kRight, &lane.receivers_, kReceiver}})
    XR_TRY(host::make_veth({near, lane.wire_}, {far, *netns}, mtu));
  return lane;
}

RunPorts Lane::ports() const {
  return {.sender = {kSender, senders_},
          .left = {kLeft, wire_},
          .right = {kRight, wire_},
          .receiver = {kReceiver, receivers_}};
}

Lane::Lane(Lane &&other) noexcept
    : senders_(std::exchange(other.senders_, "")), wire_(std::exchange(other.wire_, "")),
      receivers_(std::exchange(other.receivers_, "")) {}

Lane::~Lane() {
  try {
    for (const std::string *name : {&senders_, &receivers_, &wire_})
      if (!name->empty())
        remove(*name);
  } catch (...) { // out of memory; the next run removes them
  }
}

} // namespace xr::places
