// SPDX-License-Identifier: Apache-2.0
// Network namespaces of a run. They belong to this process and are removed with the object; those
// that a killed process left are removed by the next run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "places/run_ports.h"

namespace xr::places {

class RunNetns {
public:
  // Its name is xr-run-PID-START-ROLE.
  static Result<RunNetns> make(std::string_view role);
  RunNetns(RunNetns &&other) noexcept : name_(std::exchange(other.name_, "")) {}
  RunNetns &operator=(RunNetns &&) = delete;
  ~RunNetns();

  const std::string &name() const { return name_; }

private:
  explicit RunNetns(std::string name) : name_(std::move(name)) {}

  std::string name_; // "": moved to another object
};

// Three in a row, joined by two veth pairs: senders, wire, receivers.
class Lane {
public:
  static Result<Lane> make(uint32_t mtu);

  RunPorts ports() const;

private:
  Lane(RunNetns senders, RunNetns wire, RunNetns receivers)
      : wire_(std::move(wire)), receivers_(std::move(receivers)), senders_(std::move(senders)) {}

  RunNetns wire_, receivers_, senders_; // removed from the last to the first
};

// Removes the namespaces of runs whose process has ended, and the pins of those that a user, or a
// run with another bpffs, has deleted.
void remove_stale_netns();

} // namespace xr::places
