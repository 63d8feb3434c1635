// SPDX-License-Identifier: Apache-2.0
// Runs an experiment on ports that are there: in line between other hosts, or with senders and
// receivers of this tool; in one process, or in one for each role, which agree on a start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "packet/frame.h"
#include "places/run.h"
#include "places/run_ports.h"

namespace xr::places {

// Words of `--on ports`: left=IF,right=IF and send=IF, respond=IF; src=IP, dst=IP, dst-mac=MAC;
// speed=RATE.
struct PortNames {
  std::string left, right, send, respond;
  std::optional<Address> src, dst;        // of all flows, instead of those of the plan
  std::optional<packet::Mac> dst_mac;     // instead of ARP
  uint64_t speed = 0;                     // bit/s, of ports that do not report theirs; 0: not given
  std::vector<std::string> roles() const; // "wire", "send", "respond": those that are named
};
Result<PortNames> parse_ports(const std::vector<std::string> &words);

struct PortsOptions {
  PortNames names;
  std::string role;                                   // of this process; "": all that are named
  std::string netns;                                  // of all ports
  uint64_t at_ns = 0;                                 // CLOCK_REALTIME of the start; 0: when ready
  double scale = 1;                                   // see scale.h
  std::string out = {};                               // a directory for captures; "": none
  std::vector<std::string> commands = {};             // of the roles: notes of each run
  std::function<void(const std::string &)> note = {}; // sentences for the user
};

// Errors come before anything is attached. When it returns, all that it attached is detached; after
// a kill -9 the next run does that. A run that could not measure is void.
Result<ExperimentResult> run_on_ports(const experiment::Experiment &experiment,
                                      const PortsOptions &options, const RunHooks &hooks);

} // namespace xr::places
