// SPDX-License-Identifier: Apache-2.0
// A source that answers on a port, and sends: a thread with a clock and an AF_XDP socket, until it
// is closed. What others want of it they do between two rounds of its loop.
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
#include "responder/responder.h"

namespace xr::endpoint {

struct AnsweringPort {
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
  // All frames that come to the port, whatever their MAC, are the source's; the host gets none.
  bool all_frames = false;
  QueueOptions queues;
  datapath::AttachOptions attach;
};

class PortThread {
public:
  // Makes the source, of options with addresses, MACs, line rate and seed. The pauses are its
  // ones to obey; nullptr: none.
  using Make = std::function<std::unique_ptr<packet::Source>(
      const responder::ResponderOptions &, double line_bits, const packet::Pauses *)>;

  // Attaches the port, opens the socket and begins to answer.
  Status open(AnsweringPort request, const Make &make);
  PortThread() = default;
  PortThread(const PortThread &) = delete;
  PortThread &operator=(const PortThread &) = delete;
  ~PortThread() { (void)close(); }

  // Calls `use` between two rounds of the source: within some 20 ms. For any thread.
  void call(const std::function<void(const EngineCounts &)> &use);
  // The host answers ARP and ND for this address and MAC.
  bool is_hosts(const packet::Address &address, const packet::Mac &mac) const;
  // Why it ended by itself: the port is gone. nullopt: it has not.
  std::optional<Error> failure() const;
  bool ended() const { return ended_; }
  uint64_t line_bits() const { return line_bits_; }
  // Ends the source and restores the port; returns the first failure.
  Status close();

  Session session;

private:
  uint64_t line_bits_ = 0;
  bool all_frames_ = false;
  std::mutex calling_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
  Status result_; // of the thread; valid if ended_
  std::thread thread_;
};

} // namespace xr::endpoint
