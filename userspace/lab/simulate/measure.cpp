// SPDX-License-Identifier: Apache-2.0
// Samples while it runs, and what is reported at the end.
#include <algorithm>

#include <fmt/format.h>

#include "base/fairness.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

using SampleKind = ExperimentSample::Kind;

Port::Mark mark_of(const Port &port) {
  const LinkClassCounts all = port.link.totals().total();
  Port::Mark mark;
  mark.frames = all.frames_out;
  mark.marks = all.marks;
  mark.drops = all.dropped();
  mark.xoffs = all.xoff_received;
  mark.paused_ns = all.paused_ns;
  mark.busy_ns = port.busy_ns();
  mark.opportunities = port.link.totals().opportunities;
  mark.wasted_bytes = port.link.totals().wasted_bytes;
  return mark;
}

double per_second(uint64_t bytes, uint64_t ns) {
  return ns ? static_cast<double>(bytes) * 8e9 / static_cast<double>(ns) : 0;
}

} // namespace

std::vector<ExperimentFlow::Rtt> rtt_of(const requester::Requester &source) {
  std::vector<ExperimentFlow::Rtt> all;
  const Histogram &rtt = source.counts().rtt_ns;
  if (rtt.count())
    rtt.each([&](uint64_t, uint64_t highest, uint64_t count) {
      all.push_back({std::min(highest, rtt.max()), count});
    });
  return all;
}

// Counts the frames with payload. The frame that was on the line when the time began counts whole,
// so the line's rate is the limit.
double World::wire_rate(const FlowRun &run, uint64_t bytes, uint64_t ns) const {
  const uint64_t line = most_rate(hosts_[run.reads ? run.src : run.dst]);
  const double rate = per_second(bytes, ns);
  return line ? std::min(rate, static_cast<double>(line)) : rate;
}

void World::begin_measure() {
  measured_at_ = now_;
  if (fluid_)
    count_fluid();
  for (FlowRun &run : flows_) {
    part_at_now(hosts_[run.src].part).keep_counts(run);
    run.measured = run.counts;
  }
  rules_measured_.clear();
  for (size_t i = 0; i < rule_places_.size(); i++)
    rules_measured_.push_back(rule_counts(i));
  for (const auto &port : ports_) {
    port->link.update(now_);
    port->measured = mark_of(*port);
    port->link.reset_backlog_sizes();
  }
}

void World::add(SampleKind kind, uint32_t row, const char *column, double value) {
  samples_.push_back({now_, kind, row, column, value});
}

void World::sample() {
  if (fluid_)
    count_fluid();
  constexpr size_t kAhead = 8; // flows, whose counts are no longer in the cache
  const bool with_flows = ++samples_taken_ % scenario_.flow_sample_every == 0;
  std::vector<double> rates;
  for (uint32_t i = 0; i < flows_.size(); i++) {
    FlowRun &run = flows_[i];
    if (i + kAhead < flows_.size())
      __builtin_prefetch(&flows_[i + kAhead].counts);
    if (run.source && run.reads)
      run.counts.bytes = run.source->counts().answer_bytes;
    if (with_flows)
      sample_flow(i);
    if (run.counts.bytes != run.summed_bytes)
      rates.push_back(static_cast<double>(run.counts.bytes - run.summed_bytes));
    run.summed_bytes = run.counts.bytes;
  }
  if (with_flows)
    flows_sampled_at_ = now_;
  for (uint32_t i = 0; i < queue_wires_.size(); i++)
    sample_queue(i);
  if (const auto jain = jain_index(rates))
    add(SampleKind::Total, 0, "jain", *jain);
}

