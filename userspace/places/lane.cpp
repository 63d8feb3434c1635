// SPDX-License-Identifier: Apache-2.0
#include "places/lane.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include <unistd.h>

#include "datapath/attach.h"
#include "host/named_netns.h"
#include "host/veth.h"

namespace xr::places {

namespace {

constexpr const char *kPrefix = "xr-run-";
constexpr unsigned kStartField = 22; // of /proc/PID/stat, proc(5)

// When the process started, in clock ticks since boot; none: there is no such process.
std::optional<uint64_t> start_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return {};
  const size_t name_end = text.rfind(')'); // field 2 may have spaces
  if (name_end == std::string::npos)
    return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (unsigned i = 3; i <= kStartField; i++)
    if (!(fields >> field))
      return {};
  return std::stoull(field);
}

// xr-run-PID-START-ROLE
bool is_stale(const std::string &name) {
  long pid = 0;
  unsigned long long start = 0;
  if (std::sscanf(name.c_str(), "xr-run-%ld-%llu-", &pid, &start) != 2)
    return false;
  const auto now = start_of(pid);
  return !now || *now != start;
}

// The program goes off the ports first: its pins stay when a namespace goes.
void remove(const std::string &name) {
  if (const auto detached = datapath::detach_all(name); !detached)
    (void)detached.error(); // nothing was attached
  if (const Status s = host::remove_netns(name); !s)
    (void)s.error(); // it is gone
}

} // namespace

unsigned remove_stale_lanes() {
  unsigned removed = 0;
  for (const std::string &name : host::netns_names())
    if (name.starts_with(kPrefix) && is_stale(name)) {
      remove(name);
      removed++;
    }
  return removed;
}

Result<Lane> Lane::make(uint32_t mtu) {
  remove_stale_lanes();
  const std::string id = fmt::format("{}{}-{}", kPrefix, getpid(), start_of(getpid()).value_or(0));
  Lane lane;
  for (const auto &[name, role] :
       {std::pair{&lane.senders_, "send"}, std::pair{&lane.wire_, "wire"},
        std::pair{&lane.receivers_, "recv"}}) {
    const std::string wanted = fmt::format("{}-{}", id, role);
    if (Status s = host::make_netns(wanted); !s)
      return s.error();
    *name = wanted;
  }
  for (const auto &[near, netns, far] : {std::tuple{kLeft, &lane.senders_, kSender},
                                         std::tuple{kRight, &lane.receivers_, kReceiver}})
    if (Status s = host::make_veth({near, lane.wire_}, {far, *netns}, mtu); !s)
      return s.error();
  return lane;
}

Lane::Lane(Lane &&other) noexcept
    : senders_(std::exchange(other.senders_, "")), wire_(std::exchange(other.wire_, "")),
      receivers_(std::exchange(other.receivers_, "")) {}

Lane::~Lane() {
  for (const std::string &name : {senders_, receivers_, wire_})
    if (!name.empty())
      remove(name);
}

} // namespace xr::places
