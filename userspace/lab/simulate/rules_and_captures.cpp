// SPDX-License-Identifier: Apache-2.0
// What frames pass on their way to a queue: captures and rules. Only there they get bytes.
#include <algorithm>

#include <fmt/format.h>

#include "base/draw.h"
#include "parse/words.h"
#include "simulate/frame_bytes.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

using At = CaptureSetup::Point;
using Change = RuleChange::Kind;

} // namespace

Status World::build_points() {
  passes_ = passes();
  if (Status s = build_rules(); !s)
    return s;
  return build_captures();
}

Point &World::point_at(uint32_t wire) {
  uint32_t &number = ports_[wire]->point;
  if (number == kNone) {
    number = static_cast<uint32_t>(points_.size());
    points_.emplace_back().wire = wire;
  }
  return points_[number];
}

Status World::build_rules() {
  std::vector<std::vector<impair::Rule>> rules; // by point
  for (const RuleSetup &setup : scenario_.rules.all) {
    const auto wire = XR_TRY(wire_named(setup.link).in(setup.name));
    point_at(wire);
    const uint32_t point = ports_[wire]->point;
    rules.resize(points_.size());
    rule_places_.emplace_back(point, rules[point].size());
    rules[point].push_back(impair::compile(setup.spec));
  }
  for (size_t i = 0; i < rules.size(); i++) {
    if (rules[i].empty())
      continue;
    points_[i].rules = std::make_unique<RulePoint>(std::move(rules[i]));
    if (!points_[i].rules->makes_cnps())
      continue;
    for (const FlowRun &run : flows_) {
      roce_peer peer{};
      const packet::Address from = address_of(run.src, run.setup->flow.path.network);
      std::copy(from.begin(), from.end(), peer.src);
      for (uint32_t qp = run.qp; qp < run.qp + run.setup->flow.qps; qp++) {
        peer.dest_qp = qp;
        points_[i].rules->peer(peer, qp);
      }
    }
  }
  for (size_t i = 0; i < rule_places_.size(); i++)
    if (scenario_.rules.all[i].from_start)
      points_[rule_places_[i].first].rules->add(rule_places_[i].second, 0);
  for (uint32_t i = 0; i < scenario_.rules.changes.size(); i++)
    at(scenario_.rules.changes[i].at_ns, Action::Kind::Rules, i);
  return {};
}

Status World::build_captures() {
  if (scenario_.captures.empty())
    return {};
  const auto shared = bottleneck(scenario_.topology);
  if (!shared)
    return Error{"this topology has no ports to capture at", "a star or a dumbbell"};
  const uint32_t forward = wire_named(*shared).get();
  host_captures_.resize(network_.hosts);
  for (const CaptureSetup &setup : scenario_.captures) {
    auto file = XR_TRY(CaptureFile::create(setup, scenario_.capture_directory));
    CaptureFile *capture = captures_.emplace_back(std::move(file)).get();
    if (setup.port == At::Left || setup.port == At::Right) {
      point_at(setup.port == At::Left ? forward : forward ^ 1).capture = capture;
      continue;
    }
    for (uint32_t i = 0; i < network_.hosts; i++)
      if (network_.nodes[i].starts_with("receiver") == (setup.port == At::Receivers))
        host_captures_[i] = capture;
  }
  return {};
}

void Part::pass(uint32_t wire, wire::Frame &frame) {
  Point &point = points_[ports_[wire]->point];
  frame.arrived = frame.due = now_;
  write_bytes(pool_, frame, bytes_);
  if (point.rules)
    return meet_rules(point, frame);
  point.capture->packet(now_, bytes_);
  go_on(wire, frame);
}

void Part::meet_rules(Point &point, wire::Frame &frame) {
  before_ = bytes_;
  RulePoint &rules = *point.rules;
  const Fate fate = rules.walk(bytes_, now_);
  if (point.capture)
    point.capture->packet(now_, before_, rules.comment(fate));
  if (fate == Fate::Gone)
    return lose(frame);
  if (fate == Fate::BackAsCnp) {
    send_back(point, frame, bytes_);
    return lose(frame);
  }
  take_changes(pool_, frame, before_, bytes_);
  frame.stream = stream_of(pool_[frame.handle]);
  if (fate == Fate::GoOnWithCnp && !rules.cnp().empty())
    send_back(point, frame, rules.cnp());
  if (fate != Fate::Twice)
    return leave_rules(point, frame);
  wire::Frame twin = duplicate(frame);
  leave_rules(point, frame);
  leave_rules(point, twin);
}

void Part::leave_rules(Point &point, wire::Frame &frame) {
  if (point.rules->hold(now_, frame))
    schedule_point(ports_[point.wire]->point);
  else
    go_on(point.wire, frame);
}

