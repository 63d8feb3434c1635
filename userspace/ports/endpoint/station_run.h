// SPDX-License-Identifier: Apache-2.0
// A Station on a port: a thread with a clock and an AF_XDP socket, until it is closed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/port_thread.h"
#include "station/station.h"

namespace xr::endpoint {

using StationRequest = AnsweringPort;

// A port that has a Station: a StationRun, or in tests one without a kernel.
class StationPort {
public:
  virtual ~StationPort() = default;

  // Calls `use` between two rounds of the station: within some 20 ms. For any thread.
  virtual void call(const std::function<void(station::Station &, const EngineCounts &)> &use) = 0;
  // Until the questions of neighbours are answered, or were asked often enough. The MACs, in their
  // order. The kernel is asked for what its own addresses ask.
  virtual std::vector<std::optional<packet::Mac>>
  resolve(const std::vector<station::NeighbourQuestion> &questions) = 0;

  virtual const PortFacts &port() const = 0;
  virtual uint64_t line_bits() const = 0;
  virtual const std::vector<std::string> &notes() const = 0;
  // Why the station ended by itself: the port is gone. Empty: it has not.
  virtual std::optional<Error> failure() const = 0;
  // Ends the station and restores the port; returns the first failure.
  virtual Status close() = 0;
};

class StationRun : public StationPort {
public:
  // Attaches the port, opens the socket and begins to answer.
  static Result<std::unique_ptr<StationPort>> open(StationRequest request);

  void call(const std::function<void(station::Station &, const EngineCounts &)> &use) override;
  std::vector<std::optional<packet::Mac>>
  resolve(const std::vector<station::NeighbourQuestion> &questions) override;
  const PortFacts &port() const override { return thread_.session.port; }
  uint64_t line_bits() const override { return thread_.line_bits(); }
  const std::vector<std::string> &notes() const override { return thread_.session.notes; }
  std::optional<Error> failure() const override { return thread_.failure(); }
  Status close() override { return thread_.close(); }

private:
  StationRun() = default;

  PortThread thread_;
  station::Station *station_ = nullptr; // of the engine
};

} // namespace xr::endpoint
