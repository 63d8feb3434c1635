// SPDX-License-Identifier: Apache-2.0
// What a port's frames are, in the few kinds whose rates people watch.
#pragma once

#include <array>
#include <cstddef>

#include "model/snapshot.h"
#include "report/sums.h"

namespace xr::watch {

enum class Meter {
  // each RoCE packet is in exactly one of these
  Data, // SEND and WRITE, datagrams too
  ReadRequest,
  ReadResponse,
  Ack, // with the bytes of NAKs and RNR NAKs
  Nak,
  RnrNak,
  Atomic, // ATOMIC WRITE too, and their acknowledgement
  Cnp,
  Gsi, // to QP 1: RDMA CM. Known from the streams only; without them it is Data.
  OtherRoce,
  // RoCEv2 packets by ECN codepoint
  NotEct,
  Ect0,
  Ect1,
  Ce,
  // CNPs by what came before them
  CnpAfterCe,
  CnpAfterNak,
  CnpAfterNeither,
  CnpUnexplained,
  // frames of other kinds
  Pfc,
  Malformed,
  // sums
  Roce,
  Frames,
  End,
};
inline constexpr size_t kMeters = static_cast<size_t>(Meter::End);

const char *meter_name(Meter meter);
// Not what one wants to see.
bool is_trouble(Meter meter);
// Of ECN codepoints and causes only packets are counted, and of NAKs.
bool has_bytes(Meter meter);

template <typename T> struct Meters : std::array<T, kMeters> {
  T &of(Meter meter) { return (*this)[static_cast<size_t>(meter)]; }
  const T &of(Meter meter) const { return (*this)[static_cast<size_t>(meter)]; }
};

// All that the snapshot counted.
Meters<report::Tally> meter_totals(const Snapshot &snapshot);

} // namespace xr::watch
