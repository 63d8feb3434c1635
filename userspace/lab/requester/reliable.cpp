// SPDX-License-Identifier: Apache-2.0
#include "requester/reliable.h"

#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "congestion/qp_rates.h"
#include "packet/icrc.h"
#include "requester/reliable_state.h"
#include "roce/cnp.h"

namespace xr::requester {
namespace {

uint64_t timeout_ns(uint8_t code) { return code ? uint64_t{4096} << (code & 31) : 0; }

congestion::Pacing paced(const congestion::Rate &rate) {
  congestion::Pacing pacing;
  pacing.rate = rate;
  return pacing;
}

} // namespace

ReliableFlow::ReliableFlow(const flow::Flow &given, double line_bits,
                           const Reliability &reliability, SendCounts &all, FlowFrames *others)
    : flow(given), priority(packet::priority_of(given.path)),
      own_counts(reliability.flow_counts ? std::make_unique<SendCounts>() : nullptr),
      context{.flow = flow,
              .reliability = reliability,
              .counts = own_counts ? *own_counts : all,
              .losses = losses,
              .posted = posted,
              .answered = is_answered(given.verb),
              .acked = is_reliable(given.transport),
              .timeout_ns = timeout_ns(reliability.timeout_code)},
      pacer(given.pacing, line_bits, given.seed), frames(others), unbegun(given.qps) {
  if (!others)
    frames = &own_frames.emplace(given, reliability.headers_only);
  if (Faults faults(given.faults, given.seed); faults.any())
    faulty = std::make_unique<Faulty>(Faulty{.faults = std::move(faults), .held = {}});
  if (given.control.kind != congestion::Control::Kind::None)
    qp_pacing.emplace(given.qps, given.control, line_bits, packet_size(given));
}

ReliableSource::State::State(std::vector<flow::Flow> given, const congestion::Rate &total,
                             double line_bits, const Reliability &reliability,
                             const std::vector<FlowFrames *> &frames)
    : flows(std::move(given)), reliability_(reliability), index_(SIZE_MAX),
      total_(paced(total), line_bits, 0), notification_point_(reliability.cnp_pacing, 65536) {
  for (const flow::Flow &flow : flows) {
    FlowFrames *others = frames.empty() ? nullptr : frames[states_.size()];
    ReliableFlow &state = states_.emplace_back(flow, line_bits, reliability_, counts, others);
    state.first_qp = static_cast<uint32_t>(qps_.size());
    for (uint32_t i = 0; i < flow.qps; i++) {
      const packet::PeerKey key{flow.path.dst, flow.own_qp(i)};
      if (!index_.find(key))
        index_.insert(key, static_cast<uint32_t>(qps_.size()));
      qps_.emplace_back(i, flow);
      flow_of_.push_back(static_cast<uint32_t>(states_.size() - 1));
    }
  }
  live_flows_ = static_cast<uint32_t>(states_.size());
}

void ReliableSource::State::start(uint64_t now) {
  started_ = true;
  total_.start(now);
  for (ReliableFlow &state : states_) {
    state.pacer.start(now);
    if (state.qp_pacing)
      state.qp_pacing->start(state.pacer.due(), static_cast<uint32_t>(average_frame(state.flow)));
    if (state.flow.duration_ns)
      state.end_at = now + state.flow.pacing.start_ns + state.flow.duration_ns;
    next_end_ = std::min(next_end_, state.end_at);
    for (uint32_t i = 0; i < state.flow.qps; i++) {
      if (state.qp_pacing)
        take_orders(state.first_qp + i);
      settle(state.first_qp + i);
    }
  }
}

void ReliableSource::State::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                                    const roce_packet &packet) {
  const bool whole = packet.end <= frame.size() || (reliability_.headers_only && !packet.cut);
  if (!roce_is_roce(class_) || !whole)
    return;
  if (!(packet.info & ROCE_OP_RESPONSE)) // requests are for the responder on this port
    return;
  const uint32_t *qp = index_.find({packet::source_of(packet), roce_key_qp(&packet.key)});
  if (!qp || !started_) {
    counts.stray++;
    if (started_)
      counts.stray_qps.add(roce_key_qp(&packet.key));
    return;
  }
  if (reliability_.check_icrc &&
      icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet) != Icrc::Good) {
    counts.bad_icrc_received++;
    return;
  }
  now_ = now;
  const ReliableContext &context = states_[flow_of_[*qp]].context;
  if (packet.info & ROCE_OP_CNP) {
    ReliableFlow &state = states_[flow_of_[*qp]];
    state.counts().cnps++;
    if (state.qp_pacing)
      state.qp_pacing->cnp(*qp - state.first_qp, now);
    return;
  }
  if ((packet.opcode & ROCE_TRANSPORT_MASK) != context.flow.transport) {
    counts.stray++;
    return;
  }
  if ((packet.info & ROCE_OP_READ_RESPONSE) && reliability_.cnp)
    notify(now, *qp, packet);
  const uint64_t before = qps_[*qp].acknowledged();
  if (packet.info & ROCE_OP_ACK)
    qps_[*qp].acknowledge(now, packet.syndrome, packet.psn, context);
  else
    answer(now, *qp, frame, packet);
  if (qps_[*qp].acknowledged() != before)
    states_[flow_of_[*qp]].last_acked = now;
  if (states_[flow_of_[*qp]].qp_pacing)
    tell_control(now, *qp, before, frame, packet);
  settle(*qp);
}

