// SPDX-License-Identifier: Apache-2.0
// A port whose program copies frames to this process, each with its outcome (struct roce_capture).
// The frames themselves are not affected.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/feature_lease.h"
#include "datapath/status.h"
#include "roce/capture.h"

struct perf_buffer;

namespace xr::datapath {

class CaptureTap {
public:
  // Called with a record and the captured bytes of its frame; in order per CPU, not across CPUs.
  using Callback =
      std::function<void(unsigned cpu, const roce_capture &what, const uint8_t *bytes)>;

  // One tap per port. An attached port gets its program exchanged for one that copies frames; any
  // other port is attached with `options` and detached at the end. `ring_bytes`: size of each CPU's
  // ring, a power of two of pages. No frame is copied before start(). `nic_time`: with
  // roce_capture.nic_ns, for which the program is alone on the hook.
  static Result<CaptureTap> open(const PortName &port, AttachOptions options, uint64_t ring_bytes,
                                 bool nic_time, Callback callback);
  CaptureTap(CaptureTap &&) noexcept = default;
  CaptureTap &operator=(CaptureTap &&) = delete;
  ~CaptureTap();

  Status start(const roce_capture_filter &filter) const;
  // Waits up to `timeout_ms` for a ring to reach its watermark, then calls the callback for all
  // records. A signal ends the wait.
  Status poll(int timeout_ms);
  // Stops copying and delivers the frames that are still in the rings.
  Status stop();
  // Restores the port; returns the first failure.
  Status close();

  Result<roce_capture_counts> counts() const; // only before close()
  // Whether our program is still on the interface.
  Result<bool> alive() const;

  const PortStatus &port() const { return port_; }
  // Sentences for the user; close() may add one.
  const std::vector<std::string> &notes() const { return lease_.notes(); }

private:
  struct Delivery {
    Callback callback;
    uint64_t frames = 0; // passed to the callback
  };
  struct Free {
    void operator()(perf_buffer *rings) const;
  };
  static int deliver(void *self, int cpu, void *event);

  explicit CaptureTap(FeatureLease lease) : lease_(std::move(lease)) {}
  Status open_rings(uint64_t ring_bytes);

  FeatureLease lease_;
  PortStatus port_;
  Fd ring_, filter_, counts_; // maps
  // On the heap, because libbpf keeps its address.
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<perf_buffer, Free> rings_;
};

} // namespace xr::datapath
