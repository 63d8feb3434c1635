// SPDX-License-Identifier: Apache-2.0
#include "station/station.h"

#include <algorithm>

namespace xr::station {

namespace {

responder::ResponderOptions with_counts(responder::ResponderOptions options) {
  options.connection_counts = true;
  return options;
}

} // namespace

Station::Station(const StationOptions &options)
    : options_(options), responder_(with_counts(options.responder)) {
  std::ranges::sort(options_.responder.addresses);
}
Station::~Station() = default;

void Station::set_flows(std::vector<StationFlow> flows) {
  flows_.clear();
  runs_.clear();
  for (StationFlow &flow : flows)
    flows_.push_back({.given = std::move(flow),
                      .state = FlowState::Stopped,
                      .run = nullptr,
                      .index = 0,
                      .begin = {}});
}

void Station::set_paths(std::vector<StationFlow> flows) {
  for (size_t i = 0; i < flows_.size() && i < flows.size(); i++)
    flows_[i].given = std::move(flows[i]);
}

void Station::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                      const roce_packet &packet) {
  if (record_)
    record_->add(now, frame);
  if ((lacp_ && lacp_->receive(now, frame)) || (lldp_ && lldp_->receive(now, frame)))
    return;
  const bool of_flow = plain_ && plain_->receive(now, frame);
  if (class_ == ROCE_CLASS_OTHER && !of_flow)
    receive_neighbour(frame);
  if (class_ == ROCE_CLASS_OTHER && pings_.receive(frame))
    return;
  if (of_flow && packet::parse_echo(frame)) // of a flow between devices: nobody asks
    return;
  if (roce_is_roce(class_) && packet.info & ROCE_OP_RESPONSE)
    answered(now, frame, class_, packet);
  if (!options_.responder.addresses.empty()) // else it would answer for all
    responder_.receive(now, frame, class_, packet);
}

void Station::receive_neighbour(std::span<const uint8_t> frame) {
  if (!neighbours_.receive(frame) && !packet::question_about(options_.responder.addresses, frame))
    return;
  neighbour_frames_.received++;
  neighbour_frames_.received_bytes += frame.size();
}

void Station::count_sent(std::span<const packet::Outgoing> out) {
  for (const packet::Outgoing &each : out)
    if (!each.raw.empty() && packet::parse_neighbour(each.raw)) {
      neighbour_frames_.sent++;
      neighbour_frames_.sent_bytes += each.raw.size();
    }
}

NeighbourFrames Station::neighbour_frames() const {
  NeighbourFrames all = neighbour_frames_;
  if (lacp_) {
    const LacpCounts lacp = lacp_->counts();
    all.sent += lacp.sent;
    all.sent_bytes += lacp.sent_bytes;
    all.received += lacp.received + lacp.errors;
    all.received_bytes += lacp.received_bytes;
  }
  if (lldp_) {
    const LldpCounts lldp = lldp_->counts();
    all.sent += lldp.sent;
    all.sent_bytes += lldp.sent_bytes;
    all.received += lldp.received;
    all.received_bytes += lldp.received_bytes;
  }
  return all;
}

// An answer is for the newest run that has its QP.
void Station::answered(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                       const roce_packet &packet) {
  for (size_t i = runs_.size(); i-- > 0;)
    if (runs_[i]->source->owns(packet)) {
      runs_[i]->source->receive(now, frame, class_, packet);
      return;
    }
  stray_++;
}

size_t Station::take(packet::Source &source, uint64_t now, std::span<packet::Outgoing> out,
                     size_t count) {
  return count < out.size() ? count + source.next(now, out.subspan(count)) : count;
}