// What the packet says to the QP's control; `before`: places acknowledged without it.
void ReliableSource::State::tell_control(uint64_t now, uint32_t index, uint64_t before,
                                         std::span<const uint8_t> frame,
                                         const roce_packet &packet) {
  constexpr uint32_t kBthFlags = 4; // FECN, BECN and reserved bits
  ReliableFlow &state = states_[flow_of_[index]];
  ReliableQp &qp = qps_[index];
  const uint64_t acked_before = std::exchange(qp.acked_reported, qp.acked_bytes(state.flow));
  const congestion::Ack ack{.now_ns = now,
                            .rtt_ns = qp.take_rtt(),
                            .bytes = qp.acked_reported - acked_before,
                            .acked = qp.acked_reported,
                            .sent = qp.sent_bytes(state.flow),
                            .packets = static_cast<uint32_t>(qp.acknowledged() - before),
                            .marked = (frame[packet.bth + kBthFlags] & ROCE_BECN) != 0,
                            .hops = hops_.data(),
                            .hop_count = static_cast<uint32_t>(hops_.size())};
  state.qp_pacing->acked(index - state.first_qp, ack);
  hops_ = {};
  if (packet.info & ROCE_OP_ACK && ROCE_SYNDROME_TYPE(packet.syndrome) == ROCE_NAK &&
      ROCE_SYNDROME_VALUE(packet.syndrome) == 0)
    state.qp_pacing->lost(index - state.first_qp, now, XDP_ROCE_NAK);
  take_orders(index);
}

// Window and path, as the QP's control has them now.
void ReliableSource::State::take_orders(uint32_t index) {
  ReliableFlow &state = states_[flow_of_[index]];
  const uint32_t number = index - state.first_qp;
  qps_[index].limit(state.qp_pacing->window(number));
  qps_[index].take_path(state.qp_pacing->path(number));
}

void ReliableSource::State::answer(uint64_t now, uint32_t index, std::span<const uint8_t> frame,
                                   const roce_packet &packet) {
  const ReliableContext &context = states_[flow_of_[index]].context;
  ReliableQp &qp = qps_[index];
  std::optional<ReliableQp::Answered> where;
  if ((reliability_.reads || context.flow.posted) && packet.info & ROCE_OP_READ_RESPONSE)
    where = qp.answered_by(packet.psn, context);
  const size_t end = packet.end - ROCE_ICRC_LEN - packet.pad;
  const std::span<const uint8_t> payload = frame.subspan(end - packet.payload, packet.payload);
  if (!qp.response(now, packet, context) || !where)
    return;
  if (where->into)
    std::ranges::copy(payload, where->into + where->offset);
  if (reliability_.reads)
    reliability_.reads->arrived(context.flow, qp.index(), where->message, where->offset, payload);
}

