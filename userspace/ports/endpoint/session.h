// SPDX-License-Identifier: Apache-2.0
// The common parts of SendRun and RespondRun: port, steering, sockets, worker threads, report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/socket.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/steering.h"
#include "endpoint/port_facts.h"
#include "endpoint/worker_threads.h"
#include "host/flow_rules.h"
#include "host/placement.h"
#include "packet/pauses.h"

namespace xr::endpoint {

// The queues that a run uses, and the mode of their sockets.
struct QueueOptions {
  uint32_t first = 0, count = 1;   // queues first ... first + count - 1
  bool copy = false;               // copy mode, even if the driver has zero-copy
  bool zero_copy = false;          // error if a socket is not in zero-copy mode
  uint32_t receive = 4096;         // frames of each RX ring
  std::vector<uint32_t> cpus = {}; // processors of the threads, in turn; none: they are chosen
  bool steer = false;              // rules of the NIC bring RoCE to `first`, the only queue
};

struct Session {
  PortFacts port;
  std::optional<datapath::Steering> steering;    // none: the run only sends
  std::optional<datapath::RatesFile> rates_file; // with steering
  std::optional<host::FlowRules> flow_rules;     // QueueOptions::steer
  uint16_t udp_port = 0;                         // with steering
  bool rates_noted = false;                      // that it cannot be written
  host::Placement placement;
  host::Topology topology;
  WorkerThreads workers;
  std::vector<std::string> notes;
  PortDrops drops_before;
  std::unique_ptr<packet::Pauses> pauses; // nullptr: PFC frames are not obeyed

  // `cpus`: QueueOptions.
  Status open(const PortName &port, const std::vector<uint32_t> &cpus);
  // Steers frames for these addresses and `mac` to the sockets that are opened later.
  Status listen(const datapath::AttachOptions &attach,
                const std::vector<packet::Address> &addresses, const packet::Mac &mac,
                bool promiscuous);
  Status listen(const datapath::AttachOptions &attach,
                const std::vector<datapath::Endpoint> &endpoints, bool promiscuous);
  // Opens a socket on each of these queues; it also receives after listen().
  Result<std::vector<std::unique_ptr<afxdp::Socket>>> sockets(const QueueOptions &queues);

  // A worker whose thread stays on a processor, if it `stays` or one was asked for.
  void add(std::unique_ptr<Worker> worker, bool stays, const host::ThreadNeeds &needs);
  // The worker of queue number `i` of `queues`. The only one goes where the kernel puts it.
  void add_queue(std::unique_ptr<Worker> worker, const QueueOptions &queues, size_t i);

  // The engines' sources obey PFC frames, whose quanta last at `line_bits` a second (0: the port's
  // speed). Before the engines are made.
  void obey_pfc(uint64_t line_bits, const packet::ObeyedPauses &obeyed = {});

  // Shows the rates to other commands twice a second, if they are `dynamic`. `collect` appends the
  // rates of engine i's QPs; `top` as in fill_rates().
  using CollectRates = std::function<void(size_t, const EngineCounts &, std::vector<QpRate> &)>;
  WorkerThreads::Periodic publish_rates(bool dynamic, bool responder, size_t top,
                                        CollectRates collect);

  // Fills in the common fields; `use` as in WorkerThreads::read_counts().
  void fill_report(RunReport &report, const std::function<void(size_t, const EngineCounts &)> &use);
  // Waits a moment until the port has counted all frames that were sent.
  void settle();
  // Restores the port; returns the first failure.
  Status close();
};

} // namespace xr::endpoint
