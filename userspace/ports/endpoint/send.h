// SPDX-License-Identifier: Apache-2.0
// Runs requesters on the queues of a port: completes the flows, opens the sockets, sends, reports.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/attach.h"
#include "endpoint/session.h"
#include "flow/flow.h"
#include "requester/cm_connector.h"
#include "requester/pfc.h"
#include "requester/reliable.h"
#include "requester/replay.h"
#include "requester/send_counts.h"

namespace xr::endpoint {

// What gives the frames to the port. Live: BPF_PROG_TEST_RUN with live frames; Auto: these, where
// they can do what is asked and AF_XDP would be slower.
enum class SendEngine : uint8_t { AfXdp, Live, Auto };

struct SendRequest {
  std::string ifname, netns;
  std::vector<flow::Flow> flows;
  congestion::Rate rate;      // of all flows together
  uint64_t seed = 0;          // for flows without a seed; 0: random
  bool reliable = false;      // RC with acknowledgement; else open-loop
  bool verify = false;        // WRITEs are read back and compared; reliable
  uint64_t verify_memory = 0; // of the peer, for each flow; 0: as much as it needs at least
  std::optional<requester::CmOptions> cm; // connects the QPs by RDMA CM
  bool listen = false; // open-loop: receive and count answers; reliable always does
  requester::Reliability reliability;
  std::string series;                      // a CSV file for samples of the QPs' rates; "": none
  uint64_t sample_ns = 1'000'000;          // their distance
  size_t top = 16;                         // QPs with rows of their own in reports and in `series`
  bool interim_rates = false;              // QPs' rates in all reports, not only in the last one
  std::optional<requester::Replay> replay; // instead of flows
  std::optional<requester::Pfc> pfc;       // instead of flows
  bool obey_pfc = true;                    // where it receives
  uint64_t pfc_line_bits = 0;              // bit/s, of quanta; 0: the port's speed
  SendEngine engine = SendEngine::AfXdp;
  QueueOptions queues;            // live frames: of these only `cpus`
  uint32_t threads = 0;           // of live frames; 0: as many as the rates need
  datapath::AttachOptions attach; // if the port is not attached
};

// Error if the flows and options are wrong on every port.
Status check_options(SendRequest request);

class SendRun {
public:
  // Checks the whole request, attaches the port and opens the sockets. Resolves MACs that are not
  // given (ARP, ND).
  static Result<SendRun> prepare(SendRequest request);
  SendRun(SendRun &&) noexcept;
  SendRun &operator=(SendRun &&) = delete;
  ~SendRun();

  // Sentences for the user; close() may add some.
  const std::vector<std::string> &notes() const;
  // Sends until the flows end or `stop` is set. Calls `on_report` every `interval` (0: never); it
  // returns false to stop.
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const SendReport &)> &on_report);
  // `rates`: with the QPs' rates, where they are controlled.
  SendReport report(bool rates = true);
  // Writes the series and restores the port; returns the first failure.
  Status close();

private:
  struct State;
  explicit SendRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
