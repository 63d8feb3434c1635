// SPDX-License-Identifier: Apache-2.0
#include "requester/open_flow.h"

#include <algorithm>

#include "base/draw.h"
#include "congestion/qp_rates.h"
#include "roce/psn.h"

namespace xr::requester {

namespace {

constexpr size_t kPlans = 64; // for flows with messages of different sizes; a power of two
constexpr uint16_t kFirstPort = 0xc000, kPorts = 0x4000;

// Requests that are acknowledged.
bool may_ask(uint8_t opcode) {
  const uint32_t info = roce_opcode_info[opcode];
  if ((opcode & ROCE_TRANSPORT_MASK) == ROCE_RD)
    return (info & ROCE_HAS_DETH) != 0;
  const uint8_t transport = opcode & ROCE_TRANSPORT_MASK;
  return (info & ROCE_OP_REQUEST) && (transport == ROCE_RC || transport == ROCE_XRC);
}

} // namespace

OpenFlow::Each::Each(const flow::Flow &flow)
    : va(flow.va), messages(flow.messages), dest_qp(flow.dest_qp(0)), own_qp(flow.own_qp(0)),
      immediate(flow.immediate), ack_every(flow.ack_every), ack_req(flow.bth.ack_req),
      solicited(flow.bth.solicited), interleave(flow.interleave), listed(!flow.opcodes.empty()) {}

OpenFlow::OpenFlow(flow::Flow flow, double line_bits, bool headers_only)
    : flow_(std::move(flow)), each_(flow_), frames_(flow_, headers_only),
      priority_(packet::priority_of(flow_.path)), pacer_(flow_.pacing, line_bits, flow_.seed),
      live_qps_(flow_.qps), faults_(flow_.faults, flow_.seed),
      reliable_(is_reliable(flow_.transport)), vary_(flow_.port == flow::PortChoice::Vary),
      faulty_(faults_.any()) {
  if (flow_.control.kind != congestion::Control::Kind::None)
    qp_pacing_.emplace(flow_.qps, flow_.control, line_bits, packet_size(flow_));
  const bool same = flow_.size.kind == flow::Sizes::Kind::List && flow_.size.parts.size() == 1;
  plans_.resize(same ? 1 : kPlans);
  qps_.resize(flow_.qps);
  for (uint32_t i = 0; i < flow_.qps; i++) {
    qps_[i].number = i;
    qps_[i].psn = flow_.first_psn(i);
    qps_[i].port = flow_.source_port(i);
    begin_message(qps_[i]);
  }
}

void OpenFlow::start(uint64_t now) {
  pacer_.start(now);
  if (flow_.duration_ns) {
    end_ = pacer_.due() + flow_.duration_ns;
    pacer_.end_at(end_);
  }
  if (!qp_pacing_)
    return;
  qp_pacing_->start(pacer_.due(), static_cast<uint32_t>(frame_bytes()));
  for (uint32_t i = 0; i < flow_.qps; i++)
    qp_pacing_->wait(i);
}

uint64_t OpenFlow::due() const {
  const uint64_t due = scheduled();
  return pauses_ && due != kNever ? std::max(due, pauses_->until(priority_)) : due;
}

uint64_t OpenFlow::scheduled() const {
  if (!over_ && qp_pacing_ && due_qps_.empty() && waiting_.empty())
    return std::max(pacer_.due(), std::min(qp_pacing_->next_due(), end_));
  if (!over_)
    return pacer_.due();
  return waiting_.empty() ? kNever : 0;
}

OpenFlow::Shape OpenFlow::shape(uint64_t size, uint32_t index) {
  const auto segment = packet::segment(flow_.transport, flow_.verb, size, flow_.pmtu, index);
  const packet::Template *frame = frames_.of(segment.opcode, segment.payload);
  return {frame, frame->size()};
}

void OpenFlow::make_plan(Plan &plan, uint32_t size) {
  plan.size = size;
  plan.packets = packet::packets_of(flow_.verb, size, flow_.pmtu);
  plan.last_psns = plan.packets == 1 ? packet::psns_of(flow_.verb, size, flow_.pmtu) : 1;
  plan.dma_len = packet::dma_length(flow_.verb, size);
  plan.last = shape(size, plan.packets - 1);
  if (plan.packets > 1)
    plan.first = shape(size, 0);
  if (plan.packets > 2)
    plan.middle = shape(size, 1);
}

const OpenFlow::Plan &OpenFlow::plan(uint32_t size) {
  const size_t hash = (size * 0x9e3779b97f4a7c15ULL) >> 32;
  Plan &plan = plans_[hash & (plans_.size() - 1)];
  if (plan.size != size) [[unlikely]]
    make_plan(plan, size);
  return plan;
}

void OpenFlow::begin_message(Qp &qp) {
  qp.index = 0;
  if (plans_.size() == 1)
    qp.size = static_cast<uint32_t>(flow_.size.parts[0].bytes);
  else
    qp.size = static_cast<uint32_t>(flow_.size.of(qp.message, flow_.size_seed(qp.number)));
  qp.packets = listed() ? 1 : plan(qp.size).packets;
}

void OpenFlow::end_message(Qp &qp, SendCounts &counts) {
  counts.messages++;
  counts.message_bytes += qp.size;
  if (++qp.message != each_.messages)
    return begin_message(qp);
  qp.packets = 0;
  finished_ = true;
  live_qps_--;
}

// Finished QPs are removed at the end of a round, so that no QP loses its turn.
void OpenFlow::next_turn() {
  if (qp_pacing_) // choose_qp() decides
    return;
  if (++at_ < qps_.size())
    return;
  at_ = 0;
  if (!finished_)
    return;
  finished_ = false;
  std::erase_if(qps_, [](const Qp &qp) { return qp.packets == 0; });
}

// Sets the fields that depend on the flow and the QP only.
void OpenFlow::fill(packet::Outgoing &out, const Qp &qp) {
  out.damage = packet::Damage::None;
  out.raw = {};
  out.fields.dest_qp = (each_.dest_qp + qp.number) & 0xffffff;
  out.fields.psn = qp.psn;
  out.fields.src_port =
      vary_ ? static_cast<uint16_t>(kFirstPort + (qp.port + varied_++) % kPorts) : qp.port;
  out.fields.solicited = each_.solicited;
  out.fields.src_qp = (each_.own_qp + qp.number) & 0xffffff;
  out.fields.immediate = each_.immediate + static_cast<uint32_t>(qp.message);
  out.fields.aeth = 0;
  out.fields.va = each_.va;
}

bool OpenFlow::asks(Qp &qp, bool last) const {
  bool ask = last;
  if (each_.ack_every && ++qp.since_ack == each_.ack_every) {
    qp.since_ack = 0;
    ask = true;
  }
  return ask;
}

uint32_t OpenFlow::make(packet::Outgoing &out, From &from, SendCounts &counts) {
  Qp &qp = qps_[at_];
  if (listed()) [[unlikely]]
    return make_listed(out, from, counts);
  const Plan &how = plan(qp.size);
  const bool last = qp.index + 1 == how.packets;
  const Shape &shape = last ? how.last : qp.index ? how.middle : how.first;
  from.qp = qp.number;
  fill(out, qp);
  out.shape = shape.frame;
  out.fields.sequence = qp.sequence;
  qp.sequence += shape.frame->stamped();
  out.fields.ack_req = each_.ack_req.value_or(asks(qp, last) && reliable_);
  out.fields.dma_len = how.dma_len;
  const uint32_t bytes = shape.bytes;
  qp.psn = roce_psn_add(qp.psn, last ? how.last_psns : 1);
  qp.index++;
  if (last)
    end_message(qp, counts);
  from.last = qp.packets == 0;
  if (last || each_.interleave)
    next_turn();
  return bytes;
}

// The end is a time of the schedule, so that a late machine still sends everything; an unpaced flow
// ends by the clock.
bool OpenFlow::ends(uint64_t now) const {
  return pacer_.due() >= end_ || (now >= end_ && top()) || !live_qps_;
}

void OpenFlow::end() {
  over_ = true;
  while (!held_.empty())
    release(held_.begin()->first);
}

// Consecutive MIDDLE packets of a single QP differ in PSN and sequence of the stamp only. Makes as
// many as can follow `like`.
size_t OpenFlow::streak(const packet::Outgoing &like, std::span<packet::Outgoing> out,
                        SendCounts &counts) {
  if (qps_.size() != 1 || qp_pacing_ || faulty_ || vary_ || over_ || !pacer_.at_once() ||
      like.fields.ack_req)
    return 0;
  Qp &qp = qps_.front();
  const Plan &how = plan(qp.size);
  if (!qp.index || like.shape != how.middle.frame)
    return 0;
  size_t count = std::min<size_t>(out.size(), how.packets - 1 - qp.index);
  if (flow_.ack_every)
    count = std::min<size_t>(count, flow_.ack_every - 1 - qp.since_ack);
  for (size_t i = 0; i < count; i++) {
    out[i] = like;
    out[i].fields.psn = roce_psn_add(qp.psn, static_cast<uint32_t>(i));
    out[i].fields.sequence = qp.sequence + i;
  }
  const auto made = static_cast<uint32_t>(count);
  qp.psn = roce_psn_add(qp.psn, made);
  qp.sequence += like.shape->stamped() ? made : 0;
  qp.index += made;
  qp.since_ack += flow_.ack_every ? made : 0;
  counts.packets += made;
  sent_ += made;
  counts.bytes += uint64_t{made} * how.middle.bytes;
  return count;
}

size_t OpenFlow::run(uint64_t now, std::span<packet::Outgoing> out, SendCounts &counts) {
  size_t filled = 0;
  for (unsigned idle = 0; filled < out.size() && due() <= now && idle < kMostIdle;)
    if (step(now, out[filled], counts)) {
      filled++;
      filled += streak(out[filled - 1], out.subspan(filled), counts);
    } else {
      idle++;
    }
  return filled;
}

// Sets at_ to a QP that may send now at its own rate. false: none may, or the flow has ended.
bool OpenFlow::choose_qp(uint64_t now) {
  for (uint32_t qp = 0; qp_pacing_->take_due(now, qp);)
    due_qps_.push(qp);
  while (!due_qps_.empty() && qp_pacing_->due(due_qps_.front()) > now) { // a CNP has put it off
    qp_pacing_->wait(due_qps_.front());
    due_qps_.pop();
  }
  // The end is a time of the QP's schedule, so that a late machine still sends everything.
  if (due_qps_.empty() ? now >= end_ : qp_pacing_->due(due_qps_.front()) >= end_)
    end();
  if (due_qps_.empty() || over_)
    return false;
  at_ = due_qps_.front();
  return true;
}

void OpenFlow::qp_sent(uint64_t now, uint32_t bytes, From from) {
  if (!qp_pacing_)
    return;
  const uint32_t index = due_qps_.front();
  due_qps_.pop();
  qp_pacing_->sent(index, now, bytes);
  if (!from.last)
    qp_pacing_->wait(index);
}

void OpenFlow::cnp(uint64_t now, uint32_t qp) {
  if (const uint32_t index = (qp - flow_.own_qp(0)) & 0xffffff; qp_pacing_ && index < flow_.qps)
    qp_pacing_->cnp(index, now);
}

void OpenFlow::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (qp_pacing_)
    congestion::append_qp_rates(*qp_pacing_, flow_.dest_qp(0), now, rows);
}

