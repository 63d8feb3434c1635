// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <algorithm>
#include <future>
#include <set>

#include "base/clock.h"
#include "datapath/lock.h"
#include "datapath/attached_port.h"
#include "datapath/rules.h"
#include "metrics/process.h"
#include "roce/config.h"

namespace xr::metrics {

Result<PortReading> read_port(const std::string &ifname, const std::string &netns) {
  PortReading reading;
  // Until the end, so that whatever fails below does not fail for somebody who attaches or detaches
  // and does not finish.
  const auto lock = datapath::Lock::take(datapath::Lock::Kind::Shared);
  if (!lock) {
    reading.known = false;
    reading.failures.push_back(lock.error());
    return reading;
  }
  auto port = datapath::AttachedPort::open(ifname, netns);
  if (!port)
    return port.error();
  reading.status = port->status();
  auto snapshot = port->snapshot(reading.status.track);
  if (snapshot)
    reading.snapshot = std::move(*snapshot);
  else
    reading.failures.push_back(snapshot.error());
  // Rules are found by their pins only.
  if (reading.status.state != AttachState::Attached ||
      !(reading.status.features & ROCE_FEATURE_RULES))
    return reading;
  auto list = datapath::list_rules(ifname, netns);
  if (list)
    reading.rules = std::move(list->rules);
  else
    reading.failures.push_back(list.error());
  return reading;
}

Exporter::Exporter(Settings settings, Read read, Tell tell, Find find)
    : settings_(std::move(settings)), read_(std::move(read)), tell_(std::move(tell)),
      find_(std::move(find)) {
  std::set<std::string> seen;
  std::erase_if(settings_.ports,
                [&seen](const std::string &ifname) { return !seen.insert(ifname).second; });
}

void Exporter::tell(Memory &memory, const std::string &ifname, const Error *error) const {
  const std::string reason = error ? error->message : "";
  if (reason != memory.told)
    tell_(ifname, error);
  memory.told = reason;
}

void Exporter::collect_port(Families &to, const std::string &ifname) const {
  Memory &memory = memories_[ifname];
  PortState port;
  port.name = ifname;
  const uint64_t start_ns = monotonic_ns();
  const auto reading = read_(ifname);
  port.seconds = static_cast<double>(monotonic_ns() - start_ns) / 1e9;
  if (reading) {
    const PortReading &got = reading.get();
    port.reading = &got;
    memory.errors += got.failures.size();
    if (got.known)
      memory.passing = got.status.features & ROCE_FEATURE_PASSING;
    tell(memory, ifname, got.failures.empty() ? nullptr : &got.failures.front());
    if (got.snapshot && got.snapshot->tracked)
      port.totals = &memory.totals.update(*got.snapshot, got.status.since_ns);
  } else {
    tell(memory, ifname, &reading.error());
    memory.totals = {};
  }
  port.errors = memory.errors;
  add_port(to, port, settings_.streams);
}

// One that was found once is told of as long as this lives: it may be detached by mistake. But one
// that was attached for as long as something ran goes with that.
std::vector<std::string> Exporter::ports() const {
  if (!settings_.ports.empty() || !find_)
    return settings_.ports;
  const std::vector<std::string> found = find_();
  std::erase_if(memories_, [&found](const auto &one) {
    return one.second.passing && std::find(found.begin(), found.end(), one.first) == found.end();
  });
  for (const std::string &ifname : found)
    memories_.try_emplace(ifname);
  std::vector<std::string> all;
  for (const auto &[ifname, memory] : memories_)
    all.push_back(ifname);
  return all;
}

// In a thread of its own: those of civetweb have 100 KiB of stack, and a snapshot is a fifth of it.
std::vector<prometheus::MetricFamily> Exporter::Collect() const {
  const std::lock_guard lock(mutex_);
  try {
    return std::async(std::launch::async, [this] { return collect(); }).get();
  } catch (const std::exception &error) { // no memory, no threads; civetweb is C and takes none
    const Error failure{error.what()};
    tell_("", &failure);
    return {};
  }
}

std::vector<prometheus::MetricFamily> Exporter::collect() const {
  Families families;
  families.gauge("xdp_roce_build_info", "Versions of the program and of its maps.",
                 {{"version", settings_.version}, {"abi", std::to_string(ROCE_ABI)}}, 1);
  for (const std::string &ifname : ports())
    collect_port(families, ifname);
  if (settings_.process)
    add_process(families);
  return families.take();
}

} // namespace xr::metrics
