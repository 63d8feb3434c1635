// SPDX-License-Identifier: Apache-2.0
#include "station/queue_pairs.h"

#include <algorithm>
#include <bit>

#include "base/draw.h"
#include "packet/cm.h"

namespace xr::station {

namespace {

constexpr uint32_t kFirstQp = 0x100, kLastQp = 0xfffffe;

responder::ResponderOptions heard(responder::ResponderOptions options,
                                  responder::Receiver *receiver) {
  options.receiver = receiver;
  options.open_only = true;
  return options;
}

// What the responder has for these ends. UD is not connected.
std::vector<responder::Connected> connected_of(const QpEnds &ends) {
  std::vector<responder::Connected> all;
  for (const uint8_t transport : {ROCE_RC, ROCE_UC})
    if (ends.transport.value_or(transport) == transport)
      all.push_back({.peer = ends.path.dst,
                     .own_qp = ends.qp,
                     .peer_qp = ends.peer_qp,
                     .psn = ends.peer_psn,
                     .pmtu = ends.pmtu,
                     .transport = transport,
                     .own_id = ends.own_id,
                     .peer_id = ends.peer_id});
  return all;
}

// nullptr: its QP is closed.
auto *slot_of(auto &slots, uint32_t qp) {
  const auto found = slots.find(qp);
  return found == slots.end() ? nullptr : &found->second;
}

} // namespace

QueuePairs::QueuePairs(const QueuePairOptions &options)
    : options_(options), responder_(heard(options.responder, this)),
      answer_faults_(options.answer_faults, draw(options.seed, 0)),
      next_qp_(kFirstQp + draw(options.seed, 1) % 0x10000) {
  options_.reliability.completions = this;
  options_.reliability.flow_counts = false;
}
QueuePairs::~QueuePairs() = default;

uint32_t QueuePairs::new_qp() {
  do
    next_qp_ = next_qp_ >= kLastQp ? kFirstQp : next_qp_ + 1;
  while (slots_.contains(next_qp_));
  return next_qp_;
}

uint32_t QueuePairs::random_psn() {
  return static_cast<uint32_t>(draw(options_.seed, 2 + draws_++)) & ROCE_PSN_MASK;
}

flow::Flow QueuePairs::flow_of(const QpEnds &ends) const {
  flow::Flow flow;
  flow.path = ends.path;
  flow.path.tos = ROCE_ECN_ECT0;
  flow.transport = *ends.transport;
  flow.verb = packet::Verb::Send;
  flow.qp = ends.peer_qp;
  flow.src_qp = ends.qp;
  flow.psn = ends.psn;
  flow.pmtu = ends.pmtu;
  flow.rkey = ends.rkey;
  flow.posted = true;
  flow.seed = draw(options_.seed, ends.qp);
  flow.faults = options_.faults;
  return flow;
}

void QueuePairs::open(const std::vector<QpEnds> &all) {
  std::vector<Slot *> known;
  for (const QpEnds &ends : all) {
    Slot &slot = slots_[ends.qp];
    slot.ends = ends;
    slot.receives = options_.receives;
    if (ends.transport)
      known.push_back(&slot);
    for (const responder::Connected &each : connected_of(ends))
      responder_.open(each);
  }
  begin(std::move(known));
}

void QueuePairs::use_transport(uint8_t transport) {
  std::vector<Slot *> known;
  for (auto &[qp, slot] : slots_)
    if (!slot.ends.transport) {
      slot.ends.transport = transport;
      known.push_back(&slot);
    }
  begin(std::move(known));
}

// Their requester.
void QueuePairs::begin(std::vector<Slot *> slots) {
  if (slots.empty())
    return;
  std::vector<flow::Flow> flows;
  Group &group = *groups_.emplace_back(std::make_unique<Group>());
  for (Slot *slot : slots) {
    slot->group = &group;
    slot->index = flows.size();
    flows.push_back(flow_of(slot->ends));
  }
  group.open = flows.size();
  group.source = std::make_unique<requester::ReliableSource>(
      std::move(flows), congestion::Rate{}, options_.line_bits, options_.reliability);
  if (options_.pauses)
    group.source->obey(*options_.pauses);
}

void QueuePairs::close(uint32_t qp) {
  const auto found = slots_.find(qp);
  if (found == slots_.end())
    return;
  Slot &slot = found->second;
  QpEnds ends = std::move(slot.ends);
  Group *group = slot.group;
  const size_t index = slot.index;
  slots_.erase(found);
  if (group)
    group->source->abandon(index);
  ends.transport.reset();
  for (const responder::Connected &each : connected_of(ends))
    responder_.close(each);
  if (!group || --group->open)
    return;
  requester::add(closed_, group->source->counts());
  std::erase_if(groups_, [&](const auto &each) { return each.get() == group; });
}

void QueuePairs::close_all() {
  while (!slots_.empty())
    close(slots_.begin()->first);
  connecting_.clear();
  leaving_.clear();
  events_.clear();
}

void QueuePairs::receives(uint32_t qp, uint64_t count) {
  if (Slot *slot = slot_of(slots_, qp))
    slot->receives = count;
}

void QueuePairs::keep(uint32_t qp, size_t bytes) {
  if (Slot *slot = slot_of(slots_, qp))
    slot->keep = bytes;
}

void QueuePairs::set_rkey(uint32_t qp, uint32_t rkey) {
  if (Slot *slot = slot_of(slots_, qp))
    slot->ends.rkey = rkey;
}

uint64_t QueuePairs::outstanding(uint32_t qp) const {
  const Slot *slot = slot_of(slots_, qp);
  return slot ? slot->outstanding : 0;
}

const QpEnds &QueuePairs::ends(uint32_t qp) const {
  static const QpEnds kNone;
  const Slot *slot = slot_of(slots_, qp);
  return slot ? slot->ends : kNone;
}

void QueuePairs::post(uint64_t now, uint32_t qp, const requester::Post &post) {
  Slot *slot = slot_of(slots_, qp);
  if (!slot)
    return;
  slot->outstanding++;
  requester::Post made = post;
  if (!made.rkey)
    made.rkey = slot->ends.rkey;
  if (options_.rkey)
    made.rkey = *options_.rkey;
  slot->group->source->post(now, slot->index, made);
}

Reaction QueuePairs::reaction() const {
  Reaction reaction = reaction_;
  reaction.faults = answer_faults_.done();
  reaction.first_fault_ns = answer_faults_.first_ns();
  return reaction;
}

void QueuePairs::forget_counts() {
  closed_ = {};
  reaction_ = {};
  answer_faults_.restart();
}

// A request that begins at a PSN that one before it had.
void QueuePairs::watch(uint64_t now, const roce_packet &packet) {
  Slot *slot = slot_of(slots_, roce_key_qp(&packet.key));
  if (!slot)
    return;
  std::optional<uint32_t> &newest = slot->newest;
  reaction_.last_request_ns = now;
  if (newest && roce_psn_diff(packet.psn, *newest) <= 0) {
    reaction_.rounds++;
    if (!reaction_.first_again_ns && (!answer_faults_.any() || answer_faults_.first_ns()))
      reaction_.first_again_ns = now;
    reaction_.last_again_ns = now;
  }
  const uint32_t answers = packet.info & ROCE_OP_READ_REQUEST && packet.dma_len
                               ? (packet.dma_len - 1) / slot->ends.pmtu
                               : 0;
  newest = roce_psn_add(packet.psn, answers);
}

SendCounts QueuePairs::sent() const {
  SendCounts all = closed_;
  for (const auto &group : groups_)
    requester::add(all, group->source->counts());
  return all;
}

// RDMA CM from here.

void QueuePairs::connect(uint64_t now, const std::vector<QpEnds> &all, uint64_t service) {
  std::vector<requester::CmEnd> ends;
  ends.reserve(all.size());
  for (const QpEnds &each : all)
    ends.push_back({.local = each.path.src,
                    .remote = each.path.dst,
                    .qpn = each.qp,
                    .pmtu_code = static_cast<uint8_t>(std::countr_zero(each.pmtu) - 7),
                    .transport = static_cast<uint8_t>(each.transport == ROCE_UC)});
  Connecting &made = connecting_.emplace_back();
  made.ends = all;
  made.connector = std::make_unique<requester::CmConnector>(
      std::move(ends),
      requester::CmOptions{.service_id = service, .seed = draw(options_.seed, 2 + draws_++)});
  made.connector->start(now);
}

void QueuePairs::disconnect(uint64_t now) {
  for (Connecting &each : connecting_)
    each.connector->disconnect(now);
  for (const auto &[qp, slot] : slots_) {
    if (!slot.ends.own_id)
      continue;
    Leaving &leaving = leaving_.emplace_back();
    leaving.path = slot.ends.path;
    leaving.message.kind = packet::CmKind::Dreq;
    leaving.message.transaction = draw(options_.seed, 2 + draws_++);
    leaving.message.local_id = slot.ends.own_id;
    leaving.message.remote_id = slot.ends.peer_id;
    leaving.message.qpn = slot.ends.peer_qp;
    leaving.due = now;
  }
}

bool QueuePairs::write_mad(packet::Path path, const packet::CmMessage &message,
                           packet::Outgoing &out) {
  path.src_port = 0xc000 | ROCE_QPN_GSI;
  auto frame = packet::cm_frame(path, message, mad_psn_++ & ROCE_PSN_MASK);
  if (!frame)
    return false;
  sent_mads_.push_back(std::move(frame->bytes));
  out = {.shape = nullptr, .fields = {}, .raw = sent_mads_.back()};
  return true;
}

// Again until they are answered.
size_t QueuePairs::send_dreqs(uint64_t now, std::span<packet::Outgoing> out, size_t count) {
  constexpr uint64_t kAgain = 200'000'000;
  constexpr unsigned kTries = 5;
  for (Leaving &each : leaving_)
    if (each.due <= now && count < out.size()) {
      each.due = ++each.tries < kTries ? now + kAgain : kNever;
      count += write_mad(each.path, each.message, out[count]);
    }
  std::erase_if(leaving_, [](const Leaving &each) { return each.due == kNever; });
  return count;
}

bool QueuePairs::disconnected() const {
  return leaving_.empty() && std::ranges::all_of(connecting_, [](const Connecting &each) {
           return each.connector->all_ended() && each.connector->wake_at() == kNever;
         });
}

void QueuePairs::advance_connectors(uint64_t now) {
  for (Connecting &each : connecting_) {
    if (each.settled || !each.connector->settled())
      continue;
    each.settled = true;
    const auto &counts = each.connector->counts();
    const bool all = counts.established == counts.requested;
    for (size_t i = 0; all && i < each.ends.size(); i++) {
      const requester::CmPeer &peer = each.connector->peer(i);
      each.ends[i].peer_qp = peer.qpn;
      each.ends[i].psn = peer.psn;
      each.ends[i].peer_psn = each.connector->own_psn(i);
    }
    if (all)
      open(each.ends);
    for (const QpEnds &ends : each.ends)
      tell(all ? QpEvent::Kind::Opened : QpEvent::Kind::Refused, ends.qp);
  }
  handle_events(now);
}

size_t QueuePairs::send_mads(uint64_t now, std::span<packet::Outgoing> out) {
  sent_mads_.clear();
  size_t count = 0;
  for (Connecting &each : connecting_)
    while (count < out.size()) {
      const auto mad = each.connector->next(now);
      if (!mad)
        break;
      count += write_mad(each.ends[mad->index].path, mad->message, out[count]);
    }
  return send_dreqs(now, out, count);
}

// RDMA CM from the peer, and what comes over the QPs.

bool QueuePairs::take_receive(uint32_t qp) {
  Slot *slot = slot_of(slots_, qp);
  if (!slot || !slot->receives)
    return false;
  if (slot->receives != kUnlimited)
    slot->receives--;
  return true;
}

void QueuePairs::payload(uint32_t qp, uint64_t offset, std::span<const uint8_t> bytes) {
  Slot *slot = slot_of(slots_, qp);
  if (!slot || offset >= slot->keep)
    return;
  const size_t count = std::min<size_t>(bytes.size(), slot->keep - offset);
  slot->bytes.resize(offset + count);
  std::copy_n(bytes.begin(), count, slot->bytes.begin() + static_cast<ptrdiff_t>(offset));
}

void QueuePairs::arrived(const responder::Arrived &message) {
  events_.push({{.kind = QpEvent::Kind::Arrived, .qp = message.qp, .message = message}, {}});
}

responder::Receiver::Answer QueuePairs::requested(const packet::CmMessage &request) {
  Answer answer = program_->requested(request);
  answer.qp = new_qp();
  return answer;
}

void QueuePairs::connected(const responder::Connected &connected, const packet::CmMessage &request,
                           const packet::Path &back) {
  QpEnds ends{.path = back,
              .transport = connected.transport,
              .qp = connected.own_qp,
              .peer_qp = connected.peer_qp,
              .psn = request.psn,
              .peer_psn = connected.psn,
              .pmtu = connected.pmtu,
              .own_id = connected.own_id,
              .peer_id = connected.peer_id};
  events_.push({{.kind = QpEvent::Kind::Connected, .qp = ends.qp}, std::make_unique<QpEnds>(ends)});
}

void QueuePairs::disconnected(uint32_t own_qp) { tell(QpEvent::Kind::Disconnected, own_qp); }

void QueuePairs::completed(const flow::Flow &flow) {
  Slot *slot = slot_of(slots_, *flow.src_qp);
  if (!slot)
    return;
  slot->outstanding--;
  tell(QpEvent::Kind::Sent, *flow.src_qp);
}

void QueuePairs::failed(const flow::Flow &flow, uint8_t syndrome) {
  Slot *slot = slot_of(slots_, *flow.src_qp);
  if (!slot)
    return;
  slot->outstanding = 0;
  tell(QpEvent::Kind::Failed, *flow.src_qp, syndrome);
}

void QueuePairs::tell(QpEvent::Kind kind, uint32_t qp, uint8_t syndrome) {
  events_.push({{.kind = kind, .qp = qp, .syndrome = syndrome}, {}});
}

// Events of QPs that are closed meanwhile are dropped.
void QueuePairs::handle_events(uint64_t now) {
  while (!events_.empty()) {
    Event event = std::move(events_.front());
    events_.pop();
    QpEvent &told = event.event;
    if (told.kind == QpEvent::Kind::Connected)
      open({*event.ends});
    const Slot *slot = slot_of(slots_, told.qp);
    if (!slot && told.kind != QpEvent::Kind::Refused)
      continue;
    if (told.kind == QpEvent::Kind::Arrived)
      told.bytes = slot->bytes;
    program_->event(now, told);
  }
}

// True: it is about a connection that was made from here.
bool QueuePairs::take_mad(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet) {
  const auto message = packet::parse_cm_mad(
      frame.subspan(packet.bth + ROCE_BTH_LEN + ROCE_DETH_LEN, packet.payload));
  if (!message)
    return false;
  if (message->kind == packet::CmKind::Drep && std::erase_if(leaving_, [&](const Leaving &each) {
        return each.message.local_id == message->remote_id;
      }))
    return true;
  for (Connecting &each : connecting_) {
    if (!each.connector->knows(*message))
      continue;
    each.connector->receive(now, packet::source_of(packet), *message);
    if (each.settled && each.connector->all_ended())
      for (const QpEnds &ends : each.ends)
        tell(QpEvent::Kind::Disconnected, ends.qp);
    return true;
  }
  return false;
}

void QueuePairs::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                         const roce_packet &packet) {
  handle_events(now);
  bool taken = false;
  if (roce_is_roce(class_) && packet.info & ROCE_OP_RESPONSE) {
    for (const auto &group : groups_)
      if (group->source->owns(packet)) {
        group->source->receive(now, frame, class_, packet);
        taken = true;
        break;
      }
  } else if (!(connecting_.empty() && leaving_.empty()) && roce_is_roce(class_) &&
             packet.opcode == ROCE_OPCODE_UD_SEND_ONLY && packet.end <= frame.size() &&
             roce_key_qp(&packet.key) == ROCE_QPN_GSI) {
    taken = take_mad(now, frame, packet);
  }
  if (!taken) {
    if (roce_is_roce(class_) && !(packet.info & ROCE_OP_RESPONSE))
      watch(now, packet);
    responder_.receive(now, frame, class_, packet);
  }
  handle_events(now);
}

