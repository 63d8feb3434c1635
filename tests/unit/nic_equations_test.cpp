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
template <int kCounter> void in_requests(Snapshot &s, uint32_t n) {
  requests(s).counter_low[kCounter] = n;
}
template <int kCounter> void in_responses(Snapshot &s, uint32_t n) {
  responses(s).counter_low[kCounter] = n;
}
void packets(Snapshot &s, uint32_t n) { requests(s).packets = n - responses(s).packets; }
void bad_icrcs(Snapshot &, uint32_t) {} // a port does not see them

// A row of the report, and what passes the port for it.
struct Event {
  Side side;
  const char *words;
  Passes passes;
  const char *verdict = "equal"; // when as many passed as the NIC counted
};
constexpr auto kTo = Side::ToNic, kFrom = Side::FromNic;
constexpr Event kDuplicatesTo{kTo, "duplicate requests to it", in_requests<ROCE_DUPLICATES>},
    kRnrNaksTo{kTo, "RNR NAKs to it", naks<ROCE_AETH_RNR_NAK>},
    kPsnNaksTo{kTo, "PSN NAKs to it", naks<ROCE_AETH_NAK_PSN_SEQUENCE_ERROR>},
    kRewindsFrom{kFrom, "rewinds of its requests", in_requests<ROCE_REWINDS>},
    kResponseGapsTo{kTo, "gaps of responses to it", in_responses<ROCE_GAPS>},
    kGapsTo{kTo, "gaps of requests to it", in_requests<ROCE_GAPS>},
    kPsnNaksFrom{kFrom, "PSN NAKs from it", naks<ROCE_AETH_NAK_PSN_SEQUENCE_ERROR>},
    kRnrNaksFrom{kFrom, "RNR NAKs from it", naks<ROCE_AETH_RNR_NAK>},
    kInvalidNaksTo{kTo, "invalid-request NAKs to it", naks<ROCE_AETH_NAK_INVALID_REQUEST>},
    kAccessNaksTo{kTo, "access NAKs to it", naks<ROCE_AETH_NAK_REMOTE_ACCESS_ERROR>},
    kAccessNaksFrom{kFrom, "access NAKs from it", naks<ROCE_AETH_NAK_REMOTE_ACCESS_ERROR>},
    kCnpsTo{kTo, "CNPs to it", in_responses<ROCE_STREAM_CNPS>},
    kCeTo{kTo, "CE marks to it", in_requests<ROCE_STREAM_CE>},
    kCnpsFrom{kFrom, "CNPs from it", in_responses<ROCE_STREAM_CNPS>},
    kBadIcrcsTo{kTo, "bad iCRCs to it", bad_icrcs, "unseen"},
    kPacketsFrom{kFrom, "packets from it", packets}, kPacketsTo{kTo, "packets to it", packets};

struct Counter {
  const char *name;
  Event event;
};

// hw/mlx5/counters.c: retrans_q_cnts, out_of_seq_q_cnts, basic_q_cnts, extended_err_cnts (32 bits
// of query_q_counter_out), cong_cnts and ext_ppcnt_cnts (64 bits).
constexpr Counter kMlx5[] = {{"duplicate_request", kDuplicatesTo},
                             {"rnr_nak_retry_err", kRnrNaksTo},
                             {"packet_seq_err", kPsnNaksTo},
                             {"packet_seq_err", kRewindsFrom},
                             {"local_ack_timeout_err", kRewindsFrom},
                             {"implied_nak_seq_err", kResponseGapsTo},
                             {"out_of_sequence", kGapsTo},
                             {"out_of_sequence", kPsnNaksFrom},
                             {"out_of_buffer", kRnrNaksFrom},
                             {"req_remote_invalid_request", kInvalidNaksTo},
                             {"req_remote_access_errors", kAccessNaksTo},
                             {"resp_remote_access_errors", kAccessNaksFrom},
                             {"rp_cnp_ignored", kCnpsTo},
                             {"rp_cnp_handled", kCnpsTo},
                             {"np_ecn_marked_roce_packets", kCeTo},
                             {"np_cnp_sent", kCnpsFrom},
                             {"rx_icrc_encapsulated", kBadIcrcsTo}};

