// SPDX-License-Identifier: Apache-2.0
#include "cli/send_errors.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/output.h"
#include "names/names.h"
#include "roce/opcode.h"

namespace xr::cli {
namespace {

// If all answers were for QPs that no flow has, a sentence that says so: the responder assumes
// other QPNs for our QPs. Only after a timeout of a QP; else "".
std::string wrong_qps(const SendCounts &c) {
  if (c.stray_qps.qps().empty() || !c.timeouts ||
      c.acks + c.naks + c.rnr_naks + c.read_responses + c.invalid_naks + c.access_naks +
          c.operational_naks)
    return {};
  std::string qps;
  for (const uint32_t qp : c.stray_qps.qps())
    qps += fmt::format("{}{:#x}", qps.empty() ? "" : ", ", qp);
  return fmt::format("all {} answers were for QP {}{}, from which nothing is sent here", c.stray,
                     qps, c.stray_qps.more() ? ", ..." : "");
}
constexpr const char *kWrongQps =
    "`respond --peer-qp` says which QPN it answers (same, N, +N or -N of "
    "its own); or src-qp N here";

} // namespace

void warn_of_management_qps(const std::string &context, const std::vector<flow::Flow> &flows) {
  constexpr uint32_t kGsi = 1; // 0 is the subnet management QP, 1 the GSI (IBA vol. 1, 3.9.4)
  for (const flow::Flow &flow : flows)
    if (flow.qp <= kGsi && flow.transport != ROCE_UD) {
      tell_notes(context, {fmt::format("qp {}: QP 0 and 1 are for management datagrams, and "
                                       "answer nothing else, with no CNP either: qp 2 or "
                                       "above",
                                       flow.qp)});
      return;
    }
}

void warn_of_qps(const std::string &context, const SendCounts &counts, bool &warned) {
  const std::string wrong = warned ? "" : wrong_qps(counts);
  if (wrong.empty())
    return;
  tell_notes(context, {wrong + ": " + kWrongQps});
  warned = true;
}

Error why_failed(const SendCounts &c) {
  std::string why;
  const auto add = [&why](uint64_t count, const char *what) {
    if (count)
      why += fmt::format("{}{} {}", why.empty() ? ": " : ", ", count, what);
  };
  add(c.timeouts, "timeouts");
  add(c.naks, "NAKs PSN sequence error");
  add(c.rnr_naks, "RNR NAKs");
  add(c.invalid_naks, "NAKs invalid request");
  add(c.access_naks, "NAKs remote access error");
  add(c.operational_naks, "NAKs remote operational error");
  const std::string wrong = wrong_qps(c);
  return {fmt::format("{} failed{}{}{}", counted(c.failed_qps, "QP"), why,
                      wrong.empty() ? "" : "; ", wrong),
          c.access_naks    ? "rkey and va must be the peer's"
          : !wrong.empty() ? kWrongQps
                           : ""};
}

Error why_not_connected(const CmCounts &c) {
  std::string why;
  if (c.rejected)
    why = fmt::format(": {} rejected ({})", c.rejected, names::cm_reason_name(c.reason));
  if (c.timed_out)
    why += fmt::format("{} {} without an answer", why.empty() ? ":" : ",", c.timed_out);
  return {fmt::format("{} of {} {} not made{}", c.requested - c.established,
                      counted(c.requested, "connection"),
                      verb(c.requested - c.established, "was", "were"), why),
          c.rejected    ? ""
          : c.timed_out ? "is there a server with RDMA CM, and does it listen on this port "
                          "(--port, --service-id)?"
                        : ""};
}

Error why_different(const VerifyCounts &c) {
  const VerifyCounts::Difference &first = c.differences.front();
  return {fmt::format("{} of the bytes that were read differ from those written, in {}; the "
                      "first: QP {:#x}, message {}, offset {}: {:#04x} was written, {:#04x} read",
                      c.different_bytes, counted(c.different_packets, "packet"), first.qp,
                      first.message, first.offset, first.written, first.read),
          c.different_bytes * 2 > c.bytes ? "the peer needs memory at these addresses, like "
                                            "`respond --memory 1M`"
                                          : ""};
}

} // namespace xr::cli
