// SPDX-License-Identifier: Apache-2.0
// The rates of a port's `send` or `respond`, for the other commands: a file in /run/xdp-roce. They
// are those of a process that runs while it holds the port's lock (Lock::Use::Endpoint).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/run_reports.h"

namespace xr::datapath {

class RatesFile {
public:
  // For the port with this lock, which the caller holds. Removes a killed process's file.
  RatesFile(uint64_t netns, unsigned ifindex);
  RatesFile(RatesFile &&other) noexcept;
  RatesFile &operator=(RatesFile &&) = delete;
  ~RatesFile(); // removes it

  // Readers see the previous rates or these.
  Status write(const EndpointRates &rates) const;

private:
  std::string path_; // "": moved from
};

// Null: no process controls rates there.
std::shared_ptr<const EndpointRates> read_rates(uint64_t netns, unsigned ifindex);

} // namespace xr::datapath
