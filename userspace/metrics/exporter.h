// SPDX-License-Identifier: Apache-2.0
// What Prometheus gets: every scrape reads the ports, and what is gone comes back by itself.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <prometheus/collectable.h>

#include "base/result.h"
#include "metrics/port.h"
#include "metrics/stream_totals.h"

namespace xr::metrics {

// From the kernel. An error: it is not attached.
Result<PortReading> read_port(const std::string &ifname, const std::string &netns);

class Exporter : public prometheus::Collectable {
public:
  struct Settings {
    std::vector<std::string> ports; // none: those that `find` finds, and has found
    report::StreamOptions streams;  // `top` of them have metrics of their own; 0: none
    std::string version;
    // Not for node_exporter's text files, beside which that has its own under the same names.
    bool process = true;
  };
  using Find = std::function<std::vector<std::string>()>;
  using Read = std::function<Result<PortReading>(const std::string &ifname)>;
  // Told when a port goes (with the reason) and when it is there again (with none), and what of it
  // cannot be read: once, until that changes. No name: a scrape that came to nothing.
  using Tell = std::function<void(const std::string &ifname, const Error *error)>;

  // A port that is named twice is exported once.
  Exporter(Settings settings, Read read, Tell tell, Find find = {});

  // From several threads, one after the other.
  std::vector<prometheus::MetricFamily> Collect() const override;

private:
  struct Memory {
    StreamTotals totals;
    uint64_t errors = 0;
    std::string told;     // the last reason
    bool passing = false; // attached for as long as something runs
  };

  std::vector<prometheus::MetricFamily> collect() const;
  std::vector<std::string> ports() const;
  void collect_port(Families &to, const std::string &ifname) const;
  void tell(Memory &memory, const std::string &ifname, const Error *error) const;

  Settings settings_;
  Read read_;
  Tell tell_;
  Find find_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Memory> memories_;
};

} // namespace xr::metrics
