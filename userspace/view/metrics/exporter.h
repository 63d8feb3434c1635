// SPDX-License-Identifier: Apache-2.0
// Collects the metrics of all ports at every scrape. A port that was detached reappears when it is
// attached again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/result.h"
#include "metrics/port_metrics.h"
#include "metrics/stream_totals.h"

namespace xr::metrics {

class Exporter {
public:
  struct Settings {
    std::vector<std::string> ports; // empty: the ports that `find` returns, now or earlier
    report::StreamOptions streams;  // top: number of streams with metrics of their own; 0: none
    std::string version;
    // false for node_exporter's textfile collector: node_exporter exports its own process metrics
    // under the same names
    bool process = true;
    // Reason -> requests and connections that the HTTP server refused; none: no such metric.
    std::function<std::map<std::string, uint64_t>()> refused = {};
  };
  using Find = std::function<std::vector<std::string>()>;
  // Error: the port is not attached.
  using Read = std::function<Result<PortReading>(const std::string &ifname)>;
  // Called once when a port can no longer be read (with the error), when a part of it cannot be
  // read, and when it can be read again (with null). An empty name: the whole scrape failed.
  using Notify = std::function<void(const std::string &ifname, const Error *error)>;

  // Duplicate names in settings.ports are removed.
  Exporter(Settings settings, Read read, Notify notify, Find find = {});

  // Thread safe: concurrent scrapes are serialised. Empty if the whole scrape failed.
  std::vector<prometheus::MetricFamily> collect() const;

private:
  struct PortMemory {
    StreamTotals totals;
    EpisodeTotals episodes;
    uint64_t errors = 0;
    std::string reported;   // the last error reported
    bool transient = false; // attached only while another command runs (ROCE_FEATURE_PASSING)
  };

  std::vector<prometheus::MetricFamily> collect_all() const;
  std::vector<std::string> ports() const;
  void collect_port(Families &to, const std::string &ifname) const;
  void notify(PortMemory &memory, const std::string &ifname, const Error *error) const;

  Settings settings_;
  Read read_;
  Notify notify_;
  Find find_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, PortMemory> memories_;
};

} // namespace xr::metrics
