// SPDX-License-Identifier: Apache-2.0
// The captures of a run: a file for each port, each port in a thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "places/plan.h"
#include "places/run_ports.h"

namespace xr::places {

class Captures {
public:
  // The ports are attached. Writes PORT.pcapng into `directory`, which exists. Captures when it
  // returns.
  static Result<Captures> start(const Plan &plan, const RunPorts &ports,
                                const std::string &directory);
  Captures(Captures &&) noexcept;
  ~Captures();

  // What has arrived so far is written. Before the ports are detached.
  Status stop();
  // Reasons for which a file is not complete.
  std::vector<std::string> why_void() const;
  Status close(); // after the ports were detached: quicker

private:
  struct State;
  explicit Captures(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::places
