// SPDX-License-Identifier: Apache-2.0
// Frames of a port into files: taken, put in order, chosen, written, and what came of it.
#pragma once

#include <atomic>
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

enum Event : uint32_t { kGap = 1, kCnp = 2, kNak = 4, kRule = 8 };

// Frames near these, and no others.
struct Nearby {
  uint32_t events = 0; // enum Event
  size_t before = 10, after = 10;
};

struct CaptureRequest {
  std::string ifname, netns;
  datapath::AttachOptions attach; // where nothing is attached yet
  roce_capture_filter filter{};
  uint64_t ring_bytes = 0; // of each CPU; 0: as many as are usual
  CaptureFiles::Options files;
  std::optional<Nearby> nearby;
  uint64_t count = 0;       // frames written; 0: no end
  uint64_t duration_ns = 0; // likewise
};

class CaptureRun {
public:
  // `stop` must outlive it: set, it ends the wait for a pipe's reader, and the run.
  static Result<CaptureRun> prepare(CaptureRequest request, const std::atomic<bool> &stop);
  CaptureRun(CaptureRun &&) noexcept;
  CaptureRun &operator=(CaptureRun &&) = delete;
  ~CaptureRun();

  const std::vector<std::string> &notes() const;
  // Until it is told to stop, or has what it was asked for. Calls `begun` when from now on no frame
  // is missed, and `tell` now and then.
  Status run(const std::function<void()> &begun,
             const std::function<void(const CaptureSummary &)> &tell);
  CaptureSummary report() const;
  // The port as it was before.
  Status close();

private:
  struct State;
  explicit CaptureRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::port_capture