// hw/irdma/verbs.c: irdma_hw_stat_names[], later irdma_hw_stat_descs[]. The third generation of
// NICs brought names, and changed none of the second's that are here.
constexpr Counter kIrdma[] = {{"cnpHandled", kCnpsTo},
                              {"cnpIgnored", kCnpsTo},
                              {"cnpSent", kCnpsFrom},
                              {"RxECNMrkd", kCeTo},
                              // the third generation's
                              {"RNR sent", kRnrNaksFrom},
                              {"RNR received", kRnrNaksTo},
                              {"Nak Sequence Error", kPsnNaksTo},
                              {"Rcvd Out of order packets", kGapsTo},
                              {"CRC errors", kBadIcrcsTo}};

// hw/bnxt_re/hw_counters.c: bnxt_re_stat_descs[].
constexpr Counter kBnxt[] = {{"to_retransmits", kRewindsFrom},    {"seq_err_naks_rcvd", kPsnNaksTo},
                             {"seq_err_naks_rcvd", kRewindsFrom}, {"rnr_naks_rcvd", kRnrNaksTo},
                             {"dup_req", kDuplicatesTo},          {"oos_drop_count", kGapsTo},
                             {"tx_cnp_pkts", kCnpsFrom},          {"rx_cnp_pkts", kCnpsTo},
                             {"rx_ecn_marked_pkts", kCeTo}};

// sw/rxe/rxe_hw_counters.c: rxe_counter_name[], later rxe_counter_descs[]. rxe_resp.c counts an
// out-of-sequence request when it sends the NAK.
constexpr Counter kRxe[] = {{"sent_pkts", kPacketsFrom},          {"rcvd_pkts", kPacketsTo},
                            {"duplicate_request", kDuplicatesTo}, {"out_of_seq_request", kGapsTo},
                            {"out_of_seq_request", kPsnNaksFrom}, {"rcvd_rnr_err", kRnrNaksTo},
                            {"send_rnr_err", kRnrNaksFrom},       {"rcvd_seq_err", kPsnNaksTo},
                            {"completer_retry_err", kRewindsFrom}};

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
    const bool to = counter.event.side == kTo;
    const char *src = to ? kPeer : kNic, *dst = to ? kNic : kPeer;
    Snapshot wire;
    wire.streams = {stream(src, dst, ROCE_KIND_REQUEST, 1),
                    stream(src, dst, ROCE_KIND_RESPONSE, 1)};
    counter.event.passes(wire, n);
    HwCounters counters;
    for (const Counter &other : GetParam().counters)
      counters[other.name] = 0;
    counters[counter.name] = counted;
    return row(since_ever(wire, counters, GetParam().name), counter.event.words);
  }
};

TEST_P(NicEquations, EachCounterIsOfWhatPasses) {
  for (const Counter &counter : GetParam().counters) {
    SCOPED_TRACE(counter.name);
    const NicEquation e = judge(counter, 7, 7);
    EXPECT_EQ(e.verdict, counter.event.verdict) << counter.event.words;
    EXPECT_EQ(e.nic, 7u) << counter.event.words;
    EXPECT_TRUE(e.equation.ends_with(" = " + std::string(counter.name)) ||
                e.equation.find(std::string(" + ") + counter.name) != std::string::npos ||
                e.equation.find(std::string(counter.name) + " + ") != std::string::npos)
        << e.equation;
    if (counter.event.verdict == std::string("unseen"))
      continue;
    EXPECT_EQ(e.wire, 7u) << counter.event.words;
    EXPECT_EQ(judge(counter, 7, 6).verdict, "mismatch") << counter.event.words;
    EXPECT_EQ(judge(counter, 7, 8).verdict, "uncertain") << counter.event.words;
  }
}

// And there are no others.
TEST_P(NicEquations, EachIsInTheKernel) {
  std::set<std::tuple<std::string, Side, std::string>> known;
  for (const Counter &counter : GetParam().counters)
    known.insert({counter.name, counter.event.side, counter.event.words});
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
