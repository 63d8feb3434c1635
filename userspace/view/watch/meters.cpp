// SPDX-License-Identifier: Apache-2.0
#include "watch/meters.h"

#include <algorithm>
#include <numeric>

#include "roce/opcode.h"

namespace xr::watch {

namespace {

using report::Tally;

// The first row whose properties match gives the meter of an opcode. ATOMIC WRITE is Atomic, so
// that row precedes Data.
constexpr struct {
  uint64_t properties;
  Meter meter;
} kKinds[] = {
    {ROCE_OP_CNP, Meter::Cnp},
    {ROCE_OP_READ_REQUEST, Meter::ReadRequest},
    {ROCE_OP_READ_RESPONSE, Meter::ReadResponse},
    {ROCE_ATOMIC_OPS, Meter::Atomic},
    {ROCE_ACK_OPS, Meter::Ack},
    {ROCE_DATA_OPS, Meter::Data},
};

Meter kind_of(unsigned opcode) {
  for (const auto &kind : kKinds)
    if (roce_opcode_properties[opcode] & kind.properties)
      return kind.meter;
  return Meter::OtherRoce; // FLUSH, RESYNC, reserved, manufacturer
}

Tally to_gsi(const Snapshot &s) {
  Tally sum;
  for (const roce_stream &stream : s.streams)
    if (roce_key_qp(&stream.key) == ROCE_QPN_GSI &&
        roce_key_kind(&stream.key) == ROCE_KIND_DATAGRAM)
      sum += {roce_stream_packets(&stream), roce_stream_bytes(&stream)};
  return sum;
}

// Moves an amount that was counted in one kind to the kind to which it belongs.
void move(Tally &from, Tally &to, Tally what) {
  what = {std::min(what.packets, from.packets), std::min(what.bytes, from.bytes)};
  from = {from.packets - what.packets, from.bytes - what.bytes};
  to += what;
}

} // namespace

const char *meter_name(Meter meter) {
  constexpr std::array<const char *, kMeters> kNames = {
      "SEND, WRITE", "READ request", "READ response", "ACK",           "NAK",         "RNR NAK",
      "atomic",      "CNP",          "CM/GSI",        "other RoCE",    "not ECT",     "ECT(0)",
      "ECT(1)",      "CE",           "CNP after CE",  "CNP after NAK", "CNP neither", "CNP unknown",
      "PFC, PAUSE",  "malformed",    "RoCE",          "all frames"};
  return kNames[static_cast<size_t>(meter)];
}

bool is_alarm(Meter meter) {
  return meter == Meter::Nak || meter == Meter::RnrNak || meter == Meter::Ce ||
         meter == Meter::Cnp || meter == Meter::Malformed;
}

bool has_bytes(Meter meter) {
  return meter >= Meter::Roce ||
         (meter <= Meter::OtherRoce && meter != Meter::Nak && meter != Meter::RnrNak);
}

Meters<Tally> meter_totals(const Snapshot &s) {
  const report::Sums sums(s);
  Meters<Tally> meters{};
  for (unsigned opcode = 0; opcode < sums.opcodes.size(); opcode++)
    meters.of(kind_of(opcode)) += sums.opcodes[opcode];
  const auto &aeth = s.totals.aeth;
  const uint64_t naks = std::accumulate(aeth + ROCE_AETH_NAK_PSN_SEQUENCE_ERROR,
                                        aeth + ROCE_AETH_RESERVED, uint64_t{0});
  move(meters.of(Meter::Ack), meters.of(Meter::Nak), {naks, 0});
  move(meters.of(Meter::Ack), meters.of(Meter::RnrNak), {aeth[ROCE_AETH_RNR_NAK], 0});
  move(meters.of(Meter::Data), meters.of(Meter::Gsi), to_gsi(s));
  const auto packets = [&meters](Meter meter, uint64_t number) {
    meters.of(meter).packets = number;
  };
  packets(Meter::NotEct, sums.ecn[0]);
  packets(Meter::Ect0, sums.ecn[ROCE_ECN_ECT0]);
  packets(Meter::Ect1, sums.ecn[ROCE_ECN_ECT1]);
  packets(Meter::Ce, sums.ecn[ROCE_ECN_CE]);
  packets(Meter::CnpAfterCe, s.totals.cnps_after_ce);
  packets(Meter::CnpAfterNak, s.totals.cnps_after_nak);
  packets(Meter::CnpAfterNeither, s.totals.cnps_after_neither);
  packets(Meter::CnpUnexplained, s.totals.cnps_unexplained);
  packets(Meter::Pfc, s.totals.frames[ROCE_CLASS_PFC]);
  packets(Meter::Malformed, s.totals.frames[ROCE_CLASS_MALFORMED]);
  meters.of(Meter::Roce) = sums.v2;
  meters.of(Meter::Roce) += sums.v1;
  meters.of(Meter::Frames) = {sums.frames, sums.bytes};
  return meters;
}

} // namespace xr::watch
