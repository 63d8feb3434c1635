// SPDX-License-Identifier: Apache-2.0
#include "requester/cm_connector.h"

#include <algorithm>

namespace xr::requester {
namespace {

using packet::CmAbout;
using packet::CmKind;
using packet::CmMessage;

constexpr uint16_t kReasonTimeout = 4; // IBA vol. 1, 12.6.7.2
constexpr uint8_t kResources = 16;

} // namespace

CmConnector::CmConnector(std::vector<CmEnd> ends, const CmOptions &options)
    : options_(options), open_(ends.size()) {
  std::mt19937_64 random(options.seed);
  auto id = static_cast<uint32_t>(random());
  for (const CmEnd &what : ends) {
    End &end = ends_.emplace_back();
    end.what = what;
    end.id = id++;
    end.transaction = random();
    end.psn = static_cast<uint32_t>(random()) & ROCE_PSN_MASK;
    by_id_[end.id] = ends_.size() - 1;
  }
}

void CmConnector::start(uint64_t now) {
  begun_ = true;
  request_more(now);
}

// Sends as many REQs as may be on their way.
void CmConnector::request_more(uint64_t now) {
  for (; awaited_ < kAwaited && next_request_ < ends_.size() && !ending_; next_request_++) {
    End &end = ends_[next_request_];
    end.state = State::Requested;
    counts_.requested++;
    live_++;
    send(end, CmKind::Req);
    arm(now, end, options_.timeout_ns);
  }
  for (; awaited_ < kAwaited && ending_ && next_end_ < ends_.size(); next_end_++) {
    End &end = ends_[next_end_];
    if (end.state != State::Established)
      continue;
    end.state = State::Ending;
    end.sends = 0;
    send(end, CmKind::Dreq);
    arm(now, end, options_.timeout_ns);
  }
}

void CmConnector::arm(uint64_t now, End &end, uint64_t wait_ns) {
  disarm(end);
  awaited_++;
  end.due = now + wait_ns;
  timers_.insert({end.due, index_of(end)});
}

void CmConnector::disarm(End &end) {
  if (end.due == kNever)
    return;
  timers_.erase({end.due, index_of(end)});
  end.due = kNever;
  awaited_--;
}

void CmConnector::finish(End &end) {
  disarm(end);
  end.state = State::Ended;
  live_--;
}

CmMessage CmConnector::message_of(const End &end, CmKind kind) const {
  CmMessage message;
  message.kind = kind;
  message.transaction = end.transaction;
  message.local_id = end.id;
  message.remote_id = end.peer_id;
  if (kind == CmKind::Dreq)
    message.qpn = end.peer.qpn;
  if (kind != CmKind::Req)
    return message;
  message.service_id = options_.service_id;
  message.qpn = end.what.qpn;
  message.psn = end.psn;
  message.transport = end.what.transport;
  message.pmtu_code = end.what.pmtu_code;
  message.responder_resources = message.initiator_depth = kResources;
  message.remote_timeout = message.local_timeout = packet::cm_time_code(options_.timeout_ns);
  message.cm_retries = static_cast<uint8_t>(std::min(options_.retries, 15U));
  // The source port is the peer's to show only: no socket has it.
  message.private_data = packet::cma_header(end.what.local, end.what.remote,
                                            static_cast<uint16_t>(0xc000 | (end.id & 0x3fff)));
  return message;
}

// `to`: the message that is answered.
void CmConnector::send(End &end, CmKind kind, const CmMessage *to) {
  CmMessage message = message_of(end, kind);
  if (to) {
    message.transaction = to->transaction;
    message.remote_id = to->local_id;
  }
  if (kind == CmKind::Rej) {
    message.reject_reason = kReasonTimeout;
    message.about = CmAbout::Other;
  }
  if (kind == CmKind::Req || kind == CmKind::Dreq)
    end.sends++;
  counts_.mads_sent++;
  queue_.push_back({index_of(end), std::move(message)});
}

void CmConnector::receive(uint64_t now, const packet::Address &peer, const CmMessage &message) {
  counts_.mads_received++;
  const auto found = by_id_.find(message.remote_id);
  if (message.kind == CmKind::Req || found == by_id_.end() ||
      ends_[found->second].what.remote != peer || ends_[found->second].state == State::New) {
    counts_.strays++;
    return;
  }
  End &end = ends_[found->second];
  switch (message.kind) {
  case CmKind::Mra:
    // The service time is what the peer needs beyond the usual (12.9.8.5).
    if (end.state != State::Requested || message.about != CmAbout::Req)
      break;
    counts_.mras++;
    arm(now, end, options_.timeout_ns + packet::cm_time_ns(message.remote_timeout));
    break;
  case CmKind::Rep:
    reply(end, message);
    break;
  case CmKind::Rej:
    rejected(end, message);
    break;
  case CmKind::Dreq:
    send(end, CmKind::Drep, &message);
    if (end.state == State::Established)
      counts_.ended_by_peer++;
    if (end.state != State::Ended && end.state != State::Requested)
      finish(end);
    break;
  case CmKind::Drep:
    if (end.state != State::Ending)
      break;
    counts_.ended++;
    finish(end);
    break;
  default:
    counts_.strays++;
  }
  request_more(now);
}

// A second REP means that the RTU was lost.
void CmConnector::reply(End &end, const CmMessage &message) {
  if (end.state == State::Established && message.local_id == end.peer_id)
    return send(end, CmKind::Rtu);
  if (end.state != State::Requested) {
    counts_.strays++;
    return;
  }
  disarm(end);
  end.state = State::Established;
  end.peer_id = message.local_id;
  end.peer = {message.qpn, message.psn, message.responder_resources,
              packet::parse_cm_memory(message.private_data)};
  counts_.established++;
  open_--;
  send(end, CmKind::Rtu);
}

void CmConnector::rejected(End &end, const CmMessage &message) {
  if (end.state == State::Ended)
    return;
  if (end.state == State::Requested) {
    counts_.rejected++;
    counts_.reason = counts_.rejected == 1 ? message.reject_reason : counts_.reason;
    open_--;
  } else {
    counts_.ended_by_peer++;
  }
  finish(end);
}

void CmConnector::expire(uint64_t now, End &end) {
  const bool ending = end.state == State::Ending;
  if (end.sends <= options_.retries) {
    counts_.mads_resent++;
    send(end, ending ? CmKind::Dreq : CmKind::Req);
    return arm(now, end, options_.timeout_ns);
  }
  if (ending) {
    counts_.not_ended++;
  } else {
    counts_.timed_out++;
    open_--;
    send(end, CmKind::Rej); // so that the peer forgets what it may have made
  }
  finish(end);
}

std::optional<CmConnector::Mad> CmConnector::next(uint64_t now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    expire(now, ends_[timers_.begin()->second]);
    request_more(now);
  }
  if (queue_from_ == queue_.size()) {
    queue_.clear();
    queue_from_ = 0;
    return {};
  }
  return std::move(queue_[queue_from_++]);
}

uint64_t CmConnector::wake_at() const {
  if (queue_from_ < queue_.size())
    return 0;
  return timers_.empty() ? kNever : timers_.begin()->first;
}

void CmConnector::disconnect(uint64_t now) {
  ending_ = true;
  request_more(now);
}

std::optional<CmConnector::Mad> CmConnector::abandon() {
  for (; next_end_ < ends_.size(); next_end_++) {
    End &end = ends_[next_end_];
    if (end.state != State::Established)
      continue;
    counts_.not_ended++;
    counts_.mads_sent++;
    finish(end);
    return Mad{next_end_, message_of(end, CmKind::Dreq)};
  }
  return {};
}

} // namespace xr::requester
