// SPDX-License-Identifier: Apache-2.0
#include "requester/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "parse/value.h"
#include "requester/pattern.h"

namespace xr::requester {
namespace {

using flow::Flow;
using packet::Verb;

constexpr uint64_t kAlign = 8;

Status check_verify(const Flow &flow) {
  if (flow.verb != Verb::Write && flow.verb != Verb::WriteImmediate)
    return Error{
        fmt::format("{} writes no memory that could be read back", packet::verb_name(flow.verb)),
        "write"};
  if (flow.pmtu < 256 || flow.pmtu > 4096 || (flow.pmtu & (flow.pmtu - 1)))
    return Error{fmt::format("READ responses have no PMTU of {}", flow.pmtu),
                 "pmtu 256, 512, 1024, 2048 or 4096"};
  for (const flow::Fault &fault : flow.faults)
    if (fault.kind == flow::Fault::Kind::Repeat || fault.kind == flow::Fault::Kind::Reorder)
      return Error{"a verification has no faults repeat and reorder", "--verify without them"};
  if (flow.stamp || flow.pacing.bursts)
    return Error{flow.stamp ? "a stamp replaces the payload that is verified"
                            : "burst: a verification has no count of bursts",
                 "--verify without it"};
  return {};
}

uint64_t end_of(const Flow &flow) { return flow.va + flow.qps * flow.va_slots * flow.va_stride; }

Status check_overlap(const std::vector<Flow> &flows) {
  for (size_t i = 0; i < flows.size(); i++)
    for (size_t k = 0; k < i; k++)
      if (flows[i].path.dst == flows[k].path.dst && flows[i].rkey == flows[k].rkey &&
          flows[i].va < end_of(flows[k]) && flows[k].va < end_of(flows[i]))
        return Error{fmt::format("flows {} and {} write to the same addresses", k + 1, i + 1),
                     fmt::format("va {:#x} for the second", end_of(flows[k]))};
  return {};
}

} // namespace

Status prepare_verify(std::vector<Flow> &flows, uint64_t memory) {
  for (Flow &flow : flows) {
    if (auto sound = check_verify(flow); !sound)
      return sound;
    flow.va_stride = std::max(kAlign, (flow.size.largest() + kAlign - 1) / kAlign * kAlign);
    const uint64_t least = flow.va_stride * flow.qps;
    if (memory && memory < least)
      return Error{fmt::format("{} of the peer's memory are too few for {} QPs",
                               parse::byte_text(memory), flow.qps),
                   fmt::format("at least {}: one message of each", parse::byte_text(least))};
    flow.va_slots = std::max<uint64_t>(1, memory / least);
    if (flow.messages)
      flow.va_slots = std::min(flow.va_slots, flow.messages);
  }
  return check_overlap(flows);
}

VerifySource::VerifySource(std::vector<Flow> flows, const congestion::Rate &total, double line_bits,
                           const Reliability &reliability)
    : total_(total), line_bits_(line_bits), reliability_(reliability) {
  reliability_.reads = this;
  for (const Flow &given : flows) {
    FlowState &state = flows_.emplace_back(given);
    Flow &flow = state.flow;
    flow.pattern = true;
    state.failed.resize(flow.qps);
    if (!flow.begins.empty())
      continue;
    std::vector<Flow::Begin> begins(flow.first_index + flow.qps);
    for (uint32_t i = 0; i < flow.qps; i++)
      begins[flow.first_index + i] = {flow.dest_qp(i), flow.first_psn(i), 0};
    flow.begins = std::move(begins);
  }
}

void VerifySource::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                           const roce_packet &packet) {
  if (source_)
    source_->receive(now, frame, class_, packet);
}

size_t VerifySource::next(uint64_t now, std::span<packet::Outgoing> out) {
  if (!begun_)
    begun_ = now;
  while (!over_ && (!source_ || source_->done()))
    advance(now);
  return over_ ? 0 : source_->next(now, out);
}

uint64_t VerifySource::wake_at() const {
  if (over_)
    return kNever;
  return !source_ || source_->done() ? 0 : source_->wake_at();
}

// The part of the round has ended: its READs begin, or the next round.
void VerifySource::advance(uint64_t now) {
  if (source_)
    end_part();
  if (source_ && !reads_)
    return begin_part(true);
  if (begin_round(now))
    begin_part(false);
  else
    over_ = true;
}

