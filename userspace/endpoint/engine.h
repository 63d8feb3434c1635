// SPDX-License-Identifier: Apache-2.0
// A source's packets onto a port and what comes in to the source: one thread, one queue.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/socket.h"
#include "base/result.h"
#include "model/run_reports.h"
#include "packet/source.h"

namespace xr::endpoint {

class Engine {
public:
  // `udp_port` is RoCEv2's.
  Engine(std::unique_ptr<afxdp::Socket> socket, std::unique_ptr<packet::Source> source,
         uint16_t udp_port);

  // Answers ARP and neighbour discovery for these addresses: for sources that do not by themselves.
  void answer_for(std::vector<packet::Address> addresses, const packet::Mac &mac);

  // When the source is done, takes in what still comes until nothing has come for so long.
  void linger(uint64_t ns) { linger_ns_ = ns; }

  // Until the source is done or *stop. An error: the port is gone.
  Status run(const std::atomic<bool> &stop);

  packet::Source &source() { return *source_; }
  const afxdp::Socket &socket() const { return *socket_; }

  // Has `use` called between two rounds of the loop, or here and now when it does not run: what the
  // source has counted may be read in it.
  void look(const std::function<void(const EngineCounts &)> &use);

private:
  void receive(uint64_t now);
  void neighbour(std::span<const uint8_t> frame);
  size_t send(uint64_t now);
  void write(const packet::Outgoing &packet);
  void note_time(const packet::Outgoing &packet, uint64_t now);
  Status idle(uint64_t now);
  void answer_look();
  void finish(const std::atomic<bool> &stop);
  void drain();
  void await_answers(const std::atomic<bool> &stop);
  void glance();

  std::unique_ptr<afxdp::Socket> socket_;
  std::unique_ptr<packet::Source> source_;
  uint16_t udp_port_be_;
  std::vector<const packet::Template *> holds_; // by slot: whose bytes are in it
  std::vector<packet::Outgoing> batch_;
  std::vector<afxdp::Received> frames_;
  std::vector<packet::Address> addresses_; // ascending
  packet::Mac mac_{};
  EngineCounts counts_;
  uint64_t last_sent_ = 0, last_due_ = 0;
  uint64_t quiet_since_ = 0;
  uint64_t linger_ns_ = 0;
  uint64_t checked_ = 0; // when the port was last seen to be there
  bool ended_ = false;   // its time does not go on
  std::atomic<bool> running_{false};
  std::atomic<bool> wanted_{false};
  std::mutex looking_;
  const std::function<void(const EngineCounts &)> *use_ = nullptr;
};

} // namespace xr::endpoint