std::optional<flow::Flow::Begin> ReliableSource::State::end_of(size_t flow,
                                                               uint32_t qp_index) const {
  const ReliableQp &qp = qps_[states_[flow].first_qp + qp_index];
  if (qp.failed())
    return {};
  return flow::Flow::Begin{flows[flow].dest_qp(qp_index), qp.next_psn(), qp.begun()};
}

// The notification point of READ responses (IBA vol. 1, annex A17.9.3).
void ReliableSource::State::notify(uint64_t now, uint32_t qp, const roce_packet &packet) {
  if (notification_point_.wants_all())
    notification_point_.seen(now, packet);
  if (packet.ecn != ROCE_ECN_CE)
    return;
  SendCounts &own = states_[flow_of_[qp]].counts();
  own.ce++;
  if (notification_point_.answers(now, packet, qp, own.cnps_paced, own.cnps_no_room))
    cnps_.push(qp);
}

flow::Flow::Begin ReliableSource::State::begin_again(size_t flow, uint32_t qp_index) const {
  const ReliableQp &qp = qps_[states_[flow].first_qp + qp_index];
  return {flows[flow].dest_qp(qp_index), qp.oldest_psn(), qp.begun()};
}

void ReliableSource::State::hold(size_t flow, bool held) {
  ReliableFlow &state = states_[flow];
  state.context.held = held;
  if (held || !started_)
    return;
  state.pacer.not_before(now_); // the time until now is not made up for
  for (uint32_t i = 0; i < state.flow.qps; i++)
    settle(state.first_qp + i);
}

void ReliableSource::State::close(size_t flow) { close(states_[flow]); }

void ReliableSource::State::abandon(size_t flow) {
  ReliableFlow &state = states_[flow];
  close(state);
  for (uint32_t i = 0; i < state.flow.qps; i++)
    if (ReliableQp &qp = qps_[state.first_qp + i]; qp.busy()) {
      qp.fail(state.context);
      settle(state.first_qp + i);
    }
}

void ReliableSource::State::post(uint64_t now, size_t flow, const Post &post) {
  now_ = now;
  ReliableFlow &state = states_[flow];
  state.posted.all.push(post);
  if (!started_)
    return;
  if (!state.busy)
    state.pacer.not_before(now); // the time without messages is not made up for
  settle(state.first_qp);
}

FlowProgress ReliableSource::State::progress(size_t flow) const {
  const ReliableFlow &state = states_[flow];
  FlowProgress done{.counts = state.own_counts.get(),
                    .first_sent_ns = state.first_sent,
                    .last_sent_ns = state.last_sent,
                    .last_acked_ns = state.last_acked,
                    .open = state.context.open,
                    .busy = state.busy > 0,
                    .failed_qps = 0,
                    .messages_begun = 0};
  for (uint32_t i = 0; i < state.flow.qps; i++) {
    const ReliableQp &qp = qps_[state.first_qp + i];
    done.failed_qps += qp.failed();
    done.messages_begun += qp.begun() - state.flow.first_message(i);
  }
  return done;
}

bool ReliableSource::State::owns(const roce_packet &packet) const {
  return index_.find({packet::source_of(packet), roce_key_qp(&packet.key)});
}

const SendCounts &ReliableSource::State::sum() {
  counts.slipped_ns = slipped();
  if (!reliability_.flow_counts)
    return counts;
  if (!sum_)
    sum_ = std::make_unique<SendCounts>();
  *sum_ = counts;
  for (const ReliableFlow &state : states_)
    add(*sum_, *state.own_counts);
  return *sum_;
}

