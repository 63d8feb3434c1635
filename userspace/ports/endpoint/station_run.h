// SPDX-License-Identifier: Apache-2.0
// A Station on a port: a thread with a clock and an AF_XDP socket, until it is closed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "datapath/attach.h"
#include "endpoint/engine.h"
#include "endpoint/session.h"
#include "station/station.h"

namespace xr::endpoint {

struct StationRequest {
  std::string ifname, netns;
  // What the port answers for. The port's own addresses may be among them; then the host still
  // answers ARP and ND for those that have the port's MAC.
  struct Address {
    packet::Address address{};
    std::optional<packet::Mac> mac; // none: the port's
  };
  std::vector<Address> addresses;
  responder::ResponderOptions responder;                             // without addresses and MACs
  uint64_t line_bits = 0;                                            // 0: the port's speed
  std::optional<packet::ObeyedPauses> obey = packet::ObeyedPauses{}; // none: pauses are ignored
  // All frames that come to the port, whatever their MAC, are the station's; the host gets none.
  bool all_frames = false;
  QueueOptions queues;
  datapath::AttachOptions attach;
};

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
  StationRun(const StationRun &) = delete;
  StationRun &operator=(const StationRun &) = delete;
  ~StationRun() override;

  void call(const std::function<void(station::Station &, const EngineCounts &)> &use) override;
  std::vector<std::optional<packet::Mac>>
  resolve(const std::vector<station::NeighbourQuestion> &questions) override;
  const PortFacts &port() const override { return session_.port; }
  uint64_t line_bits() const override { return line_bits_; }
  const std::vector<std::string> &notes() const override { return session_.notes; }
  std::optional<Error> failure() const override;
  Status close() override;

private:
  StationRun() = default;
  bool is_hosts(const packet::Address &address, const packet::Mac &mac) const;

  Session session_;
  uint64_t line_bits_ = 0;
  bool all_frames_ = false;
  station::Station *station_ = nullptr; // of the engine
  std::mutex calling_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
  Status result_; // of the thread; valid if ended_
  std::thread thread_;
};

} // namespace xr::endpoint
