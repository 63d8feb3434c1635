// SPDX-License-Identifier: Apache-2.0
// Reading an attachment that lives. Once open it goes on being readable, whatever becomes of pins
// and interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/maps.h"
#include "datapath/status.h"
#include "model/snapshot.h"
#include "roce/event.h"

struct ring_buffer;

namespace xr::datapath {

// Takes events out of the port's ring, which holds what came since the last reader. One at a time:
// a ring has one reading position.
class Events {
public:
  using Callback = std::function<void(const roce_event &)>;

  // Waits up to that long for the first one, then hands over all there are; tells how many. A
  // signal ends the wait with 0.
  Result<int> poll(int timeout_ms);
  // Throws away what is in the ring.
  void skip();

private:
  friend class Port;
  struct Close {
    void operator()(ring_buffer *ring) const;
  };
  static int deliver(void *self, void *data, size_t size);

  // Behind a pointer, because libbpf keeps its address.
  struct State {
    Callback callback;
    Fd lock;
    bool skipping = false;
  };
  std::unique_ptr<State> state_;
  std::unique_ptr<ring_buffer, Close> ring_;
};

class Port {
public:
  // A sentence unless it is attached, by this ABI, and on the hook.
  static Result<Port> open(const std::string &ifname, const std::string &netns);

  const PortStatus &status() const { return status_; } // as of open
  // Is its program still on the interface?
  Result<bool> alive() const;

  // The counters summed over CPUs; streams, if wanted, as consistent each as the kernel can give.
  Result<Snapshot> snapshot(bool with_streams = true) const;
  Result<Events> events(Events::Callback callback) const;

private:
  Status read_counters(Snapshot &to) const;
  Status read_streams(Snapshot &to) const;
  std::vector<roce_aside> read_numbers() const;
  void keep_own(Snapshot &to, const std::vector<roce_aside> &asides) const;

  PortStatus status_;
  Maps maps_;
  std::string directory_; // of the pins, "" without
};

} // namespace xr::datapath