// Updates counts, timer and ready queue after an event of a QP.
void ReliableSource::State::settle(uint32_t index) {
  ReliableQp &qp = qps_[index];
  ReliableFlow &state = states_[flow_of_[index]];
  if (qp.busy() != qp.counted_busy) {
    qp.counted_busy = qp.busy();
    if (qp.counted_busy) {
      busy_qps_++;
      state.busy++;
    } else {
      busy_qps_--;
      state.busy--;
    }
  }
  if (!qp.counted_over && (qp.failed() || qp.exhausted(state.flow))) {
    qp.counted_over = true;
    if (--state.unbegun == 0)
      close(state);
  }
  if (const uint64_t timer = qp.timer(state.context); timer < qp.armed) {
    qp.armed = timer;
    timers_.push({timer, index});
  }
  if (!qp.ready && qp.may_send(state.context)) {
    qp.ready = true;
    if (state.qp_pacing)
      state.qp_pacing->resume(index - state.first_qp, now_);
    state.ready.push(index);
    list(state);
  }
}

// Ends the flow: no new messages.
void ReliableSource::State::close(ReliableFlow &state) {
  if (!state.context.open)
    return;
  state.context.open = false;
  live_flows_--;
}

void ReliableSource::State::list(ReliableFlow &state) {
  const uint64_t due = state.due();
  if (state.listed && (state.active || due >= state.listed_until))
    return; // else a QP is due before the flow's listed time
  state.listed = true;
  state.listed_until = due;
  waiting_.push({due, flow_of_[state.first_qp]});
}

// An entry may be too early: it keeps the time of the first arming.
void ReliableSource::State::run_timers(uint64_t now) {
  while (!timers_.empty() && timers_.top().time <= now) {
    const Due due = timers_.top();
    timers_.pop();
    ReliableQp &qp = qps_[due.index];
    if (qp.armed != due.time)
      continue;
    qp.armed = kNever;
    expire(now, due.index);
    settle(due.index);
  }
}

void ReliableSource::State::expire(uint64_t now, uint32_t index) {
  ReliableFlow &state = states_[flow_of_[index]];
  if (qps_[index].timer(state.context) > now)
    return;
  const uint64_t timeouts = state.counts().timeouts;
  qps_[index].expire(now, state.context);
  if (state.counts().timeouts == timeouts || !state.qp_pacing)
    return;
  state.qp_pacing->lost(index - state.first_qp, now, XDP_ROCE_TIMEOUT);
  take_orders(index);
}

void ReliableSource::State::run_ends(uint64_t now) {
  if (now < next_end_)
    return;
  next_end_ = kNever;
  const uint64_t drain = reliability_.drain_ns;
  for (ReliableFlow &state : states_) {
    if (state.end_at == kNever || state.drained)
      continue;
    if (now < state.end_at) {
      next_end_ = std::min(next_end_, state.end_at);
      continue;
    }
    close(state);
    if (drain && now < state.end_at + drain) {
      next_end_ = std::min(next_end_, state.end_at + drain);
      continue;
    }
    state.drained = true;
    for (uint32_t i = 0; drain && i < state.flow.qps; i++)
      if (ReliableQp &qp = qps_[state.first_qp + i]; qp.busy()) {
        qp.fail(state.context);
        settle(state.first_qp + i);
      }
  }
}

uint64_t ReliableSource::State::wake_at() const {
  if (!started_)
    return 0;
  if (done())
    return kNever;
  uint64_t at = std::min(next_end_, notification_point_.wake_at());
  if (!cnps_.empty())
    at = std::min(at, cnps_due());
  if (!timers_.empty())
    at = std::min(at, timers_.top().time);
  if (!active_.empty())
    at = std::min(at, total_.due());
  if (!waiting_.empty())
    at = std::min(at, std::max(waiting_.top().time, total_.due()));
  return at;
}

void ReliableSource::State::obey(const packet::Pauses &pauses) {
  pauses_ = &pauses;
  for (ReliableFlow &state : states_)
    state.pauses = &pauses;
}

// A pause began or ended. Entries of waiting_ that are too early are harmless.
void ReliableSource::State::list_anew() {
  pauses_seen_ = pauses_->changes();
  for (ReliableFlow &state : states_)
    if (state.listed)
      list(state);
}

