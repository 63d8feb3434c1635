// SPDX-License-Identifier: Apache-2.0
// To add a check: its function in judgement.h and a file of this folder, its row here, a test in
// checks_test with facts that have the fault and that nearly have it.
#include "checks/setup.h"

#include <algorithm>

#include <fmt/format.h>

#include "checks/judgement.h"

namespace xr::checks {

namespace {

struct Row {
  const char *name;
  Judgement (*judge)(const Facts &);
  const char *bound, *why, *change;
};

constexpr Row kChecks[] = {
    {"data_ect", data_ect, "all data packets of RC, UC and XRC are ECT, or none",
     "Switches mark only ECT packets (RFC 3168, 5); others they drop where they would mark, and "
     "their senders do not slow down (IBA annex A17)",
     "host: the QP's traffic class (ECN bits 2), or the NIC's RoCE ToS; where one stream mixes, a "
     "switch that rewrites the ToS byte"},
    {"marks_answered", marks_answered, "a CNP back for each QP with CE marks; none without",
     "A mark without a CNP does not slow the sender down; a CNP without a mark does so for nothing "
     "(IBA annex A17.9; DCQCN)",
     "receiving NIC: enable the notification point for the data's priority; CNPs after NAKs: a "
     "setting of the NIC"},
    {"cnp_class", cnp_class, "CNPs on a class of their own, usually DSCP 48, PCP 6",
     "A CNP in the data's class waits after the data that it is to slow down, and PFC pauses both "
     "(802.1Q, 36; DCQCN)",
     "receiving NIC: CNP DSCP and priority; switch: a strict-priority queue for it"},
    {"one_class", one_class, "the data of two hosts on one DSCP and PCP",
     "PFC and ECN are set up by class: data in another one is not protected, and marked at other "
     "thresholds (802.1Q, 36; RFC 2474)",
     "host: traffic class of QPs and of RDMA CM; switch: rewriting of DSCP or PCP"},
    {"pfc_class", pfc_class,
     "PFC of the data's priority only, sound frames, each pause released, paused less than 10 % of "
     "any second",
     "PFC of another priority leaves the data unprotected; lasting pauses spread through the "
     "fabric (802.1Q, 36; 802.3, annex 31B)",
     "switch and NIC: the same map of DSCP or PCP to priority, PFC on one priority, PAUSE off; "
     "storms: the sender named here, and a PFC watchdog"},
    {"lossless", lossless, "no PSN missing in a class with PFC",
     "A class with PFC that loses has the cost of both: a go-back-n of up to a window for each "
     "loss (IBA vol. 1, 9.7.5)",
     "switch: headroom of the priority by cable length and MTU; host: the map of DSCP to priority "
     "at both ends"},
    {"path_mtu", path_mtu, "the largest path MTU that passes, in both directions; no IP fragments",
     "Small packets cost packet rate and headers; fragments are not taken by NICs (IBA annex "
     "A17.4; IBA vol. 1, 9.3)",
     "host: the interface's MTU and the QP's path MTU at both ends; switch: jumbo frames on every "
     "port"},
    {"entropy", entropy, "the QPs of two hosts on several UDP source ports",
     "Switches choose among equal-cost paths by the UDP source port: QPs on one port share one "
     "path (IBA annex A17.9.2; RFC 6438)",
     "host: flow labels or UDP source ports by QP (ibv_modify_qp, RDMA CM), more QPs"},
    {"versions", versions, "one version between two hosts",
     "RoCEv1 is not routed, has no ECN, and is not in the class that DSCP gives to RoCEv2 (IBA "
     "annexes A16, A17)",
     "host: default GID type of RDMA CM (cma_roce_mode), GID index of applications"},
    {"icrc", icrc, "no wrong iCRC, no RoCE frame that is cut short",
     "A receiver drops a packet with a wrong iCRC without a word, which looks like loss (IBA vol. "
     "1, 7.8; annex A17.3)",
     "the link, cable or memory between the hosts named; a middlebox that rewrites payloads"},
    {"go_back_n", go_back_n, "requesters and responders keep to IBA",
     "What a peer does against the rules of acknowledgement costs retries or data (IBA vol. 1, "
     "9.7.5)",
     "NIC: firmware and driver of the peer; see analyze --episodes"},
    {"retries", retries, "no PSN times out twice; fewer than 10 RNR NAKs a QP",
     "After retry_cnt (at most 7) timeouts of one PSN the QP is in error and its connection lost "
     "(IBA vol. 1, 9.7.6.1, 9.9.2.4.1)",
     "network: the loss or the path that is gone; host: timeout and retry_cnt of the QP; RNR: "
     "more receive buffers at the responder"},
    {"rtt", rtt, "p99 of no pair of hosts ten times that of the others",
     "A pair whose answers take ten times as long has a queue, a pause or a longer path of its own",
     "switch: the ports on its path (queues, pauses, speed); receiving host: PCIe, its CPU"},
};

int rank(Status status) {
  switch (status) {
  case Status::Ok:
    return 0;
  case Status::Unknown:
    return 1;
  case Status::Warn:
    return 2;
  default:
    return 3;
  }
}

} // namespace

void Judgement::add(Status status, const std::string &text, uint64_t number) {
  if (rank(status) > rank(status_))
    status_ = status;
  frame(number);
  if (++texts_ == 1)
    value_ = text;
  else if (texts_ <= kTexts)
    value_ += "; " + text;
  else if (texts_ == kTexts + 1)
    value_ += "; ...";
}

void Judgement::frame(uint64_t number) {
  if (number && frames_.size() < kFrames && std::ranges::find(frames_, number) == frames_.end())
    frames_.push_back(number);
}

std::vector<SetupCheck> check_setup(const Facts &facts) {
  std::vector<SetupCheck> checks;
  for (const Row &row : kChecks) {
    const Judgement judgement = row.judge(facts);
    checks.push_back({row.name, judgement.status(), judgement.value(), row.bound, row.why,
                      row.change, judgement.frames()});
  }
  return checks;
}

} // namespace xr::checks
