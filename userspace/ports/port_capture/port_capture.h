// SPDX-License-Identifier: Apache-2.0
// Captures frames of a port into files: reads the rings, orders, filters and writes frames, and
// counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/files.h"
#include "datapath/attach.h"
#include "report/capture.h"
#include "roce/capture.h"

namespace xr::port_capture {

enum Event : uint32_t { kGap = 1, kCnp = 2, kNak = 4, kRule = 8, kEpisode = 16 };

// With --around: only frames near these events.
struct Nearby {
  uint32_t events = 0; // enum Event
  size_t before = 10, after = 10;
};

struct CaptureRequest {
  std::string ifname, netns;
  datapath::AttachOptions attach; // used if the port is not attached yet
  roce_capture_filter filter{};
  uint64_t ring_bytes = 0; // per CPU; 0: a default
  CaptureFiles::Options files;
  std::optional<Nearby> nearby;
  bool nic_clock = false;   // times of the NIC's clock, as they are
  uint64_t count = 0;       // number of frames to write; 0: unlimited
  uint64_t duration_ns = 0; // 0: unlimited
};

class CaptureRun {
public:
  // `stop` must outlive the run. Setting it ends the run, and the wait for the reader of a pipe.
  static Result<CaptureRun> prepare(CaptureRequest request, const std::atomic<bool> &stop);
  CaptureRun(CaptureRun &&) noexcept;
  CaptureRun &operator=(CaptureRun &&) = delete;
  ~CaptureRun();

  std::vector<std::string> notes() const;
  // Runs until `stop`, the frame limit or the time limit. Calls `begun` when capturing has started,
  // so that no later frame is missed, and `progress` periodically.
  Status run(const std::function<void()> &begun,
             const std::function<void(const CaptureSummary &)> &progress);
  CaptureSummary report() const;
  // Restores the port.
  Status close();

private:
  struct State;
  explicit CaptureRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::port_capture
