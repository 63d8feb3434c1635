// SPDX-License-Identifier: Apache-2.0
// Frames of a port by kind, in the few kinds whose rates `watch` shows.
#pragma once

#include <array>
#include <cstddef>

#include "model/snapshot.h"
#include "report/sums.h"

namespace xr::watch {

enum class Meter {
  // each RoCE packet counts in exactly one of these
  Data, // SEND, WRITE and datagrams
  ReadRequest,
  ReadResponse,
  Ack, // includes the bytes of NAKs and RNR NAKs
  Nak,
  RnrNak,
  Atomic, // includes ATOMIC WRITE and atomic acknowledgements
  Cnp,
  Gsi, // to QP 1 (RDMA CM); known only if streams are tracked, otherwise counted as Data
  OtherRoce,
  // RoCEv2 packets by ECN codepoint
  NotEct,
  Ect0,
  Ect1,
  Ce,
  // CNPs by the event that preceded them
  CnpAfterCe,
  CnpAfterNak,
  CnpAfterNeither,
  CnpUnexplained,
  // other frames
  Pfc,
  Malformed,
  // sums of several counters
  Roce,
  Frames,
  End,
};
inline constexpr size_t kMeters = static_cast<size_t>(Meter::End);

const char *meter_name(Meter meter);
// A sign of congestion, loss or errors: highlighted.
bool is_alarm(Meter meter);
// False for ECN codepoints, CNP causes and NAKs: only their packets are counted.
bool has_bytes(Meter meter);

template <typename T> struct Meters : std::array<T, kMeters> {
  T &of(Meter meter) { return (*this)[static_cast<size_t>(meter)]; }
  const T &of(Meter meter) const { return (*this)[static_cast<size_t>(meter)]; }
};

// The totals of a snapshot.
Meters<report::Tally> meter_totals(const Snapshot &snapshot);

} // namespace xr::watch
