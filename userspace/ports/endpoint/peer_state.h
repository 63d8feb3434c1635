// SPDX-License-Identifier: Apache-2.0
// The implementation of PeerRun: peer.cpp has the port and the tests' order, peer_perftest.cpp
// perftest, peer_tools.cpp the other tools.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "endpoint/peer.h"
#include "endpoint/peer_channel.h"
#include "peer/hub.h"
#include "peer/small_tools.h"

namespace xr::endpoint {

inline constexpr auto kPeerWait = std::chrono::milliseconds(20); // between two looks at the traffic
inline constexpr auto kPeerSilence = std::chrono::seconds(30);   // before its traffic

std::optional<PeerLatency> latency_of(const std::vector<double> &ascending_us);
std::string nak_text(uint8_t syndrome);

struct PeerRun::State {
  PeerRequest request;
  std::unique_ptr<responder::Memory> memory;
  station::QueuePairs *qps = nullptr; // of the thread's engine
  std::unique_ptr<peer::Hub> hub;
  PortThread thread; // after what its source uses
  Fd listening;
  const std::atomic<bool> *stop = nullptr;
  RespondCounts before;       // until the last test ended
  std::string gid;            // of the test
  std::vector<uint32_t> used; // QPs of the test

  // `use` gets the time.
  void call(const std::function<void(uint64_t)> &use) {
    thread.call([&](const EngineCounts &counts) { use(counts.now_ns); });
  }

  Result<packet::Address> own_address(const packet::Address &theirs) const;
  Result<packet::Path> path_to(const packet::Address &theirs) const;
  peer::PerftestKey own_key(const packet::Path &path, uint32_t qp);
  void open(const peer::PerftestFacts &facts, const packet::Path &path,
            std::optional<uint8_t> transport);

  void begin_test();
  PeerReport report(PeerTest test);
  void describe(PeerTest &test, const peer::PerftestFacts &facts,
                const peer::PerftestResult &result, bool server);

  // A test of perftest as a server (`cm`: the exchange is over a QP); ask(): as a client.
  Result<PeerReport> serve(Channel &channel, const packet::Address &from, bool cm);
  Result<peer::Bytes> answer(peer::PerftestServer &server, std::span<const uint8_t> record,
                             std::optional<packet::Path> &path);
  Result<PeerReport> ask();
  Result<std::optional<PeerReport>> next_test();
  // The other tools.
  Result<PeerReport> serve_pingpong(Channel &channel, const packet::Address &from);
  // nullopt: interrupted before one came.
  Result<std::optional<PeerReport>> serve_cm(peer::ToolTraffic &traffic);
  Result<PeerReport> ask_tool();
  std::unique_ptr<peer::ToolTraffic> tool_traffic();
  PeerReport tool_report(const peer::ToolTraffic &traffic, const std::string &from, uint32_t qps,
                         std::string failure);
  Status await(const peer::ToolTraffic &traffic);
  Status read_lines(Channel &channel, peer::Bytes &have, size_t bytes);

  // Connect to the host: by TCP, or `count` QPs by RDMA CM, which leave() disconnects.
  Result<std::unique_ptr<Channel>> connect_host() const;
  Result<std::vector<uint32_t>> connect_cm(const packet::Path &path, uint32_t count,
                                           uint8_t transport);
  void leave();
  Status converse(peer::PerftestClient &client, Channel &channel);
  std::unique_ptr<Channel> qp_channel(uint32_t qp);
};

} // namespace xr::endpoint