// What must keep its order: the packets for a QP.
uint64_t Part::stream_of(const HeldFrame &held) {
  roce_packet packet;
  const bool roce = roce_is_roce(parse_held(held, false, packet));
  return mix(uint64_t{held.destination} << 32 | (roce ? roce_key_qp(&packet.key) : 0));
}

// To the queue of the link, or of a host's link into the switch.
void Part::go_on(uint32_t wire, wire::Frame &frame) {
  const simulate::Port &port = *ports_[wire];
  if (port.from < network_.hosts)
    forward(switches_[port.to - network_.hosts], frame);
  else
    put(wire, frame);
}

// A CNP leaves the switch by the way to its receiver, whose rules it does not meet.
void Part::send_back(const Point &point, const wire::Frame &frame,
                     const std::vector<uint8_t> &bytes) {
  const simulate::Port &port = *ports_[point.wire];
  const uint32_t node = port.from < network_.hosts ? port.to : port.from;
  const uint32_t handle = pool_.take();
  wire::Frame cnp = hold_bytes(pool_, handle, bytes);
  cnp.ingress = frame.ingress;
  HeldFrame &held = pool_[handle];
  held.flow = flow_of_raw(held);
  held.destination = destination_of(bytes.data());
  totals_.made++;
  const uint32_t out = route(switches_[node - network_.hosts], held);
  if (out == kNone)
    return lose(cnp);
  put(out, cnp);
}

wire::Frame Part::duplicate(const wire::Frame &frame) {
  const wire::Frame twin = copy_frame(pool_, pool_.take(), frame);
  const HeldFrame &held = pool_[twin.handle];
  totals_.made++;
  if (held.request) {
    flows_[held.flow].in_flight++;
    flows_[held.flow].counts.copies++;
  }
  return twin;
}

void Part::run_point(uint32_t number) {
  Point &point = points_[number];
  wire::HoldStage &stage = point.rules->stage();
  wire::Frame frame;
  while (stage.take(now_, frame))
    go_on(point.wire, frame);
  schedule_point(number);
}

void Part::schedule_point(uint32_t number) {
  wire::HoldStage &stage = points_[number].rules->stage();
  wire::Frame frame;
  HoldDrop cause{};
  while (stage.take_dropped(frame, cause))
    lose(frame);
  const uint64_t next = stage.next();
  queue_.set(static_cast<uint32_t>(ports_.size()) + network_.hosts + number,
             next == kNever ? next : std::max(next, now_)); // after wires and hosts
}

void World::change_rules(uint32_t number) {
  const RuleChange &change = scenario_.rules.changes[number];
  if (change.kind == Change::Clear) {
    for (const Point &point : points_)
      if (point.rules)
        point.rules->disable_all();
    return;
  }
  const auto &[point, rule] = rule_places_[change.rule];
  RulePoint &rules = *points_[point].rules;
  if (change.kind == Change::Add)
    rules.add(rule, now_);
  else
    rules.enable(rule, change.kind == Change::Enable);
}

void Part::capture_arrival(uint32_t host, const wire::Frame &frame) {
  if (!world_.host_captures_[host])
    return;
  write_bytes(pool_, frame, bytes_);
  world_.host_captures_[host]->packet(now_, bytes_);
}

void Part::capture_pause(uint32_t host, const wire::PfcOut &frame) {
  if (!world_.host_captures_[host])
    return;
  world_.host_captures_[host]->packet(now_, pause_bytes(frame));
}

Status World::close_captures() {
  Status first;
  for (const auto &capture : captures_)
    if (Status s = capture->close(now_); first && !s)
      first = s;
  return first;
}

ExperimentRuleCounts World::rule_counts(size_t rule) const {
  const auto &[point, number] = rule_places_[rule];
  const roce_rule_count &count = points_[point].rules->count(number);
  return {.matched = count.matched,
          .acted = count.acted,
          .matched_bytes = count.matched_bytes,
          .acted_bytes = count.acted_bytes,
          .spared = count.spared,
          .limited = count.limited,
          .not_applicable = count.not_applicable,
          .refused = count.refused};
}

void World::measure_rules(std::vector<ExperimentRule> &rows) const {
  for (size_t i = 0; i < rule_places_.size(); i++) {
    const RuleSetup &setup = scenario_.rules.all[i];
    const ExperimentRuleCounts all = rule_counts(i);
    rows.push_back({i < rules_measured_.size() ? all.since(rules_measured_[i]) : all, setup.name,
                    setup.link, setup.spec.text(), all});
  }
}

} // namespace xr::simulate
