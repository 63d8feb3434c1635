// SPDX-License-Identifier: Apache-2.0
// For this folder only: the RoCEv2 part of an Open Traffic Generator configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/yaml_map.h"

namespace xr::importers {

struct OtgQp {
  std::string port, source, destination; // port: name; the others are addresses
  uint64_t number = 2, dscp = 24, udp_port = 49152, psn = 0, mtu = 1024;
  std::string ecn = "ect1";
  std::string va = {}, rkey = {}; // hexadecimal; "": 0
};

struct OtgFlow {
  std::string name, tx, rx; // tx: name of a QP; rx: of a QP or a port, or ""
  std::string port;         // of its target_line_rate
  std::string verb = "write", immediate;
  uint64_t size = 1;
  uint64_t unit = 1'000'000;
  uint64_t percent = 98; // of the line, of all flows of the port; 0: it sends nothing
};

// A parameter of DCQCN, by our name. of_line: a percentage of the port's speed.
struct OtgDcqcn {
  std::string name, value;
  double of_line = 0;
};

struct OtgPort {
  bool given = false; // it has options of RoCEv2
  bool dcqcn = false;
  std::vector<OtgDcqcn> parameters;
  std::optional<uint64_t> cnp_interval_us, timeout_ms, retries;
  bool timer = true;
};

// Flow control in layer1. whole_port: PAUSE of IEEE 802.3x, which stops all priorities.
struct OtgFlowControl {
  bool whole_port = false;
  unsigned priorities = 0xff;
  bool operator==(const OtgFlowControl &) const = default;
};

struct OtgFile {
  std::vector<std::string> port_names;
  std::map<std::string, OtgQp> qps;
  std::vector<OtgFlow> flows;
  std::map<std::string, OtgPort> ports; // with options
  std::map<std::string, uint64_t> mbit; // of ports with a speed in layer1
  std::map<std::string, OtgFlowControl> flow_control;
  std::map<std::string, std::string> port_of_address;
  std::vector<std::string> unused; // keys without an effect here
  std::vector<std::string> notes;
};

Result<OtgFile> read_otg(const std::string &text, const std::string &name);

// The keys of options.per_port_options[].protocols[].rocev2. They refer to `reader`, `port` and
// `unused`.
std::vector<experiment::YamlReader::Key> otg_port_keys(const experiment::YamlReader &reader,
                                                       OtgPort &port,
                                                       std::vector<std::string> &unused);

} // namespace xr::importers