// Answers and requests are first in turn.
size_t Station::next(uint64_t now, std::span<packet::Outgoing> out) {
  size_t count = take(neighbours_, now, out, 0);
  count = take(pings_, now, out, count);
  if (answers_first_)
    count = take(responder_, now, out, count);
  count_sent(out.first(count));
  if (lacp_)
    count = take(*lacp_, now, out, count);
  if (lldp_)
    count = take(*lldp_, now, out, count);
  const size_t before = count;
  for (const std::unique_ptr<Run> &run : runs_)
    if (now >= run->at)
      count = take(*run->source, now, out, count);
  if (plain_)
    count = take(*plain_, now, out, count);
  if (count > before && !first_sent_ && now >= start_at_)
    first_sent_ = now;
  const size_t flows = count;
  if (!answers_first_)
    count = take(responder_, now, out, count);
  count_sent(out.subspan(flows, count - flows));
  answers_first_ = !answers_first_;
  return count;
}

uint64_t Station::wake_at() const {
  uint64_t at = std::min({responder_.wake_at(), neighbours_.wake_at(), pings_.wake_at()});
  if (lacp_)
    at = std::min(at, lacp_->wake_at());
  if (lldp_)
    at = std::min(at, lldp_->wake_at());
  for (const std::unique_ptr<Run> &run : runs_)
    at = std::min(at, std::max(run->at, run->source->wake_at()));
  if (plain_)
    at = std::min(at, plain_->wake_at());
  return at;
}

// Takes a flow out of its last run.
void Station::leave(Flow &flow) {
  if (!flow.run)
    return;
  Run &run = *flow.run;
  run.source->abandon(flow.index);
  const auto end = run.source->end_of(flow.index, 0);
  flow.begin = end ? *end : run.source->begin_again(flow.index, 0);
  flow.run = nullptr;
  if (--run.left == 0)
    std::erase_if(runs_, [&](const std::unique_ptr<Run> &each) { return each.get() == &run; });
}

void Station::start(std::span<const size_t> flows, uint64_t at) {
  auto run = std::make_unique<Run>();
  std::vector<flow::Flow> given;
  for (const size_t number : flows) {
    Flow &flow = flows_[number];
    if (flow.state != FlowState::Stopped)
      continue;
    leave(flow);
    flow.state = FlowState::Started;
    flow.run = run.get();
    flow.index = run->flows.size();
    run->flows.push_back(number);
    flow::Flow &made = given.emplace_back(flow.given.flow);
    if (flow.begin)
      made.begins = {*flow.begin};
  }
  if (given.empty())
    return;
  requester::Reliability reliability = flows_[run->flows.front()].given.reliability;
  reliability.flow_counts = true;
  run->at = at;
  run->left = given.size();
  run->source = std::make_unique<requester::ReliableSource>(std::move(given), congestion::Rate{},
                                                            options_.line_bits, reliability);
  if (options_.pauses)
    run->source->obey(*options_.pauses);
  runs_.push_back(std::move(run));
}

void Station::stop(std::span<const size_t> flows) {
  for (const size_t number : flows) {
    Flow &flow = flows_[number];
    if (flow.state == FlowState::Stopped)
      continue;
    flow.state = FlowState::Stopped;
    flow.run->source->close(flow.index);
  }
}

void Station::stop_all() {
  for (size_t i = 0; i < flows_.size(); i++)
    stop(std::span(&i, 1));
}

void Station::pause(std::span<const size_t> flows) {
  for (const size_t number : flows)
    if (Flow &flow = flows_[number]; flow.state == FlowState::Started) {
      flow.state = FlowState::Paused;
      flow.run->source->hold(flow.index, true);
    }
}

void Station::resume(std::span<const size_t> flows) {
  for (const size_t number : flows)
    if (Flow &flow = flows_[number]; flow.state == FlowState::Paused) {
      flow.state = FlowState::Started;
      flow.run->source->hold(flow.index, false);
    }
}

FlowFacts Station::facts(size_t number) const {
  const Flow &flow = flows_[number];
  if (!flow.run)
    return {.state = flow.state, .busy = false, .progress = {}};
  const requester::FlowProgress progress = flow.run->source->progress(flow.index);
  return {.state = flow.state, .busy = progress.busy, .progress = progress};
}

} // namespace xr::station
