// SPDX-License-Identifier: Apache-2.0
// Captures several ports at the same time, each into a file of its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "port_capture/port_capture.h"

namespace xr::port_capture {

struct SeveralResult {
  std::vector<CaptureSummary> captures; // in the order of the requests
  std::vector<std::string> notes;       // sentences for the user
};

// Each request has a duration; `stop` ends all of them. `begun` is called when all have started.
// All ports are restored, also after an error, which names the port.
Result<SeveralResult> capture_several(std::vector<CaptureRequest> requests,
                                      const std::atomic<bool> &stop,
                                      const std::function<void()> &begun);

} // namespace xr::port_capture