// A flow has rows while it runs, while its frames still arrive, and after it was stopped.
void World::sample_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  const uint64_t bytes = run.counts.bytes, wire = run.counts.wire_bytes;
  if (!run.source && !run.stopped && wire == run.sampled_wire)
    return;
  const uint64_t time = now_ - flows_sampled_at_;
  add(SampleKind::Flow, number, "goodput_bps", per_second(bytes - run.sampled_bytes, time));
  add(SampleKind::Flow, number, "wire_bps", wire_rate(run, wire - run.sampled_wire, time));
  run.sampled_bytes = bytes;
  run.sampled_wire = wire;
  if (!run.source)
    return;
  rates_.clear();
  run.source->qp_rates(now_, rates_);
  const uint64_t cnps = run.source->counts().cnps;
  if (!rates_.empty() || cnps != run.sampled_cnps)
    add(SampleKind::Flow, number, "cnps", static_cast<double>(cnps - run.sampled_cnps));
  run.sampled_cnps = cnps;
  if (rates_.empty())
    return;
  QpRate all;
  for (const QpRate &qp_rate : rates_) {
    all.rate += qp_rate.rate;
    all.target += qp_rate.target;
    all.alpha += qp_rate.alpha / static_cast<double>(rates_.size());
  }
  add(SampleKind::Flow, number, "control_bps", all.rate);
  add(SampleKind::Flow, number, "target_bps", all.target);
  add(SampleKind::Flow, number, "alpha", all.alpha);
  values_.clear();
  run.source->control_values(now_, values_);
  for (const auto &[name, value] : values_)
    add(SampleKind::Flow, number, name, value);
}

// Ports of hosts have rows only where PFC has paused them: nothing else queues there.
void World::sample_queue(uint32_t row) {
  Port &port = *ports_[queue_wires_[row]];
  port.link.update(now_);
  const Port::Mark mark = mark_of(port), before = port.sampled;
  port.sampled = mark;
  const auto since = [](uint64_t value, uint64_t old) { return static_cast<double>(value - old); };
  if (port.from >= network_.hosts) {
    add(SampleKind::Queue, row, "backlog_bytes", static_cast<double>(port.link.backlog_bytes()));
    add(SampleKind::Queue, row, "marked", since(mark.marks, before.marks));
    add(SampleKind::Queue, row, "dropped", since(mark.drops, before.drops));
  } else if (mark.paused_ns == before.paused_ns) {
    return;
  }
  add(SampleKind::Queue, row, "paused_ns", since(mark.paused_ns, before.paused_ns));
}

// What a fluid does not have was not measured.
void World::measure_fluid(ExperimentMeasurement &measured) {
  count_fluid();
  measured.unmeasured = {"packets",      "marked",  "cnps",       "cuts", "retransmitted",
                         "timeouts",     "drops",   "failed",     "naks", "acks",
                         "kept_no_room", "arrived", "packet_hops"};
}

ExperimentFlow World::flow_row(FlowRun &run, uint32_t number) {
  part_at_now(hosts_[run.src].part).keep_counts(run);
  ExperimentFlow row{run.counts.since(run.measured)};
  row.whole = run.counts;
  row.rtt = run.source ? rtt_of(*run.source) : run.rtt;
  row.name = run.setup->name;
  row.src = run.setup->src;
  row.dst = run.setup->dst;
  row.qp = run.qp;
  const uint64_t from = measured_at_ == kNever ? 0 : measured_at_;
  // Frames of a flow that was stopped still arrive.
  const uint64_t began = std::max(from, run.start_ns),
                 ended = std::max(std::min(now_, run.ended_ns), run.arrived_ns);
  if (ended > began) {
    row.goodput_bps = per_second(row.bytes, ended - began);
    row.wire_bps = wire_rate(run, run.counts.wire_bytes - run.measured.wire_bytes, ended - began);
    row.ran_from_ns = began;
    row.ran_to_ns = ended;
  }
  row.start_ns = run.start_ns;
  row.end_ns = run.end_ns;
  if (run.end_ns) {
    row.fct_ns = *run.end_ns - run.start_ns;
    if (const auto ideal = ideal_ns(number); ideal && *ideal)
      row.slowdown = static_cast<double>(*row.fct_ns) / static_cast<double>(*ideal);
  }
  return row;
}

