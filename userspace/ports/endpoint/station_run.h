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

class StationRun {
public:
  // Attaches the port, opens the socket and begins to answer.
  static Result<std::unique_ptr<StationRun>> open(StationRequest request);
  StationRun(const StationRun &) = delete;
  StationRun &operator=(const StationRun &) = delete;
  ~StationRun();

  // Calls `use` in the station's thread, between two rounds: within some 20 ms. For any thread.
  void call(const std::function<void(station::Station &, const EngineCounts &)> &use);
  // Until the questions of neighbours are answered, or were asked often enough. The MACs, in their
  // order. The kernel is asked for what its own addresses ask.
  std::vector<std::optional<packet::Mac>>
  resolve(const std::vector<station::NeighbourQuestion> &questions);

  const PortFacts &port() const { return session_.port; }
  uint64_t line_bits() const { return line_bits_; }
  // What the kernel counted of the port since the start.
  PortDrops drops() const;
  packet::PauseCounts pauses() const;
  const std::vector<std::string> &notes() const { return session_.notes; }
  // Why the thread ended by itself: the port is gone. Empty: it has not.
  std::optional<Error> failure() const;

  // Ends the thread and restores the port; returns the first failure.
  Status close();

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
