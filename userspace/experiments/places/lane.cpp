// SPDX-License-Identifier: Apache-2.0
#include "places/lane.h"

#include <cstring>
#include <set>
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

bool is_stale(const std::string &name) {
  return name.starts_with(kNetnsPrefix) && names_ended_process(name.substr(strlen(kNetnsPrefix)));
}

// The program goes off the ports first: its pins stay when a namespace goes.
void remove(const std::string &name) {
  if (const auto detached = datapath::detach_all(name); !detached)
    (void)detached.error(); // the next run removes what stays
  if (const Status s = host::remove_netns(name); !s)
    (void)s.error(); // it is gone
}

} // namespace

void remove_stale_netns() {
  std::set<std::string> names = datapath::pinned_netns_names();
  for (std::string &name : host::netns_names())
    names.insert(std::move(name));
  for (const std::string &name : names)
    if (is_stale(name))
      remove(name);
}

Result<RunNetns> RunNetns::make(std::string_view role) {
  std::string name = fmt::format("{}{}-{}", kNetnsPrefix, own_process_name(), role);
  XR_TRY(host::make_netns(name));
  return RunNetns(std::move(name));
}

RunNetns::~RunNetns() {
  try {
    if (!name_.empty())
      remove(name_);
  } catch (...) { // out of memory; the next run removes it
  }
}

Result<Lane> Lane::make(uint32_t mtu) {
  remove_stale_netns();
  auto senders = XR_TRY(RunNetns::make("send"));
  auto wire = XR_TRY(RunNetns::make("wire"));
  auto receivers = XR_TRY(RunNetns::make("recv"));
  XR_TRY(host::make_veth({kLeft, wire.name()}, {kSender, senders.name()}, mtu));
  XR_TRY(host::make_veth({kRight, wire.name()}, {kReceiver, receivers.name()}, mtu));
  return Lane(std::move(senders), std::move(wire), std::move(receivers));
}

RunPorts Lane::ports() const {
  return {.sender = {kSender, senders_.name()},
          .left = {kLeft, wire_.name()},
          .right = {kRight, wire_.name()},
          .receiver = {kReceiver, receivers_.name()}};
}

} // namespace xr::places
