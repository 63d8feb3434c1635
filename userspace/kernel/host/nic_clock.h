// SPDX-License-Identifier: Apache-2.0
// The clock of a NIC (PTP hardware clock), in the network namespace of the thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace xr::host {

struct NicClock {
  int index = -1;               // of /dev/ptpN; -1: none
  bool stamps_received = false; // the NIC can stamp received frames, whatever they are
  std::string name() const { return index < 0 ? "" : "ptp" + std::to_string(index); }
};
// Error: the driver does not say.
Result<NicClock> read_nic_clock(const std::string &ifname);

// The NIC stamps all received frames while this object lives (SIOCSHWTSTAMP); then what was set
// before is set again.
class ReceiveStamps {
public:
  static Result<ReceiveStamps> begin(const std::string &ifname);
  ReceiveStamps(ReceiveStamps &&other) noexcept;
  ReceiveStamps &operator=(ReceiveStamps &&) = delete;
  ~ReceiveStamps();

private:
  ReceiveStamps(int socket, std::string ifname, int tx_type, int rx_filter)
      : socket_(socket), ifname_(std::move(ifname)), tx_type_(tx_type), rx_filter_(rx_filter) {}
  int socket_; // of the port's namespace; -1: moved
  std::string ifname_;
  int tx_type_, rx_filter_;
};

// How far a clock is ahead of CLOCK_REALTIME and CLOCK_TAI, ns, and how well that is known.
struct ClockOffset {
  int64_t realtime_ns = 0, tai_ns = 0;
  uint64_t within_ns = 0;
};
// Reads /dev/ptpN some times and takes the best. Error: it cannot be read.
Result<ClockOffset> read_clock_offset(int index);

} // namespace xr::host
