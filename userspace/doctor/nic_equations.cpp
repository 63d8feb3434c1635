// SPDX-License-Identifier: Apache-2.0
// To add a NIC or a counter: an equation here; nic_equations_test, nic_test, streams_nic.sh.
#include "doctor/nic_equations.h"

#include <algorithm>
#include <cstring>

#include "roce/opcode.h"

namespace xr::doctor {

namespace {

using Equations = std::vector<Equation>;

constexpr auto kTo = Side::ToNic, kFrom = Side::FromNic;

// Sources, in the kernel's drivers/infiniband: hw/mlx5/counters.c (queue counters have 32 bits,
// congestion counters 64), hw/irdma/verbs.c, hw/bnxt_re/hw_counters.c, sw/rxe/rxe_hw_counters.c.
const Equations &mlx5() {
  static const Equations kAll = {
      {kTo, Wire::PsnNaks, "PSN NAKs to it", {"packet_seq_err"}, 32},
      {kTo, Wire::RnrNaks, "RNR NAKs to it", {"rnr_nak_retry_err"}, 32},
      {kTo, Wire::AccessNaks, "access NAKs to it", {"req_remote_access_errors"}, 32},
      {kTo, Wire::InvalidNaks, "invalid-request NAKs to it", {"req_remote_invalid_request"}, 32},
      {kTo, Wire::RequestGaps, "gaps of requests to it", {"out_of_sequence"}, 32},
      {kTo, Wire::ResponseGaps, "gaps of responses to it", {"implied_nak_seq_err"}, 32},
      {kTo, Wire::Duplicates, "duplicate requests to it", {"duplicate_request"}, 32},
      {kTo, Wire::Ce, "CE marks to it", {"np_ecn_marked_roce_packets"}, 64},
      {kTo, Wire::Cnps, "CNPs to it", {"rp_cnp_handled", "rp_cnp_ignored"}, 64},
      {kTo, Wire::BadIcrcs, "bad iCRCs to it", {"rx_icrc_encapsulated"}, 64},
      {kFrom, Wire::PsnNaks, "PSN NAKs from it", {"out_of_sequence"}, 32},
      {kFrom, Wire::RnrNaks, "RNR NAKs from it", {"out_of_buffer"}, 32},
      {kFrom, Wire::AccessNaks, "access NAKs from it", {"resp_remote_access_errors"}, 32},
      {kFrom, Wire::Cnps, "CNPs from it", {"np_cnp_sent"}, 64},
      {kFrom,
       Wire::Rewinds,
       "rewinds of its requests",
       {"packet_seq_err", "local_ack_timeout_err"},
       32},
  };
  return kAll;
}

const Equations &irdma() {
  static const Equations kAll = {
      {kTo, Wire::PsnNaks, "PSN NAKs to it", {"Nak Sequence Error"}, 64},
      {kTo, Wire::RnrNaks, "RNR NAKs to it", {"RNR received"}, 64},
      {kTo, Wire::RequestGaps, "gaps of requests to it", {"Rcvd Out of order packets"}, 64},
      {kTo, Wire::Ce, "CE marks to it", {"RxECNMrkd"}, 64},
      {kTo, Wire::Cnps, "CNPs to it", {"cnpHandled", "cnpIgnored"}, 64},
      {kTo, Wire::BadIcrcs, "bad iCRCs to it", {"CRC errors"}, 64},
      {kFrom, Wire::RnrNaks, "RNR NAKs from it", {"RNR sent"}, 64},
      {kFrom, Wire::Cnps, "CNPs from it", {"cnpSent"}, 64},
  };
  return kAll;
}

const Equations &bnxt_re() {
  static const Equations kAll = {
      {kTo, Wire::PsnNaks, "PSN NAKs to it", {"seq_err_naks_rcvd"}, 64},
      {kTo, Wire::RnrNaks, "RNR NAKs to it", {"rnr_naks_rcvd"}, 64},
      {kTo, Wire::RequestGaps, "gaps of requests to it", {"oos_drop_count"}, 64},
      {kTo, Wire::Duplicates, "duplicate requests to it", {"dup_req"}, 64},
      {kTo, Wire::Ce, "CE marks to it", {"rx_ecn_marked_pkts"}, 64},
      {kTo, Wire::Cnps, "CNPs to it", {"rx_cnp_pkts"}, 64},
      {kFrom, Wire::Cnps, "CNPs from it", {"tx_cnp_pkts"}, 64},
      {kFrom,
       Wire::Rewinds,
       "rewinds of its requests",
       {"seq_err_naks_rcvd", "to_retransmits"},
       64},
  };
  return kAll;
}

const Equations &rxe() {
  static const Equations kAll = {
      {kTo, Wire::Packets, "packets to it", {"rcvd_pkts"}, 64},
      {kTo, Wire::PsnNaks, "PSN NAKs to it", {"rcvd_seq_err"}, 64},
      {kTo, Wire::RnrNaks, "RNR NAKs to it", {"rcvd_rnr_err"}, 64},
      {kTo, Wire::RequestGaps, "gaps of requests to it", {"out_of_seq_request"}, 64},
      {kTo, Wire::Duplicates, "duplicate requests to it", {"duplicate_request"}, 64},
      {kFrom, Wire::Packets, "packets from it", {"sent_pkts"}, 64},
      {kFrom, Wire::PsnNaks, "PSN NAKs from it", {"out_of_seq_request"}, 64},
      {kFrom, Wire::RnrNaks, "RNR NAKs from it", {"send_rnr_err"}, 64},
      {kFrom, Wire::Rewinds, "rewinds of its requests", {"completer_retry_err"}, 64},
  };
  return kAll;
}

bool is_one_of(const __u32 address[4], const std::vector<Address> &nic) {
  return std::any_of(nic.begin(), nic.end(), [&](const Address &item) {
    return memcmp(item.data(), address, sizeof(Address)) == 0;
  });
}

void count_stream(const roce_stream &s, WireCounts &counts) {
  const auto add = [&](Wire wire, int counter) {
    counts[wire] = counts[wire].value_or(0) + roce_stream_counter(&s, counter);
  };
  counts.packets += roce_stream_packets(&s);
  add(Wire::Ce, ROCE_STREAM_CE);
  add(Wire::Cnps, ROCE_STREAM_CNPS);
  switch (roce_key_kind(&s.key)) {
  case ROCE_KIND_REQUEST:
    add(Wire::RequestGaps, ROCE_GAPS);
    add(Wire::RequestJumps, ROCE_JUMPS);
    add(Wire::Duplicates, ROCE_DUPLICATES);
    add(Wire::Rewinds, ROCE_REWINDS);
    break;
  case ROCE_KIND_RESPONSE:
    counts.responses += roce_stream_packets(&s);
    add(Wire::ResponseGaps, ROCE_GAPS);
    add(Wire::ResponseJumps, ROCE_JUMPS);
    break;
  default:
    break;
  }
}

} // namespace

std::span<const Equation> equations_of(std::string_view driver) {
  if (driver == "mlx5")
    return mlx5();
  if (driver == "irdma")
    return irdma();
  if (driver == "bnxt_re")
    return bnxt_re();
  if (driver == "rxe")
    return rxe();
  return {};
}

WireCounts count_wire(const Snapshot &snapshot, Side side, const std::vector<Address> &nic) {
  WireCounts counts;
  const auto &aeth = snapshot.totals.aeth;
  counts[Wire::PsnNaks] = aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR];
  counts[Wire::RnrNaks] = aeth[ROCE_AETH_RNR_NAK];
  counts[Wire::AccessNaks] = aeth[ROCE_AETH_NAK_REMOTE_ACCESS_ERROR];
  counts[Wire::InvalidNaks] = aeth[ROCE_AETH_NAK_INVALID_REQUEST];
  if (!snapshot.tracked) {
    counts.packets = 1; // the direction is unknown
    return counts;
  }
  for (const Wire wire :
       {Wire::RequestGaps, Wire::RequestJumps, Wire::ResponseGaps, Wire::ResponseJumps,
        Wire::Duplicates, Wire::Rewinds, Wire::Ce, Wire::Cnps})
    counts[wire] = 0;
  for (const roce_stream &s : snapshot.streams)
    if (nic.empty() ? side == kTo : is_one_of(side == kTo ? s.key.dst : s.key.src, nic))
      count_stream(s, counts);
    else if (roce_key_kind(&s.key) == ROCE_KIND_RESPONSE)
      counts.other_responses += roce_stream_packets(&s);
  counts[Wire::Packets] = counts.packets;
  return counts;
}

WireCounts difference(const WireCounts &now, const WireCounts &before) {
  WireCounts result = now;
  for (size_t i = 0; i < now.of.size(); i++)
    if (now.of[i] && before.of[i])
      result.of[i] = *now.of[i] - std::min(*now.of[i], *before.of[i]);
  return result;
}

} // namespace xr::doctor
