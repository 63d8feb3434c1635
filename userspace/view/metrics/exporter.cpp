// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <algorithm>
#include <exception>
#include <set>

#include "base/clock.h"
#include "metrics/process.h"
#include "roce/config.h"

namespace xr::metrics {

Exporter::Exporter(Settings settings, Read read, Notify notify, Find find)
    : settings_(std::move(settings)), read_(std::move(read)), notify_(std::move(notify)),
      find_(std::move(find)) {
  std::set<std::string> seen;
  std::erase_if(settings_.ports,
                [&seen](const std::string &ifname) { return !seen.insert(ifname).second; });
}

void Exporter::notify(PortMemory &memory, const std::string &ifname, const Error *error) const {
  const std::string reason = error ? error->message : "";
  if (reason != memory.reported)
    notify_(ifname, error);
  memory.reported = reason;
}

void Exporter::collect_port(Families &to, const std::string &ifname) const {
  PortMemory &memory = memories_[ifname];
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
      memory.transient = got.status.features & ROCE_FEATURE_PASSING;
    notify(memory, ifname, got.failures.empty() ? nullptr : &got.failures.front());
    if (got.snapshot && got.snapshot->tracked)
      port.totals = &memory.totals.update(*got.snapshot, got.status.since_ns);
    if (got.ended) {
      memory.episodes.update(got.ended->episodes, got.status.since_ns);
      port.episodes = &memory.episodes;
    }
  } else {
    notify(memory, ifname, &reading.error());
    memory.totals = {};
  }
  port.errors = memory.errors;
  add_port(to, port, settings_.streams);
}

// A port that was found once is exported as long as this object exists, because it may have been
// detached by mistake. A port that was attached only while another command ran is removed with it.
std::vector<std::string> Exporter::ports() const {
  if (!settings_.ports.empty() || !find_)
    return settings_.ports;
  const std::vector<std::string> found = find_();
  std::erase_if(memories_, [&found](const auto &item) {
    return item.second.transient &&
           std::find(found.begin(), found.end(), item.first) == found.end();
  });
  for (const std::string &ifname : found)
    memories_.try_emplace(ifname);
  std::vector<std::string> all;
  for (const auto &[ifname, memory] : memories_)
    all.push_back(ifname);
  return all;
}

std::vector<prometheus::MetricFamily> Exporter::collect() const {
  const std::lock_guard lock(mutex_);
  try {
    return collect_all();
  } catch (const std::exception &error) { // no memory: the next scrape may have it
    const Error failure{error.what()};
    notify_("", &failure);
    return {};
  }
}

std::vector<prometheus::MetricFamily> Exporter::collect_all() const {
  Families families;
  families.gauge("xdp_roce_build_info", "Versions of the program and of its maps.",
                 {{"version", settings_.version}, {"abi", std::to_string(ROCE_ABI)}}, 1);
  for (const std::string &ifname : ports())
    collect_port(families, ifname);
  if (settings_.refused)
    for (const auto &[reason, count] : settings_.refused())
      families.counter("xdp_roce_exporter_refused_total",
                       "Connections and requests that the exporter refused.", {{"reason", reason}},
                       static_cast<double>(count));
  if (settings_.process)
    add_process(families);
  return families.take();
}

} // namespace xr::metrics