// Answers and requests are first in turn. Nothing is closed while a packet of its is in `out`.
size_t QueuePairs::next(uint64_t now, std::span<packet::Outgoing> out) {
  handle_events(now);
  if (program_->wake_at() <= now)
    program_->wake(now);
  advance_connectors(now);
  size_t count = send_mads(now, out);
  if (answer_faults_.any())
    count += answer_faults_.take_due(now, out.subspan(count));
  const auto answers = [&] {
    const auto room = out.subspan(count);
    const size_t more = room.empty() ? 0 : responder_.next(now, room);
    count += answer_faults_.any() ? answer_faults_.apply(now, room, more) : more;
  };
  answers_first_ = !answers_first_;
  if (answers_first_)
    answers();
  for (size_t i = 0; i < groups_.size() && count < out.size(); i++)
    count += groups_[i]->source->next(now, out.subspan(count));
  if (!answers_first_)
    answers();
  return count;
}

uint64_t QueuePairs::wake_at() const {
  if (!events_.empty())
    return 0;
  uint64_t at = std::min({responder_.wake_at(), answer_faults_.wake_at(), program_->wake_at()});
  for (const auto &group : groups_)
    at = std::min(at, group->source->wake_at());
  for (const Leaving &each : leaving_)
    at = std::min(at, each.due);
  for (const Connecting &each : connecting_)
    at = std::min(at, !each.settled && each.connector->settled() ? 0 : each.connector->wake_at());
  return at;
}

} // namespace xr::station
