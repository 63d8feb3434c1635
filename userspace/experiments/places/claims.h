// SPDX-License-Identifier: Apache-2.0
// The ports that a run has attached, noted in a file, so that after a kill -9 the next run detaches
// them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "places/run_ports.h"

namespace xr::places {

class PortClaims {
public:
  // Before the ports are attached.
  static Result<PortClaims> take(const std::vector<RunPort> &ports);
  PortClaims(PortClaims &&other) noexcept;
  PortClaims &operator=(PortClaims &&) = delete;
  ~PortClaims(); // after they are detached

private:
  explicit PortClaims(std::string path) : path_(std::move(path)) {}
  std::string path_; // "": not ours any more
};

// Detaches what runs left whose process has ended. Returns the names of the ports.
std::vector<std::string> release_stale_claims();

} // namespace xr::places