void ReliableSource::State::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (!started_)
    return;
  for (ReliableFlow &state : states_)
    if (state.qp_pacing) {
      const size_t first = rows.size();
      congestion::append_qp_rates(*state.qp_pacing, state.flow.dest_qp(0), now, rows);
      for (size_t i = first; i < rows.size(); i++) // RDMA CM may connect QPs in any order
        rows[i].qp = state.flow.dest_qp(static_cast<uint32_t>(i - first));
    }
}

void ReliableSource::State::control_values(uint64_t now, congestion::ControlValues &values) {
  for (ReliableFlow &state : states_)
    if (started_ && state.qp_pacing)
      congestion::append_values(*state.qp_pacing, now, values);
}

void ReliableSource::State::flow_losses(std::vector<FlowLosses> &rows) const {
  for (const ReliableFlow &state : states_)
    if (const FlowLosses &l = state.losses; l.sent || l.naks || l.timeouts || l.failed_messages) {
      rows.push_back(l);
      rows.back().qp = state.flow.dest_qp(0);
    }
}

ReliableSource::ReliableSource(std::vector<flow::Flow> flows, const congestion::Rate &total,
                               double line_bits, const Reliability &reliability,
                               const std::vector<FlowFrames *> &frames)
    : state_(std::make_unique<State>(std::move(flows), total, line_bits, reliability, frames)) {}
ReliableSource::~ReliableSource() = default;

void ReliableSource::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                             const roce_packet &packet) {
  state_->receive(now, frame, class_, packet);
}

size_t ReliableSource::next(uint64_t now, std::span<packet::Outgoing> out) {
  return state_->next(now, out);
}

uint64_t ReliableSource::wake_at() const { return state_->wake_at(); }
bool ReliableSource::done() const { return state_->done(); }
void ReliableSource::echo(std::span<const xdp_roce_hop> hops) { state_->echo(hops); }
const SendCounts &ReliableSource::counts() const { return state_->sum(); }
void ReliableSource::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  state_->qp_rates(now, rows);
}
void ReliableSource::control_values(uint64_t now, congestion::ControlValues &values) {
  state_->control_values(now, values);
}
void ReliableSource::flow_losses(std::vector<FlowLosses> &rows) const { state_->flow_losses(rows); }
void ReliableSource::obey(const packet::Pauses &pauses) { state_->obey(pauses); }
void ReliableSource::prefetch(unsigned step) const {
  if (step == 0)
    state_->prefetch_own();
  else
    state_->prefetch(step);
}
std::optional<flow::Flow::Begin> ReliableSource::end_of(size_t flow, uint32_t qp_index) const {
  return state_->end_of(flow, qp_index);
}
flow::Flow::Begin ReliableSource::begin_again(size_t flow, uint32_t qp_index) const {
  return state_->begin_again(flow, qp_index);
}
void ReliableSource::hold(size_t flow, bool held) { state_->hold(flow, held); }
void ReliableSource::close(size_t flow) { state_->close(flow); }
void ReliableSource::abandon(size_t flow) { state_->abandon(flow); }
void ReliableSource::post(uint64_t now, size_t flow, const Post &post) {
  state_->post(now, flow, post);
}
void ReliableSource::post(uint64_t now, size_t flow, uint64_t bytes) {
  const flow::Flow &given = state_->flows[flow];
  state_->post(now, flow, {.verb = given.verb, .bytes = bytes, .va = given.va, .rkey = given.rkey});
}
FlowProgress ReliableSource::progress(size_t flow) const { return state_->progress(flow); }
bool ReliableSource::owns(const roce_packet &packet) const { return state_->owns(packet); }
double ReliableSource::asked_pps() const { return state_->asked_pps(); }

uint64_t ReliableSource::over() const {
  const SendCounts &all = state_->sum();
  return all.messages + all.failed_messages;
}

uint64_t ReliableSource::expected() const {
  uint64_t all = 0;
  for (const flow::Flow &flow : state_->flows) {
    if (!flow.messages || flow.duration_ns || flow.pacing.bursts)
      return 0;
    all += flow.messages * flow.qps;
  }
  return all;
}

} // namespace xr::requester