ExperimentQueue World::queue_row(uint32_t number) {
  Port &port = *ports_[queue_wires_[number]];
  port.link.update(now_);
  const Port::Mark mark = mark_of(port);
  ExperimentQueue row;
  row.name = queue_names[number];
  row.backlog_bytes = port.link.backlog_sizes();
  row.packets = mark.frames - port.measured.frames;
  row.marked = mark.marks - port.measured.marks;
  row.dropped = mark.drops - port.measured.drops;
  row.pauses = mark.xoffs - port.measured.xoffs;
  row.paused_ns = mark.paused_ns - port.measured.paused_ns;
  const uint64_t from = measured_at_ == kNever ? 0 : measured_at_;
  const uint64_t offered =
      (mark.opportunities - port.measured.opportunities) * wire::kOpportunityBytes;
  if (offered) // by a trace
    row.utilisation = 1 - static_cast<double>(mark.wasted_bytes - port.measured.wasted_bytes) /
                              static_cast<double>(offered);
  else if (now_ > from)
    row.utilisation = static_cast<double>(mark.busy_ns - port.measured.busy_ns) /
                      static_cast<double>(now_ - from);
  return row;
}

// A flow that had half of the run, and whose packets are still on their way, shows nothing.
std::vector<std::string> World::silent_flows() const {
  std::vector<std::string> names;
  for (const FlowRun &run : flows_) {
    const FlowRun::Counts &counts = run.counts;
    if (counts.packets && !counts.arrived && !counts.drops && run.start_ns <= now_ / 2)
      names.push_back(run.setup->name);
  }
  return names;
}

// Each host that receives a flow: all its links.
double World::links_of_receivers() const {
  std::vector<bool> receives(network_.hosts);
  for (const FlowRun &run : flows_)
    receives[run.reads ? run.src : run.dst] = true;
  double rates = 0;
  for (const Wire &wire : network_.wires)
    if (wire.to < network_.hosts && receives[wire.to])
      rates += static_cast<double>(wire.rate);
  return rates;
}

ExperimentMeasurement World::measure() {
  ExperimentMeasurement measured;
  (void)totals();
  if (fluid_)
    measure_fluid(measured);
  std::vector<double> rates;
  for (uint32_t i = 0; i < flows_.size(); i++) {
    measured.flows.push_back(flow_row(flows_[i], i));
    if (flows_[i].posted && flows_[i].posted->control)
      continue;
    if (flows_[i].start_ns < now_ &&
        flows_[i].ended_ns > (measured_at_ == kNever ? 0 : measured_at_))
      rates.push_back(measured.flows.back().goodput_bps);
  }
  measured.silent_flows = silent_flows();
  for (uint32_t i = 0; i < queue_wires_.size(); i++)
    measured.queues.push_back(queue_row(i));
  measure_rules(measured.rules);
  measure_jobs(measured.jobs);
  measured.jain = jain_index(rates);
  measured.links_bps = links_of_receivers();
  measure_paths(measured);
  measured.packets = totals_.sent;
  measured.packet_hops = totals_.hops;
  measured.duration_ns = now_;
  measured.from_ns = measured_at_ == kNever ? 0 : measured_at_;
  for (size_t i = 0; i < hosts_.size(); i++) {
    if (!hosts_[i].responder)
      continue;
    const RespondCounts &counts = hosts_[i].responder->counts();
    const auto note = [&](uint64_t count, const char *what) {
      if (count)
        measured.why_void.push_back(fmt::format("{}: {} {}", network_.nodes[i], count, what));
    };
    note(counts.qps_full, "requests found no free connection");
    note(counts.cnps_no_room, "CNPs found no room");
    note(counts.answers_dropped, "requests found the queue of answers full");
  }
  return measured;
}

} // namespace xr::simulate
