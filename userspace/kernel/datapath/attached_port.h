// SPDX-License-Identifier: Apache-2.0
// Reads the counters, streams and events of an attached port. An open port remains readable after
// its pins or its interface are deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/maps.h"
#include "datapath/status.h"
#include "model/episodes.h"
#include "model/job_bursts.h"
#include "model/passive_latency.h"
#include "model/snapshot.h"
#include "roce/event.h"

struct ring_buffer;

namespace xr::datapath {

class PairNames;

// Consumes the port's event ring, which holds the events since the last reader. One reader per
// port: a ring has one read position.
class Events {
public:
  using Callback = std::function<void(const roce_event &)>;

  // Waits up to `timeout_ms` for an event, then calls the callback for all events in the ring.
  // Returns their number; 0 after a signal or a timeout.
  Result<int> poll(int timeout_ms);
  // Discards the events in the ring.
  void skip();

private:
  friend class AttachedPort;
  struct Close {
    void operator()(ring_buffer *ring) const;
  };
  static int deliver(void *self, void *data, size_t size);

  // On the heap, because libbpf keeps its address.
  struct State {
    Callback callback;
    Fd lock;
    bool skipping = false;
  };
  std::unique_ptr<State> state_;
  std::unique_ptr<ring_buffer, Close> ring_;
};

class AttachedPort {
public:
  // Error unless the port is attached with this ABI and the program is on the hook.
  static Result<AttachedPort> open(const PortName &port);

  const PortStatus &status() const { return status_; } // at the time of open()
  // Whether its program is still on the interface.
  Result<bool> alive() const;

  // The counters summed over CPUs, and, if `with_streams`, the streams. Each stream record is
  // consistent in itself if the kernel supports BPF_F_LOCK for batches.
  Result<Snapshot> snapshot(bool with_streams = true) const;
  Result<Events> events(Events::Callback callback) const;
  // What following found after `since`, which is set to the newest. Error if the port does not
  // follow QP pairs.
  struct Found {
    uint64_t episodes = 0, findings = 0; // numbers, from 1
  };
  Result<Episodes> episodes(Found &since) const;
  // Without QP pairs and the episodes that are still open.
  Result<Episodes> ended_episodes(Found &since) const;
  Found newest_found() const;
  // The times of QP pairs since the port was attached. Error if it does not time them.
  Result<PassiveLatency> latency() const;
  // The bursts of pairs of hosts whose data entered this port. Error if it keeps none.
  Result<JobBursts> job() const;

private:
  Status read_counters(Snapshot &to) const;
  Status read_classes(Snapshot &to) const;
  Status read_mirrors(Snapshot &to) const;
  Status read_streams(Snapshot &to) const;
  Status read_found(Episodes &to, Found &since, const roce_shared &shared,
                    const PairNames &names) const;
  std::vector<roce_aside> read_numbers() const;
  void keep_own(Snapshot &to, const std::vector<roce_aside> &asides) const;

  PortStatus status_;
  Maps maps_;
  std::string directory_; // of the pins; "": no pins
};

} // namespace xr::datapath
