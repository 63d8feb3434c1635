// SPDX-License-Identifier: Apache-2.0
#include "responder/cm_listener.h"

#include <algorithm>

#include "responder/connection.h"

namespace xr::responder {
namespace {

using packet::CmKind;
using packet::CmMessage;

// Reject reasons (IBA vol. 1, 12.6.7.2).
constexpr uint16_t kNoQp = 1, kInvalidTransport = 9;

CmMessage reply(CmKind kind, const CmMessage &to, uint32_t own_id) {
  CmMessage message;
  message.kind = kind;
  message.transaction = to.transaction;
  message.local_id = own_id;
  message.remote_id = to.local_id;
  return message;
}

uint8_t transport_of(const CmMessage &request) {
  return request.transport == 1 ? ROCE_UC : ROCE_RC;
}

CmMessage rep(const CmMessage &request, const Connected &connection, const Memory *memory) {
  CmMessage message = reply(CmKind::Rep, request, connection.own_id);
  message.qpn = connection.own_qp;
  message.psn = connection.psn;
  // The resources that one side requests are what the other must provide (12.7.30, 12.7.31).
  constexpr uint8_t kResults = Connection::kMaxAtomicResults;
  message.responder_resources = std::min(request.initiator_depth, kResults);
  message.initiator_depth = std::min(request.responder_resources, kResults);
  if (memory)
    message.private_data =
        packet::cm_memory({memory->spec().rkey, memory->spec().va, memory->spec().size});
  return message;
}

} // namespace

CmListener::CmListener(const ResponderOptions &options)
    : options_(options), connections_(options.qps), random_(options.seed),
      step_(options.siblings ? options.siblings->count() : 1),
      next_qp_(uint64_t{options.first_qp} + options.number),
      next_id_(static_cast<uint32_t>(random_()) / step_ * step_ + options.number) {}

CmReaction CmListener::receive(const packet::Address &peer, const CmMessage &message,
                               RespondCounts &counts) {
  counts.cm_messages++;
  switch (message.kind) {
  case CmKind::Req:
    return request(peer, message, counts);
  case CmKind::Dreq:
    // Answered also if the connection does not exist any more: the first DREP may have been lost.
    return {reply(CmKind::Drep, message, message.remote_id), {}, forget(peer, message.local_id)};
  case CmKind::Rej:
    return {{}, {}, forget(peer, message.local_id)};
  default:
    return {};
  }
}

CmReaction CmListener::request(const packet::Address &peer, const CmMessage &message,
                               RespondCounts &counts) {
  if (const Connected *known = connections_.find({peer, message.local_id}))
    return {rep(message, *known, options_.memory), {}, {}};
  if (options_.cm_reject)
    return reject(message, *options_.cm_reject, counts);
  const Receiver::Answer answer =
      options_.receiver ? options_.receiver->requested(message) : Receiver::Answer{};
  if (answer.reject)
    return reject(message, *answer.reject, counts);
  if (message.transport > 1)
    return reject(message, kInvalidTransport, counts);
  const std::optional<uint32_t> qp = connections_.full() ? std::nullopt
                                     : answer.qp         ? answer.qp
                                                         : free_qp(peer, transport_of(message));
  if (!qp)
    return reject(message, kNoQp, counts);
  counts.cm_connections++;
  const Connected made = accept(peer, message, *qp);
  return {rep(message, made, options_.memory), made, {}};
}

CmReaction CmListener::reject(const CmMessage &message, uint16_t reason, RespondCounts &counts) {
  counts.cm_rejected++;
  CmMessage rejection = reply(CmKind::Rej, message, 0);
  rejection.reject_reason = reason;
  return {rejection, {}, {}};
}

Connected CmListener::accept(const packet::Address &peer, const CmMessage &message, uint32_t qp) {
  Connected made;
  made.peer_id = message.local_id;
  made.own_id = next_id_;
  next_id_ += step_;
  made.peer_qp = message.qpn;
  made.own_qp = qp;
  made.psn = static_cast<uint32_t>(random_()) & ROCE_PSN_MASK;
  const bool sound = message.pmtu_code >= 1 && message.pmtu_code <= 5;
  made.pmtu = sound ? roce_pmtu_bytes(message.pmtu_code) : options_.pmtu;
  made.transport = transport_of(message);
  made.peer = peer;
  qps_.insert(qp);
  connections_.insert({peer, message.local_id}, made);
  return made;
}

std::optional<Connected> CmListener::forget(const packet::Address &peer, uint32_t peer_id) {
  const Connected *known = connections_.find({peer, peer_id});
  if (!known)
    return {};
  const Connected ended = *known;
  qps_.erase(ended.own_qp);
  connections_.erase({peer, peer_id});
  return ended;
}

// Returns the least recently used QPN, so that late packets of an old connection do not reach a new
// one.
std::optional<uint32_t> CmListener::free_qp(const packet::Address &peer, uint8_t transport) {
  const uint64_t range = uint64_t{options_.last_qp} - options_.first_qp + 1;
  // Siblings may have connections to some that RDMA CM did not make.
  const uint64_t others = options_.siblings ? options_.qps : 0;
  for (uint64_t tries = 0; tries < range && tries <= qps_.size() + others; tries++) {
    if (next_qp_ > options_.last_qp)
      next_qp_ = uint64_t{options_.first_qp} + options_.number;
    if (next_qp_ > options_.last_qp) // fewer QPNs than siblings
      return {};
    const auto qp = static_cast<uint32_t>(next_qp_);
    next_qp_ += step_;
    if (qps_.contains(qp))
      continue;
    if (!options_.siblings)
      return qp;
    const auto owner =
        options_.siblings->owner(connection_key(peer, qp, transport), options_.number);
    if (!owner)
      return {};
    if (*owner == options_.number)
      return qp;
  }
  return {};
}

} // namespace xr::responder
