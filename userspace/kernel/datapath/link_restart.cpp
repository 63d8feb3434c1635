// SPDX-License-Identifier: Apache-2.0
#include "datapath/link_restart.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "host/link.h"

namespace xr::datapath {

namespace {

constexpr uint64_t kLongestRestart = 15'000'000'000; // ns; autonegotiation takes some 3 s
constexpr std::chrono::milliseconds kPause(10);

} // namespace

LinkRestart::LinkRestart(const host::Netns &netns, const std::vector<unsigned> &ifindexes)
    : netns_(netns) {
  const auto inside = netns_.enter();
  for (const unsigned ifindex : ifindexes)
    if (auto link = host::read_link_at(ifindex); link && link->up && link->carrier)
      had_carrier_.push_back(ifindex);
}

void LinkRestart::wait(std::vector<std::string> &notes) const {
  const auto inside = netns_.enter();
  const uint64_t begun = monotonic_ns();
  for (const unsigned ifindex : had_carrier_) {
    auto link = host::read_link_at(ifindex);
    if (!link || !link->up || link->carrier)
      continue;
    while (link && link->up && !link->carrier && monotonic_ns() - begun < kLongestRestart) {
      std::this_thread::sleep_for(kPause);
      link = host::read_link_at(ifindex);
    }
    if (!link)
      continue;
    const double seconds = static_cast<double>(monotonic_ns() - begun) / 1e9;
    notes.push_back(link->carrier ? fmt::format("{} restarted {}: no carrier for {:.1f} s",
                                                link->driver, link->ifname, seconds)
                                  : fmt::format("{} restarted {}, and it has no carrier yet",
                                                link->driver, link->ifname));
  }
}

} // namespace xr::datapath