void OpenFlow::control_values(uint64_t now, congestion::ControlValues &values) {
  if (qp_pacing_)
    congestion::append_values(*qp_pacing_, now, values);
}

uint32_t OpenFlow::step(uint64_t now, packet::Outgoing &out, SendCounts &counts) {
  if (now >= end_ && !over_ && top())
    end();
  // The time of a pause is not made up for.
  const uint64_t resumed = pauses_ ? pauses_->until(priority_) : 0;
  pacer_.not_before(resumed);
  uint64_t due = pacer_.top() ? 0 : pacer_.due();
  if (qp_pacing_ && waiting_.empty() && !over_) {
    if (!choose_qp(now))
      return 0;
    qp_pacing_->not_before(due_qps_.front(), resumed);
    due = std::max(due, qp_pacing_->due(due_qps_.front()));
  }
  uint32_t bytes = 0;
  From from;
  if (faulty_) {
    bytes = make_faulty(now, out, counts);
  } else if (!over_) {
    bytes = make(out, from, counts);
    qp_sent(now, bytes, from);
  }
  if (bytes) {
    out.due = due;
    counts.packets++;
    sent_++;
    counts.bytes += bytes;
  }
  if (over_)
    return bytes;
  if (bytes)
    pacer_.sent(now, bytes);
  if (ends(now)) [[unlikely]]
    end();
  return bytes;
}

