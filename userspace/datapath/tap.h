// SPDX-License-Identifier: Apache-2.0
// A port whose program hands copies of frames to this process, with what became of each. The
// frames themselves go where they went before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/ability.h"
#include "datapath/status.h"
#include "roce/capture.h"

struct perf_buffer;

namespace xr::datapath {

class Tap {
public:
  // A record as the kernel wrote it, and the bytes of the frame that it has. In the order of each
  // CPU.
  using Callback =
      std::function<void(unsigned cpu, const roce_capture &what, const uint8_t *bytes)>;

  // A port has one at a time. One that has a program keeps it, exchanged for one that copies; else
  // it is attached with `options`, and detached at the end. `ring_bytes` are of each CPU, a power
  // of two of pages. Nothing is handed over before start().
  static Result<Tap> open(const std::string &ifname, const std::string &netns,
                          const AttachOptions &options, uint64_t ring_bytes, Callback callback);
  Tap(Tap &&) noexcept = default;
  Tap &operator=(Tap &&) = delete;
  ~Tap();

  Status start(const roce_capture_filter &filter) const;
  // Waits up to that long for the rings to fill, then hands over all there is. A signal ends the
  // wait.
  Status poll(int timeout_ms);
  // Takes no more, and hands over what was on its way.
  Status stop();
  // The port is as it was before; what could not be done is told.
  Status close();

  Result<roce_capture_counts> counts() const; // until close()
  // Is a program of ours still on the interface?
  Result<bool> alive() const;

  const PortStatus &port() const { return port_; }
  // One more may come with close().
  const std::vector<std::string> &notes() const { return lease_.notes(); }

private:
  struct Delivery {
    Callback callback;
    uint64_t frames = 0; // handed over
  };
  struct Free {
    void operator()(perf_buffer *rings) const;
  };
  static int deliver(void *self, int cpu, void *event);

  explicit Tap(Lease lease) : lease_(std::move(lease)) {}
  Status open_rings(uint64_t ring_bytes);

  Lease lease_;
  PortStatus port_;
  Fd ring_, filter_, counts_; // maps
  // Behind a pointer, because libbpf keeps its address.
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<perf_buffer, Free> rings_;
};

} // namespace xr::datapath
