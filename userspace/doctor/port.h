// SPDX-License-Identifier: Apache-2.0
// One interface, as far as it matters to XDP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/zero_copy.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/hook.h"
#include "datapath/preflight.h"
#include "host/command.h"
#include "host/dcb.h"
#include "host/files.h"
#include "host/flow_rules.h"
#include "host/link.h"
#include "host/netdev_family.h"
#include "host/nic_clock.h"
#include "host/placement.h"
#include "host/receive.h"
#include "model/check.h"

namespace xr::doctor {

// The device of a port, as /sys and /proc have it.
struct DeviceFacts {
  host::Topology topology;
  std::vector<host::QueueInterrupt> interrupts;
  std::vector<std::string> packet_steering; // the files of RPS and XPS that are set
};

struct PortFacts {
  host::LinkFacts link;
  std::string netns;                // name; "": the caller's
  std::string program = "xdp-roce"; // as the user calls it
  std::string asked;                // the command that asks, as typed; "": that of its name
  host::Queues queues;
  uint32_t cpus = 1;
  std::vector<std::string> addresses; // "192.0.2.2/24"
  Result<host::XdpFeatures> xdp = Error{};
  std::optional<Result<afxdp::ZeroCopyTrial>> zero_copy; // unset: not tried
  Result<host::Features> features = Error{};
  host::ReceiveSettings receive;
  Result<host::NicClock> clock = Error{};
  Result<host::ClockOffset> clock_offset = Error{};
  std::optional<Status> flow_rule; // of a trial; unset: not tried
  DeviceFacts device;
  Result<datapath::Hook> hook = Error{};
  Result<host::Pfc> pfc = Error{};
  Result<std::vector<datapath::Trouble>> troubles = Error{};

  afxdp::ZeroCopyPort zero_copy_port() const;

  // `words` of xdp-roce, as a shell command.
  std::string our(const std::string &words) const;
  std::string this_command() const { return asked.empty() ? our("doctor " + link.ifname) : asked; }
  // `line` as a shell command that runs in the namespace of the port.
  std::string command(const std::string &line) const { return host::command_in(netns, line); }
};

// `try_port`: tries zero-copy, which may lose frames of the port, and a flow rule. `fix`: repairs
// what hides frames. Error: no such interface or namespace.
Result<PortFacts> read_port(const PortName &port, bool try_port = false, bool fix = false);
// Reads `device`; `own_sys`: /sys has the port, which is not in another namespace.
void read_device(const host::Files &files, bool own_sys, PortFacts &port);
void check_port(const PortFacts &port, Checks &checks);
// Queues, interrupts, RSS and flow rules: the part of check_port() about how frames come in.
void check_receive(const PortFacts &port, Checks &checks);

} // namespace xr::doctor
