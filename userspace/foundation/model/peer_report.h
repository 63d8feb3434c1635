// SPDX-License-Identifier: Apache-2.0
// What `peer` reports of a test with a tool at the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/run_reports.h"

namespace xr {

// How long messages took: one way of a ping-pong, or a READ or an atomic.
struct PeerLatency {
  uint64_t count = 0;
  double min_us = 0, max_us = 0, typical_us = 0, average_us = 0, stdev_us = 0;
  double p99_us = 0, p999_us = 0;
};

struct PeerBandwidth {
  uint64_t size = 0, iterations = 0;
  double peak_mb = 0, average_mb = 0; // MiB/s, as perftest prints; peak 0: not measured
  double message_rate = 0;            // million a second
};

// What the other side did about faults of the answers. Times in ms after the first fault.
struct PeerReaction {
  uint64_t faults = 0;              // of the answers
  uint64_t rounds = 0;              // its requests that came again, each from where it went back to
  double first_ms = 0, last_ms = 0; // of those after the first fault; 0: none
};

struct PeerTest {
  std::string tool;      // "perftest write_bw", "rping", "pingpong rc"
  bool client = false;   // this side asked
  std::string peer;      // its address
  std::string version;   // what it says of itself; "": nothing
  std::string transport; // "rc", "uc", "ud"; "": no message came
  bool cm = false;       // by RDMA CM
  uint32_t qps = 0, pmtu = 0;
  uint64_t size = 0;              // bytes of a message
  uint64_t sent = 0, arrived = 0; // messages: complete; whole
  uint64_t bad_data = 0;          // that did not have what the tool sends
  double seconds = 0;             // of the traffic
  PeerBandwidth bandwidth;
  std::optional<PeerLatency> latency;
  std::optional<PeerBandwidth> theirs; // what the other side reported
  std::vector<PeerBandwidth> sizes;    // several: of each, with bandwidth or latency
  std::vector<PeerLatency> size_latencies;
  PeerReaction reaction;
  std::string failure; // a sentence; "": it was finished
  SendCounts sent_counts;
  RespondCounts respond_counts;
};

struct PeerReport : RunReport {
  std::string gid; // what the other side reaches
  PeerTest test;
};

} // namespace xr
