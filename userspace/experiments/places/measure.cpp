// SPDX-License-Identifier: Apache-2.0
#include "places/measure.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/fairness.h"
#include "base/layer1.h"
#include "parse/value.h"

namespace xr::places {

namespace {

using Kind = ExperimentSample::Kind;

constexpr double kMostSlip = 0.01; // of the time, by which senders were late
constexpr double kMostSlipOfRates =
    0.15; // of rates that change: two processors are busy with a run
constexpr uint64_t kLeastPatience = 1'000'000;
constexpr uint64_t kMostChangeLate =
    50'000'000;                    // a change of rules waits for the kernel's RCU, some ms
constexpr double kMostLate = 0.25; // of the time that the path and a queue at its threshold take

LinkCounts link_of(const Reading &reading) {
  return reading.right ? reading.right->link : LinkCounts{};
}

// Frames of both directions.
uint64_t taken(const Reading &reading) {
  return reading.left && reading.right ? reading.left->in.taken + reading.right->in.taken : 0;
}

} // namespace

uint64_t Measurement::hops(const Reading &reading) {
  return reading.left && reading.right
             ? taken(reading) + reading.left->in.left + reading.right->in.left
             : 0;
}

Measurement::Measurement(const Plan &plan, double scale, uint64_t begun_ns)
    : plan_(plan), scale_(scale), begun_ns_(begun_ns), complete_ns_(plan.flows.size()) {
  sampled_.t_ns = measured_.t_ns = ended_.t_ns = begun_ns;
  for (Reading *reading : {&sampled_, &measured_, &ended_})
    reading->flows.resize(plan.flows.size());
}

uint64_t Measurement::time_of(uint64_t ns) const {
  return ns <= begun_ns_
             ? 0
             : static_cast<uint64_t>(std::llround(static_cast<double>(ns - begun_ns_) * scale_));
}

double Measurement::rate(uint64_t bytes, uint64_t ns) const {
  return ns ? static_cast<double>(bytes) * 8e9 / static_cast<double>(ns) / scale_ : 0;
}

void Measurement::look(const Reading &reading) {
  for (size_t i = 0; i < plan_.flows.size(); i++)
    if (!complete_ns_[i] && plan_.flows[i].packets &&
        reading.flows[i].accepted() >= plan_.flows[i].packets)
      complete_ns_[i] = reading.t_ns;
}

std::vector<ExperimentSample> Measurement::sample(const Reading &reading) {
  const uint64_t now = time_of(reading.t_ns);
  const uint64_t since = reading.t_ns - sampled_.t_ns;
  std::vector<ExperimentSample> samples;
  const auto add = [&](Kind kind, uint32_t row, const char *column, double value) {
    samples.push_back({now, kind, row, column, value});
  };
  std::vector<double> rates;
  for (uint32_t i = 0; i < plan_.flows.size(); i++) {
    const FlowCounts &flow = reading.flows[i], &before = sampled_.flows[i];
    const uint64_t bytes = accepted_bytes(i, before, flow);
    const uint64_t wire = wire_bytes(before, flow);
    const bool runs = plan_.flows[i].start_ns != UINT64_MAX &&
                      begun_ns_ + plan_.flows[i].start_ns <= reading.t_ns && !is_over(i, reading);
    if (!wire && !runs)
      continue;
    if (reading.counted) {
      add(Kind::Flow, i, "goodput_bps", rate(bytes, since));
      add(Kind::Flow, i, "wire_bps", rate(wire, since));
    }
    if (bytes)
      rates.push_back(static_cast<double>(bytes));
    if (flow.controlled || flow.cnps != before.cnps)
      add(Kind::Flow, i, "cnps", static_cast<double>(flow.cnps - before.cnps));
    if (!flow.controlled || !runs)
      continue;
    add(Kind::Flow, i, "control_bps", flow.rate / scale_);
    add(Kind::Flow, i, "target_bps", flow.target / scale_);
    add(Kind::Flow, i, "alpha", flow.alpha);
  }
  if (reading.right) {
    const LinkClassCounts queue = link_of(reading).total(), old = link_of(sampled_).total();
    add(Kind::Queue, 0, "backlog_bytes", static_cast<double>(queue.backlog_bytes));
    add(Kind::Queue, 0, "marked", static_cast<double>(queue.marks - old.marks));
    add(Kind::Queue, 0, "dropped", static_cast<double>(queue.dropped() - old.dropped()));
  }
  if (const auto jain = jain_index(rates); jain && reading.counted)
    add(Kind::Total, 0, "jain", *jain);
  sampled_ = reading;
  return samples;
}

void Measurement::begin(const Reading &reading) { measured_ = reading; }
void Measurement::end(const Reading &reading) { ended_ = reading; }

// Payload of packets that came for the first time; of other hosts' flows their bytes but headers.
uint64_t Measurement::accepted_bytes(size_t index, const FlowCounts &from,
                                     const FlowCounts &to) const {
  const uint64_t packets = to.accepted() - std::min(from.accepted(), to.accepted());
  const PlannedFlow &planned = plan_.flows[index];
  double payload = planned.payload;
  if (payload == 0 && to.received > from.received)
    payload = std::max(static_cast<double>(to.received_bytes - from.received_bytes) /
                               static_cast<double>(to.received - from.received) -
                           planned.headers,
                       0.0);
  return static_cast<uint64_t>(std::llround(static_cast<double>(packets) * payload));
}

uint64_t Measurement::wire_bytes(const FlowCounts &from, const FlowCounts &to) const {
  const uint64_t overhead = plan_.forward.layer1 ? kLayer1Bytes : 0;
  return to.received_bytes - from.received_bytes + overhead * (to.received - from.received);
}

// Complete, or its time is over. A flow that the schedule stopped continues at rate 0.
bool Measurement::is_over(size_t index, const Reading &reading) const {
  const PlannedFlow &planned = plan_.flows[index];
  return complete_ns_[index] ||
         (planned.flow.duration_ns && !planned.stopped &&
          reading.t_ns > begun_ns_ + planned.start_ns + planned.flow.duration_ns);
}

ExperimentFlowCounts Measurement::counts_of(size_t index, const FlowCounts &flow) const {
  ExperimentFlowCounts counts;
  counts.bytes = accepted_bytes(index, {}, flow);
  counts.packets = flow.sent;
  counts.marked = flow.marked;
  counts.cnps = flow.cnps;
  counts.cuts = flow.cuts;
  counts.retransmitted = flow.sent_again;
  counts.drops = flow.sent - std::min(flow.sent, flow.received);
  counts.naks = flow.naks;
  counts.timeouts = flow.timeouts;
  counts.failed = flow.failed;
  return counts;
}

ExperimentFlow Measurement::flow_row(size_t index, const Reading &settled) const {
  const PlannedFlow &planned = plan_.flows[index];
  const FlowCounts &from = measured_.flows[index], &to = ended_.flows[index],
                   &all = settled.flows[index];
  // Frames that were on the way at the end of the run arrive, or are lost, until it has settled.
  // Frames on the way at `from` look like frames lost before it: they do not count as drops here.
  ExperimentFlow row{counts_of(index, all).since(counts_of(index, from))};
  row.whole = counts_of(index, all);
  row.bytes = accepted_bytes(index, from, to);
  row.packets = to.sent - from.sent;
  row.name = planned.name;
  row.src = planned.src;
  row.dst = planned.dst;
  row.qp = plan_.ours ? planned.flow.qp : all.qp;
  const bool starts = planned.start_ns != UINT64_MAX;
  const uint64_t start = starts ? begun_ns_ + planned.start_ns : UINT64_MAX;
  row.start_ns = starts ? time_of(start) : UINT64_MAX;
  uint64_t stop = ended_.t_ns;
  if (complete_ns_[index])
    stop = std::min(stop, complete_ns_[index]);
  if (starts && planned.flow.duration_ns)
    stop = std::min(stop, start + planned.flow.duration_ns);
  const uint64_t began = std::max(start, measured_.t_ns);
  if (stop > began) {
    row.goodput_bps = rate(row.bytes, stop - began);
    row.wire_bps = rate(wire_bytes(from, to), stop - began);
    row.ran_from_ns = time_of(began);
    row.ran_to_ns = time_of(stop);
  }
  if (complete_ns_[index]) {
    row.end_ns = time_of(complete_ns_[index]);
    row.fct_ns = *row.end_ns - std::min(row.start_ns, *row.end_ns);
  }
  return row;
}

ExperimentQueue Measurement::queue_row() const {
  ExperimentQueue row;
  row.name = plan_.queue;
  row.alias = "bottleneck";
  const LinkCounts from = link_of(measured_), to = link_of(ended_);
  const LinkClassCounts was = from.total(), is = to.total();
  row.backlog_bytes = to.backlog;
  row.backlog_bytes.subtract(from.backlog);
  row.packets = is.frames_out - was.frames_out;
  row.marked = is.marks - was.marks;
  row.dropped = is.dropped() - was.dropped();
  row.pauses = to.pfc_received + to.pause_received - from.pfc_received - from.pause_received;
  row.paused_ns = static_cast<uint64_t>(
      std::llround(static_cast<double>(is.paused_ns - was.paused_ns) * scale_));
  row.pfc_sent = to.pfc_sent - from.pfc_sent;
  const uint64_t time = to.updated - std::max(from.updated, begun_ns_);
  if (to.updated > from.updated)
    row.utilisation = static_cast<double>(to.busy_ns - from.busy_ns) / static_cast<double>(time);
  return row;
}

ExperimentMeasurement Measurement::result(const Reading &settled) const {
  ExperimentMeasurement measured;
  std::vector<double> rates;
  for (size_t i = 0; i < plan_.flows.size(); i++) {
    measured.flows.push_back(flow_row(i, settled));
    const uint64_t start = plan_.flows[i].start_ns;
    if (start != UINT64_MAX && begun_ns_ + start < ended_.t_ns &&
        (!complete_ns_[i] || complete_ns_[i] > measured_.t_ns))
      rates.push_back(measured.flows.back().goodput_bps);
  }
  if (ended_.right)
    measured.queues.push_back(queue_row());
  measured.jain = jain_index(rates);
  measured.packets = settled.right ? taken(settled) : settled.frames;
  measured.packet_hops = hops(settled);
  measured.other_qps = settled.other_qps;
  measured.other_cnps = settled.other_cnps;
  measured.duration_ns = time_of(ended_.t_ns);
  measured.from_ns = time_of(measured_.t_ns);
  return measured;
}

namespace {

class Reasons {
public:
  void add(uint64_t count, const char *where, const char *what) {
    if (count)
      list.push_back(fmt::format("{}: {} {}", where, count, what));
  }
  void add(const char *where, const RunReport &report) {
    const EngineCounts &engine = report.engine;
    add(engine.socket.rx_ring_full, where, "frames were lost: the RX ring was full");
    add(engine.socket.rx_no_chunk, where, "frames were lost: no memory was free");
    add(engine.socket.rx_dropped, where, "frames were lost by the socket");
    add(engine.socket.tx_invalid, where, "frames were refused by the kernel");
    add(engine.socket.tx_dropped, where, "frames were dropped by the driver");
    add(engine.not_sent, where, "frames were not transmitted");
    add(engine.port_drops, where, "frames were dropped by the port");
  }
  void add(const char *where, const WirePortCounts &port) {
    add(port.in.no_memory + port.in.no_buffer, where, "frames were lost: no memory was free");
    add(port.in.ring_full, where, "frames were lost: the RX ring was full");
    add(port.in.refused, where, "frames were refused by the kernel");
    add(port.in.unknown_rules, where, "frames were not held");
    add(port.out.tx_dropped + port.out.driver_dropped, where, "frames were not transmitted");
  }
  // 1 % of all were so late.
  void late(const char *where, uint64_t ns, uint64_t most) {
    if (ns > most)
      list.push_back(fmt::format("{}: 1 % of the frames left {} late or later, and {} is allowed: "
                                 "the machine is too slow or too busy",
                                 where, parse::duration_text(ns), parse::duration_text(most)));
  }
  std::vector<std::string> list;
};

// A part of the time in which a QP learns of a mark or a loss. With marks the queue is between low
// and high: lateness that is long beside the drain of `low` bytes leaves the link idle.
uint64_t patience(const Plan &plan) {
  const LinkSpec &link = plan.forward;
  const uint64_t bytes = link.aqm.high  ? (link.aqm.low + link.aqm.high) / 2
                         : link.aqm.low ? link.aqm.low
                                        : link.buffer;
  const double drain = static_cast<double>(bytes) * 8e9 / static_cast<double>(link.rate);
  return std::max(kLeastPatience,
                  static_cast<uint64_t>(kMostLate * (drain + static_cast<double>(plan.path_ns))));
}

} // namespace

std::vector<std::string> why_void(const Plan &plan, const SendReport &sender,
                                  const RespondReport &responder, const WireReport &wire) {
  Reasons reasons;
  reasons.add("senders", sender);
  reasons.add("receivers", responder);
  reasons.add(responder.counts.qps_full, "receivers", "requests found no free connection");
  reasons.add(responder.counts.cnps_no_room, "receivers", "CNPs found no room");
  reasons.add(responder.counts.answers_dropped, "receivers",
              "requests found the queue of answers full");
  if (wire.ports[0].counts)
    reasons.add("wire, towards the senders", *wire.ports[0].counts);
  if (wire.ports[1].counts) {
    reasons.add("wire, towards the receivers", *wire.ports[1].counts);
    reasons.late("wire", wire.ports[1].counts->out.late.quantile(0.99), patience(plan));
  }
  reasons.late("senders", sender.engine.late_ns.quantile(0.99), patience(plan));
  // Acknowledgements and pauses delay flows beyond their schedule. A rate that changes is a
  // schedule that restarts after them.
  const bool paced =
      plan.reliable
          ? std::all_of(plan.flows.begin(), plan.flows.end(),
                        [](const PlannedFlow &flow) { return flow.flow.control.is_dynamic(); })
          : !plan.forward.pfc.on;
  const double behind = static_cast<double>(sender.counts.slipped_ns) / 1e9 /
                        std::max(sender.seconds * static_cast<double>(plan.flows.size()), 1e-9);
  if (paced && behind > (plan.reliable ? kMostSlipOfRates : kMostSlip))
    reasons.list.push_back(fmt::format(
        "senders: {:.1f} % of the schedule was given up: the machine is too slow or too busy",
        behind * 100));
  return std::move(reasons.list);
}

std::string why_late(uint64_t at_ns, uint64_t late_ns) {
  if (late_ns <= kMostChangeLate)
    return {};
  return fmt::format("schedule: the change at {} took effect {} late, and {} is allowed: the "
                     "machine is too slow or too busy",
                     parse::duration_text(at_ns), parse::duration_text(late_ns),
                     parse::duration_text(kMostChangeLate));
}

} // namespace xr::places
