// SPDX-License-Identifier: Apache-2.0
#include "run_analysis/trace.h"

#include <algorithm>

#include "analysis/captured_packet.h"
#include "impair/trace_words.h"
#include "roce/capture.h"
#include "roce/psn.h"

namespace xr::run_analysis {

QpKey qp_key(const roce_key &key) {
  QpKey qp;
  std::copy_n(key.src, 4, qp.src.begin());
  std::copy_n(key.dst, 4, qp.dst.begin());
  qp.dest_qp = roce_key_qp(&key);
  return qp;
}

Trace::Sent &Trace::request(const roce_packet &packet, const CapturedFrame &frame, bool lost,
                            Hit &hit, Counts &counts) {
  Sent &sent = sent_.try_emplace(hit.qp, Sent{packet.psn, packet.psn, 0, {}}).first->second;
  hit.again = roce_psn_diff(packet.psn, sent.next) < 0;
  if (!hit.again)
    sent.next = roce_psn_add(packet.psn, 1);
  hit.packet = uint64_t{(packet.psn - sent.first) & ROCE_PSN_MASK} + 1;
  counts.requests++;
  counts.again += hit.again;
  if (const auto earlier = sent.lost.find(packet.psn); earlier != sent.lost.end()) {
    Hit &again = hits[earlier->second];
    again.resent_ns = hit.ns;
    again.before_ns = sent.last_ns;
    again.resent_frame = frame.number;
    again.resent_bytes = frame.length;
    hit.before = earlier->second;
    for (auto at = hit.before; at && !lost; at = hits[*at].before)
      hits[*at].passed_ns = hit.ns;
    sent.lost.erase(earlier);
  }
  sent.last_ns = hit.ns;
  return sent;
}

Trace::Outcome Trace::add(const CapturedFrame &frame) {
  const Port port = frame.file ? kRight : kLeft;
  Counts &counted = counts[port];
  if (!first_ns)
    first_ns = frame.time_ns;
  counted.frames++;
  const impair::Passage passage = impair::passage_of(frame.comment);
  counted.gone += passage.lost;
  unknown += passage.unknown;
  const auto rule = impair::traced_rule(frame.comment);
  if (rule && rule->act)
    by_rule[port][rule->rule]++;
  roce_packet packet{};
  const roce_class class_ = parse_captured(parser_, frame, packet);
  const Outcome outcome{passage.lost || passage.damaged, passage.marked};
  if (!roce_is_roce(class_))
    return outcome;
  roce_key_fill(&packet.key);
  const uint32_t kinds = roce_capture_kinds(class_, &packet);
  Hit hit;
  hit.qp = qp_key(packet.key);
  hit.ns = frame.time_ns;
  Sent *sent = nullptr;
  if (packet.info & ROCE_OP_REQUEST) {
    sent = &request(packet, frame, outcome.lost, hit, counted);
    counted.lost += passage.lost;
    if (!passage.lost && (passage.marked || packet.ecn == ROCE_ECN_CE)) {
      counted.marked++;
      marks[hit.qp]++;
    }
  }
  counted.naks += kinds & ROCE_CAPTURE_NAK && !outcome.lost;
  if (kinds & ROCE_CAPTURE_CNP && !outcome.lost) {
    counted.cnps++;
    if (cnps.size() < kMost)
      cnps.push_back({hit.qp, frame.time_ns, frame.number, port});
    else
      cnps_dropped++;
  }
  if (!rule || !rule->act)
    return outcome;
  if (hits.size() == kMost) {
    hits_dropped++;
    return outcome;
  }
  hit.port = port;
  hit.rule = rule->rule;
  hit.did = rule->did;
  hit.lost = outcome.lost;
  hit.marked = outcome.marked;
  hit.psn = packet.psn;
  hit.frame = frame.number;
  if (sent && hit.lost)
    sent->lost[packet.psn] = hits.size();
  hits.push_back(std::move(hit));
  return outcome;
}

CaptureFrame frame_of(Port port, uint64_t number) {
  return number ? CaptureFrame{port == kLeft ? "left" : "right", number} : CaptureFrame{};
}

CaptureFrame cnp_within(const Trace &trace, const Address &src, uint64_t ns,
                        QpKey (*scope)(const QpKey &)) {
  std::map<QpKey, uint64_t> last;
  for (const Cnp &cnp : trace.cnps) {
    if (!ns || cnp.qp.src != src)
      continue;
    uint64_t &before = last.try_emplace(scope(cnp.qp), 0).first->second;
    if (before && cnp.ns - before == ns)
      return frame_of(cnp.port, cnp.frame);
    before = cnp.ns;
  }
  return {};
}

} // namespace xr::run_analysis