bool VerifySource::begin_round(uint64_t now) {
  active_.clear();
  for (size_t i = 0; i < flows_.size(); i++) {
    FlowState &state = flows_[i];
    const Flow &flow = state.flow;
    state.written = state.round_end;
    const bool late = flow.duration_ns &&
                      now - *begun_ >= flow.pacing.start_ns + flow.duration_ns && state.written;
    const bool all = flow.messages && state.written >= flow.messages;
    const bool none =
        std::find(state.failed.begin(), state.failed.end(), false) == state.failed.end();
    state.over = state.over || late || all || none;
    if (state.over)
      continue;
    state.round_end = state.written + flow.va_slots;
    if (flow.messages)
      state.round_end = std::min(state.round_end, flow.messages);
    active_.push_back(i);
  }
  return !active_.empty();
}

void VerifySource::begin_part(bool reads) {
  reads_ = reads;
  std::vector<Flow> flows;
  std::vector<FlowFrames *> frames;
  for (const size_t i : active_) {
    FlowState &state = flows_[i];
    for (uint32_t qp = 0; qp < state.flow.qps; qp++)
      state.flow.begins[state.flow.first_index + qp].message =
          state.failed[qp] ? state.round_end : state.written;
    Flow flow = state.flow;
    flow.messages = state.round_end;
    flow.duration_ns = 0;
    flow.verb = reads ? Verb::Read : flow.verb;
    flow.pattern = !reads;
    if (state.written || reads) { // start and ramp are of the whole run
      flow.pacing.start_ns = flow.pacing.ramp_ns = 0;
      flow.faults.clear();
    }
    flows.push_back(std::move(flow));
    frames.push_back(&state.frames);
  }
  source_ =
      std::make_unique<ReliableSource>(std::move(flows), total_, line_bits_, reliability_, frames);
  if (pauses_)
    source_->obey(*pauses_);
}

void VerifySource::end_part() {
  add(before_, source_->counts());
  for (size_t i = 0; i < active_.size(); i++) {
    FlowState &state = flows_[active_[i]];
    for (uint32_t qp = 0; qp < state.flow.qps; qp++) {
      if (state.failed[qp])
        continue;
      if (const auto end = source_->end_of(i, qp))
        state.flow.begins[state.flow.first_index + qp].psn = end->psn;
      else
        state.failed[qp] = true;
      verified_.messages += reads_ && !state.failed[qp] ? state.round_end - state.written : 0;
    }
  }
}

void VerifySource::arrived(const Flow &flow, uint32_t qp_index, uint64_t message, uint64_t offset,
                           std::span<const uint8_t> payload) {
  verified_.bytes += payload.size();
  wanted_.resize(payload.size());
  const uint32_t qp = flow.dest_qp(qp_index);
  Pattern(flow.seed, qp, message).write(offset, wanted_);
  const auto first = std::mismatch(wanted_.begin(), wanted_.end(), payload.begin()).first;
  if (first == wanted_.end())
    return;
  const auto at = static_cast<size_t>(first - wanted_.begin());
  verified_.different_packets++;
  for (size_t i = at; i < payload.size(); i++)
    verified_.different_bytes += payload[i] != wanted_[i];
  verified_.add({.qp = qp,
                 .message = message,
                 .offset = offset + at,
                 .va = flow.va_of(qp_index, message) + offset + at,
                 .written = wanted_[at],
                 .read = payload[at]});
}

const SendCounts &VerifySource::counts() const {
  counts_ = before_;
  if (source_ && !over_)
    add(counts_, source_->counts());
  return counts_;
}

double VerifySource::asked_pps() const { return source_ ? source_->asked_pps() : 0; }

uint64_t VerifySource::expected() const {
  uint64_t all = 0;
  for (const FlowState &state : flows_) {
    if (!state.flow.messages || state.flow.duration_ns)
      return 0;
    all += 2 * state.flow.messages * state.flow.qps;
  }
  return all;
}

uint64_t VerifySource::over() const {
  const SendCounts &now = counts();
  return now.messages + now.failed_messages;
}

void VerifySource::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (source_)
    source_->qp_rates(now, rows);
}

void VerifySource::obey(const packet::Pauses &pauses) {
  pauses_ = &pauses;
  if (source_)
    source_->obey(pauses);
}

} // namespace xr::requester