// Packets of a flow with listed opcodes: requests, responses, CNPs or reserved opcodes, in turn.
// Each packet is a message and uses one PSN, except CNPs: their PSN is 0 (IBA annex A17.9.3).
uint32_t OpenFlow::make_listed(packet::Outgoing &out, From &from, SendCounts &counts) {
  Qp &qp = qps_[at_];
  const auto segment = flow_.segment(qp.size, 0, qp.message);
  const bool cnp = segment.opcode == ROCE_OPCODE_CNP;
  const bool ends = roce_opcode_info[segment.opcode] & ROCE_OP_ENDS_MESSAGE;
  from.qp = qp.number;
  fill(out, qp);
  out.shape = frames_.of(segment.opcode, segment.payload);
  out.fields.sequence = qp.sequence;
  qp.sequence += out.shape->stamped();
  if (cnp)
    out.fields.psn = 0;
  else
    qp.psn = roce_psn_add(qp.psn, 1);
  const bool ask = !cnp && asks(qp, ends) && may_ask(segment.opcode);
  out.fields.ack_req = flow_.bth.ack_req.value_or(ask);
  out.fields.aeth =
      uint32_t{flow_.syndrome} << 24 | (static_cast<uint32_t>(qp.message) & ROCE_PSN_MASK);
  out.fields.dma_len = qp.size;
  end_message(qp, counts);
  from.last = qp.packets == 0;
  next_turn();
  return out.shape->size();
}

} // namespace xr::requester
