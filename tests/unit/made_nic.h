// SPDX-License-Identifier: Apache-2.0
// A simulated wire and a simulated NIC.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "doctor/nic.h"
#include "roce/opcode.h"

namespace made_nic {

using namespace xr;
using namespace xr::doctor;
using namespace xr::host;

constexpr const char *kNic = "10.77.0.1", *kPeer = "10.77.0.2";

inline Address address_of(const std::string &text) {
  Address address{};
  inet_pton(AF_INET6, ("::ffff:" + text).c_str(), address.data());
  return address;
}

inline roce_stream stream(const std::string &src, const std::string &dst, roce_kind kind,
                          uint64_t packets, const std::map<int, uint32_t> &counters = {}) {
  roce_stream s{};
  memcpy(s.key.src, address_of(src).data(), sizeof(s.key.src));
  memcpy(s.key.dst, address_of(dst).data(), sizeof(s.key.dst));
  s.key.qp_kind = 17 | static_cast<uint32_t>(kind) << ROCE_KIND_SHIFT;
  s.packets = packets;
  for (const auto &[counter, value] : counters)
    s.counter_low[counter] = value;
  return s;
}

inline RdmaPort nic(const std::string &driver) {
  RdmaPort port;
  port.device = "dev0";
  port.number = "1";
  port.driver = driver;
  port.addresses = {address_of(kNic)};
  return port;
}

inline NicEquation row(const NicReport &report, const std::string &words) {
  for (const NicEquation &e : report.equations)
    if (e.equation.starts_with(words))
      return e;
  return {"none", {}, 0, "none", "none"};
}

inline NicReport since_ever(const Snapshot &wire, const HwCounters &counters,
                            const std::string &driver = "mlx5") {
  const NicReading now{counters, wire.time_ns}, none;
  return compare(nic(driver), {wire, nullptr, now, none});
}

} // namespace made_nic
