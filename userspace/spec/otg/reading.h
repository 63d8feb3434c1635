// SPDX-License-Identifier: Apache-2.0
// For this folder only: the readers of the sections of a configuration, and what they share. Each
// takes the object that has the section.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "otg/config.h"

namespace xr::otg {

// The names of one kind of object, and their indexes.
class Names {
public:
  // The index of an object that has errors: what refers to it is not kept, without a further error.
  static constexpr size_t kBroken = SIZE_MAX;

  explicit Names(const char *what) : what_(what) {}
  // An error at `key` if there is one of that name. The empty name is none.
  void add(const Object &object, const char *key, const std::string &name, size_t index);
  bool knows(const std::string &name) const { return indexes_.contains(name); }
  // The index; nothing where there is none, which is an error, or where it is broken.
  std::optional<size_t> find(const Object &object, const char *key, const std::string &name) const;
  // The index that the text at `key` names; the text must be there.
  std::optional<size_t> refer(Object &object, const char *key) const;
  // The indices that the list of texts at `key` names, which must have one.
  std::vector<size_t> refer_all(Object &object, const char *key) const;

private:
  const char *what_;
  std::unordered_map<std::string, size_t> indexes_;
};

struct Reading {
  Config config;
  Names ports{"port"}, layers{"layer1"}, devices{"device"}, ethernets{"ethernet"},
      addresses{"address"}, lags{"LAG"}, lldp{"LLDP"}, peers{"peer"}, qps{"QP"}, flows{"flow"},
      captures{"capture"};
  std::vector<std::string> qpn_paths; // of source_qp_number, by QP

  size_t port_of_interface(size_t interface) const {
    return config.ethernets[config.interfaces[interface].ethernet].port;
  }
  size_t port_of_qp(size_t qp) const {
    return port_of_interface(config.peers[config.qps[qp].peer].interface);
  }
};

void read_ports(Object &root, Reading &reading);
void read_layer1(Object &root, Reading &reading);
void read_lags(Object &root, Reading &reading);
void read_lldp(Object &root, Reading &reading);
void read_devices(Object &root, Reading &reading);
// After all devices.
void check_lag_peers(const Reading &reading, Findings &findings);
// rocev2 of a device.
void read_rocev2(Object &device, const std::string &name, Reading &reading);
// After all devices: which QPNs are not set, and which are there twice.
void check_qp_numbers(Reading &reading, Findings &findings);
void read_stateful_flows(Object &root, Reading &reading);
void read_options(Object &root, Reading &reading);
void read_captures(Object &root, Reading &reading);

// `ecn` and `ecn_value`: the two bits, ECT(1) where it is absent.
uint8_t read_ecn(Object &object, const char *key);

} // namespace xr::otg
