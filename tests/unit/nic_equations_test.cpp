// SPDX-License-Identifier: Apache-2.0
// Every counter in an equation exists in the kernel's drivers, with this name and meaning.
#include <gtest/gtest.h>

#include <set>

#include "made_nic.h"

namespace nic_equations_test {
namespace {

using namespace made_nic;

// What passes, beside a packet of requests and one of responses.
using Passes = void (*)(Snapshot &, uint32_t);

roce_stream &requests(Snapshot &s) { return s.streams[0]; }
roce_stream &responses(Snapshot &s) { return s.streams[1]; }

template <int kSyndrome> void naks(Snapshot &s, uint32_t n) { s.totals.aeth[kSyndrome] = n; }
constexpr Passes kPsnNaks = naks<ROCE_AETH_NAK_PSN_SEQUENCE_ERROR>,
                 kRnrNaks = naks<ROCE_AETH_RNR_NAK>,
                 kAccessNaks = naks<ROCE_AETH_NAK_REMOTE_ACCESS_ERROR>,
                 kInvalidNaks = naks<ROCE_AETH_NAK_INVALID_REQUEST>;

template <int kCounter> void in_requests(Snapshot &s, uint32_t n) {
  requests(s).counter_low[kCounter] = n;
}
template <int kCounter> void in_responses(Snapshot &s, uint32_t n) {
  responses(s).counter_low[kCounter] = n;
}
constexpr Passes kGaps = in_requests<ROCE_GAPS>, kDuplicates = in_requests<ROCE_DUPLICATES>,
                 kRewinds = in_requests<ROCE_REWINDS>, kCe = in_requests<ROCE_STREAM_CE>,
                 kResponseGaps = in_responses<ROCE_GAPS>, kCnps = in_responses<ROCE_STREAM_CNPS>;

void packets(Snapshot &s, uint32_t n) { requests(s).packets = n - responses(s).packets; }
void bad_icrcs(Snapshot &, uint32_t) {} // a port does not see them

struct Counter {
  const char *name;
  Side side;
  const char *words; // of its row
  Passes passes;
  const char *verdict = "equal"; // when as many passed as it counted
};
constexpr auto kTo = Side::ToNic, kFrom = Side::FromNic;

// hw/mlx5/counters.c: retrans_q_cnts, out_of_seq_q_cnts, basic_q_cnts, extended_err_cnts (32 bits
// of query_q_counter_out), cong_cnts and ext_ppcnt_cnts (64 bits).
constexpr Counter kMlx5[] = {
    {"duplicate_request", kTo, "duplicate requests to it", kDuplicates},
    {"rnr_nak_retry_err", kTo, "RNR NAKs to it", kRnrNaks},
    {"packet_seq_err", kTo, "PSN NAKs to it", kPsnNaks},
    {"packet_seq_err", kFrom, "rewinds of its requests", kRewinds},
    {"local_ack_timeout_err", kFrom, "rewinds of its requests", kRewinds},
    {"implied_nak_seq_err", kTo, "gaps of responses to it", kResponseGaps},
    {"out_of_sequence", kTo, "gaps of requests to it", kGaps},
    {"out_of_sequence", kFrom, "PSN NAKs from it", kPsnNaks},
    {"out_of_buffer", kFrom, "RNR NAKs from it", kRnrNaks},
    {"req_remote_invalid_request", kTo, "invalid-request NAKs to it", kInvalidNaks},
    {"req_remote_access_errors", kTo, "access NAKs to it", kAccessNaks},
    {"resp_remote_access_errors", kFrom, "access NAKs from it", kAccessNaks},
    {"rp_cnp_ignored", kTo, "CNPs to it", kCnps},
    {"rp_cnp_handled", kTo, "CNPs to it", kCnps},
    {"np_ecn_marked_roce_packets", kTo, "CE marks to it", kCe},
    {"np_cnp_sent", kFrom, "CNPs from it", kCnps},
    {"rx_icrc_encapsulated", kTo, "bad iCRCs to it", bad_icrcs, "unseen"},
};

// hw/irdma/verbs.c: irdma_hw_stat_names[], later irdma_hw_stat_descs[]. The third generation of
// NICs brought names, and changed none of the second's that are here.
constexpr Counter kIrdma[] = {
    {"cnpHandled", kTo, "CNPs to it", kCnps},
    {"cnpIgnored", kTo, "CNPs to it", kCnps},
    {"cnpSent", kFrom, "CNPs from it", kCnps},
    {"RxECNMrkd", kTo, "CE marks to it", kCe},
    // the third generation's
    {"RNR sent", kFrom, "RNR NAKs from it", kRnrNaks},
    {"RNR received", kTo, "RNR NAKs to it", kRnrNaks},
    {"Nak Sequence Error", kTo, "PSN NAKs to it", kPsnNaks},
    {"Rcvd Out of order packets", kTo, "gaps of requests to it", kGaps},
    {"CRC errors", kTo, "bad iCRCs to it", bad_icrcs, "unseen"},
};

// hw/bnxt_re/hw_counters.c: bnxt_re_stat_descs[].
constexpr Counter kBnxt[] = {
    {"to_retransmits", kFrom, "rewinds of its requests", kRewinds},
    {"seq_err_naks_rcvd", kTo, "PSN NAKs to it", kPsnNaks},
    {"seq_err_naks_rcvd", kFrom, "rewinds of its requests", kRewinds},
    {"rnr_naks_rcvd", kTo, "RNR NAKs to it", kRnrNaks},
    {"dup_req", kTo, "duplicate requests to it", kDuplicates},
    {"oos_drop_count", kTo, "gaps of requests to it", kGaps},
    {"tx_cnp_pkts", kFrom, "CNPs from it", kCnps},
    {"rx_cnp_pkts", kTo, "CNPs to it", kCnps},
    {"rx_ecn_marked_pkts", kTo, "CE marks to it", kCe},
};

// sw/rxe/rxe_hw_counters.c: rxe_counter_name[], later rxe_counter_descs[]. rxe_resp.c counts an
// out-of-sequence request when it sends the NAK.
constexpr Counter kRxe[] = {
    {"sent_pkts", kFrom, "packets from it", packets},
    {"rcvd_pkts", kTo, "packets to it", packets},
    {"duplicate_request", kTo, "duplicate requests to it", kDuplicates},
    {"out_of_seq_request", kTo, "gaps of requests to it", kGaps},
    {"out_of_seq_request", kFrom, "PSN NAKs from it", kPsnNaks},
    {"rcvd_rnr_err", kTo, "RNR NAKs to it", kRnrNaks},
    {"send_rnr_err", kFrom, "RNR NAKs from it", kRnrNaks},
    {"rcvd_seq_err", kTo, "PSN NAKs to it", kPsnNaks},
    {"completer_retry_err", kFrom, "rewinds of its requests", kRewinds},
};

struct Driver {
  const char *name;
  std::span<const Counter> counters;
};
void PrintTo(const Driver &driver, std::ostream *out) { *out << driver.name; }
constexpr Driver kDrivers[] = {
    {"mlx5", kMlx5}, {"irdma", kIrdma}, {"bnxt_re", kBnxt}, {"rxe", kRxe}};

class NicEquations : public ::testing::TestWithParam<Driver> {
protected:
  // Where `n` of them passed the port, and the NIC counted `counted`; nothing else did.
  static NicEquation judge(const Counter &counter, uint32_t n, uint64_t counted) {
    const bool to = counter.side == kTo;
    const char *src = to ? kPeer : kNic, *dst = to ? kNic : kPeer;
    Snapshot wire;
    wire.streams = {stream(src, dst, ROCE_KIND_REQUEST, 1),
                    stream(src, dst, ROCE_KIND_RESPONSE, 1)};
    counter.passes(wire, n);
    HwCounters counters;
    for (const Counter &other : GetParam().counters)
      counters[other.name] = 0;
    counters[counter.name] = counted;
    return row(since_ever(wire, counters, GetParam().name), counter.words);
  }
};

TEST_P(NicEquations, EachCounterIsOfWhatPasses) {
  for (const Counter &counter : GetParam().counters) {
    SCOPED_TRACE(counter.name);
    const NicEquation e = judge(counter, 7, 7);
    EXPECT_EQ(e.verdict, counter.verdict) << counter.words;
    EXPECT_EQ(e.nic, 7u) << counter.words;
    EXPECT_TRUE(e.equation.ends_with(" = " + std::string(counter.name)) ||
                e.equation.find(std::string(" + ") + counter.name) != std::string::npos ||
                e.equation.find(std::string(counter.name) + " + ") != std::string::npos)
        << e.equation;
    if (counter.verdict == std::string("unseen"))
      continue;
    EXPECT_EQ(e.wire, 7u) << counter.words;
    EXPECT_EQ(judge(counter, 7, 6).verdict, "mismatch") << counter.words;
    EXPECT_EQ(judge(counter, 7, 8).verdict, "uncertain") << counter.words;
  }
}

// And there are no others.
TEST_P(NicEquations, EachIsInTheKernel) {
  std::set<std::tuple<std::string, Side, std::string>> known;
  for (const Counter &counter : GetParam().counters)
    known.insert({counter.name, counter.side, counter.words});
  size_t named = 0;
  for (const Equation &equation : equations_of(GetParam().name))
    for (const char *name : equation.counters) {
      named++;
      EXPECT_TRUE(known.count({name, equation.side, equation.words})) << name;
    }
  EXPECT_EQ(named, known.size());
}

INSTANTIATE_TEST_SUITE_P(Drivers, NicEquations, ::testing::ValuesIn(kDrivers),
                         [](const auto &driver) { return std::string(driver.param.name); });

// What the second generation does not count has no row, rather than a wrong one.
TEST(NicIrdma, SecondGeneration) {
  Snapshot wire;
  wire.streams = {stream(kPeer, kNic, ROCE_KIND_RESPONSE, 9, {{ROCE_STREAM_CNPS, 3}}),
                  stream(kPeer, kNic, ROCE_KIND_REQUEST, 9, {{ROCE_GAPS, 2}, {ROCE_STREAM_CE, 4}}),
                  stream(kNic, kPeer, ROCE_KIND_RESPONSE, 9, {{ROCE_STREAM_CNPS, 5}})};
  const NicReport report = since_ever(
      wire, {{"cnpHandled", 2}, {"cnpIgnored", 1}, {"cnpSent", 5}, {"RxECNMrkd", 4}}, "irdma");
  EXPECT_EQ(report.equations.size(), 3u);
  for (const NicEquation &e : report.equations)
    EXPECT_EQ(e.verdict, "equal") << e.equation;
}

} // namespace
} // namespace nic_equations_test
