// SPDX-License-Identifier: Apache-2.0
#include "responder/responder.h"

#include <algorithm>

#include "packet/cm.h"
#include "packet/echo.h"
#include "packet/icrc.h"
#include "packet/neighbour.h"
#include "packet/stamp.h"
#include "responder/responder_state.h"

namespace xr::responder {
namespace {

uint8_t transport_of(const roce_packet &packet) { return packet.opcode & ROCE_TRANSPORT_MASK; }

bool is_connected(uint8_t transport) {
  return transport == ROCE_RC || transport == ROCE_UC || transport == ROCE_XRC;
}

// The message in a frame for the GSI.
std::optional<packet::CmMessage> cm_message(std::span<const uint8_t> frame,
                                            const roce_packet &packet) {
  if (packet.opcode != ROCE_OPCODE_UD_SEND_ONLY || packet.end > frame.size())
    return {};
  return packet::parse_cm_mad(
      frame.subspan(packet.bth + ROCE_BTH_LEN + ROCE_DETH_LEN, packet.payload));
}

// All messages of a connection get to the same of `count` responders.
uint32_t cm_owner(const packet::Address &peer, uint32_t peer_id, uint32_t count) {
  uint64_t hash = peer_id;
  for (const uint32_t word : peer)
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return static_cast<uint32_t>((hash >> 32) % count);
}

} // namespace

Responder::State::State(const ResponderOptions &given)
    : options(given), addresses_(given.addresses),
      paths_(given.qps,
             {given.ack_tos, given.nak_tos.value_or(given.ack_tos),
              static_cast<uint8_t>(given.cnp_dscp << 2 | given.cnp_ecn)},
             given.headers_only),
      index_(given.qps), cnp_(options.cnp_pacing, options.qps) {
  if (given.sink)
    latency = std::make_unique<stamps::OneWay>(given.latency);
  std::sort(addresses_.begin(), addresses_.end());
  if (options.control.kind != congestion::Control::Kind::None)
    pacing_.emplace(0, options.control, options.line_bits);
}

void Responder::State::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                               const roce_packet &packet) {
  counts.frames++;
  counts.bytes += frame.size();
  if (class_ == ROCE_CLASS_OTHER)
    return answer_neighbour(frame);
  const bool whole = packet.end <= frame.size() || (options.headers_only && !packet.cut);
  if (class_ == ROCE_CLASS_MALFORMED || (roce_is_roce(class_) && !whole)) {
    counts.malformed++;
    return;
  }
  if (!roce_is_roce(class_))
    return;
  if (!is_mine(packet)) {
    counts.not_mine++;
    return;
  }
  if (options.check_icrc &&
      icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet) != Icrc::Good) {
    counts.bad_icrc++;
    return;
  }
  if (options.sink)
    sink(now, frame, packet);
  else if (!options.siblings || !passed_on(frame, class_, packet))
    dispatch(now, frame, packet);
}

void Responder::State::sink(uint64_t now, std::span<const uint8_t> frame,
                            const roce_packet &packet) {
  counts.requests += !(packet.info & ROCE_OP_RESPONSE);
  counts.responses_seen += (packet.info & ROCE_OP_RESPONSE) != 0;
  counts.ce += packet.ecn == ROCE_ECN_CE;
  if (const auto stamp = packet::read_stamp(frame, packet))
    latency->add(packet, *stamp, now);
}

bool Responder::State::is_mine(const roce_packet &packet) {
  if (addresses_.empty())
    return true;
  const packet::Address to = packet::destination_of(packet);
  if (to == last_mine_)
    return true;
  if (!std::binary_search(addresses_.begin(), addresses_.end(), to))
    return false;
  last_mine_ = to;
  return true;
}

void Responder::State::answer_neighbour(std::span<const uint8_t> frame) {
  const auto mac_of = [this](const packet::Address &address) {
    return options.mac_of ? options.mac_of(address) : options.mac;
  };
  const auto question = packet::question_about(addresses_, frame);
  if (!question) {
    const auto echo = packet::parse_echo(frame);
    if (echo && echo->request && std::ranges::binary_search(addresses_, echo->dst))
      enqueue(packet::echo_reply(*echo, mac_of(echo->dst)));
    return;
  }
  (packet::is_mapped(question->target) ? counts.arp : counts.nd)++;
  enqueue(packet::neighbour_answer(*question, mac_of(question->target)));
}

// Whether another one has its connection: that gets it, and counts it.
bool Responder::State::passed_on(std::span<const uint8_t> frame, roce_class class_,
                                 const roce_packet &packet) {
  const std::optional<uint32_t> owner = owner_of(frame, packet);
  if (!owner || *owner == options.number)
    return false;
  counts.frames--;
  counts.bytes -= frame.size();
  counts.other_queue++;
  if (!options.siblings->pass(*owner, frame, class_, packet))
    counts.other_queue_full++;
  return true;
}

// Nothing: it stays here.
std::optional<uint32_t> Responder::State::owner_of(std::span<const uint8_t> frame,
                                                   const roce_packet &packet) {
  const uint32_t qpn = roce_key_qp(&packet.key);
  const packet::Address peer = packet::source_of(packet);
  if (packet.info & ROCE_OP_RESPONSE) {
    for (const uint8_t transport : {ROCE_RC, ROCE_XRC})
      if (const packet::PeerKey key = connection_key(peer, qpn, transport);
          pacing_ && packet.info & ROCE_OP_CNP && !index_.find(key))
        if (const auto owner = options.siblings->find(key))
          return owner;
    return {};
  }
  if (qpn == ROCE_QPN_GSI) {
    const auto message = cm_message(frame, packet);
    return message ? std::optional(cm_owner(peer, message->local_id, options.siblings->count()))
                   : std::nullopt;
  }
  if (qpn < options.first_qp || qpn > options.last_qp || !is_connected(transport_of(packet)))
    return {};
  const packet::PeerKey key = connection_key(peer, qpn, transport_of(packet));
  if (index_.find(key))
    return {};
  return packet.info ? options.siblings->owner(key, options.number) : options.siblings->find(key);
}

void Responder::State::dispatch(uint64_t now, std::span<const uint8_t> frame,
                                const roce_packet &packet) {
  const uint32_t qpn = roce_key_qp(&packet.key);
  if (packet.info & ROCE_OP_RESPONSE) {
    counts.responses_seen++;
    if (pacing_ && packet.info & ROCE_OP_CNP)
      receive_cnp(now, packet);
  } else if (qpn == ROCE_QPN_GSI)
    receive_mad(frame, packet);
  else if (qpn < options.first_qp || qpn > options.last_qp)
    counts.no_qp++;
  else
    request(now, frame, packet);
}

void Responder::State::request(uint64_t now, std::span<const uint8_t> frame,
                               const roce_packet &packet) {
  counts.requests++;
  if (options.cnp && cnp_.wants_all())
    cnp_.seen(now, packet);
  // ecn is 0 for RoCEv1, which has no ECN
  const bool ce =
      packet.ecn == ROCE_ECN_CE || (options.cnp_every && counts.requests % options.cnp_every == 0);
  if (is_connected(transport_of(packet))) {
    Connection *connection = connection_of(packet);
    if (!connection)
      return;
    if (!connection->path || !connection->path->matches(frame, packet))
      connection->path = paths_.find_or_add(frame, packet);
    if (!connection->path) {
      counts.qps_full++;
      return;
    }
    if (connection->own)
      arrived(now, frame, packet, *connection->own);
    if (ce)
      receive_ce(now, connection->path, connection->peer_qp(), packet, connection->own);
    connection->receive(frame.data() + packet.bth, packet, options, counts_of(*connection),
                        kept_room_);
    if (connection->has_responses() && !connection->queued)
      queue_responses(now, connection);
  } else if (transport_of(packet) == ROCE_UD && packet.info) {
    counts.datagrams++;
    if (options.receiver)
      datagram(frame, packet);
    if (ce)
      receive_ce(now, options.cnp ? paths_.find_or_add(frame, packet) : nullptr, packet.src_qp,
                 packet, nullptr);
  } else {
    counts.invalid++;
  }
}

// nullptr: the reason was counted.
Connection *Responder::State::connection_of(const roce_packet &packet) {
  const uint32_t qpn = roce_key_qp(&packet.key);
  const packet::PeerKey key = connection_key(packet::source_of(packet), qpn, transport_of(packet));
  if (Connection **known = index_.find(key))
    return *known;
  if (!packet.info || options.open_only) {
    (packet.info ? counts.no_qp : counts.invalid)++;
    return nullptr;
  }
  Connection *made = connect(key, peer_of(qpn), options.pmtu);
  if (!made)
    counts.qps_full++;
  return made;
}

uint32_t Responder::State::peer_of(uint32_t qpn) const {
  if (options.peer_of)
    if (const std::optional<uint32_t> known = options.peer_of(qpn))
      return *known;
  if (options.peer_qp >= 0)
    return static_cast<uint32_t>(options.peer_qp) & 0xffffff;
  return (qpn + static_cast<uint32_t>(options.peer_offset)) & 0xffffff;
}

Connection *Responder::State::connect(const packet::PeerKey &key, uint32_t peer_qp, uint32_t pmtu) {
  if (index_.full() ||
      (options.siblings && options.siblings->owner(key, options.number) != options.number))
    return nullptr;
  if (free_.empty())
    free_.push_back(&connections_.emplace_back());
  Connection *connection = free_.back();
  free_.pop_back();
  const uint32_t pace = connection->pace;
  *connection = Connection(key, static_cast<uint8_t>(key.number >> 24), peer_qp, pmtu);
  connection->pace = pace;
  connection->alive = true;
  if (options.connection_counts)
    connection->own = connection_counts
                          .emplace_back(std::make_unique<ConnectionCounts>(
                              ConnectionCounts{.peer = key.address,
                                               .own_qp = key.number & ROCE_PSN_MASK,
                                               .peer_qp = peer_qp,
                                               .counts = {}}))
                          .get();
  index_.insert(key, connection);
  return connection;
}

// A queued connection is reused only after it has left the queue.
void Responder::State::release(Connection *connection) {
  if (connection->alive) {
    index_.erase(connection->key);
    if (options.siblings)
      options.siblings->forget(connection->key, options.number);
  }
  connection->alive = false;
  connection->forget_kept(kept_room_);
  if (!connection->queued)
    free_.push_back(connection);
}

bool Responder::State::open_connection(const Connected &made) {
  const packet::PeerKey key = connection_key(made.peer, made.own_qp, made.transport);
  close_connection(made);
  Connection *connection = connect(key, made.peer_qp, made.pmtu);
  (connection ? counts.qps : counts.qps_full)++;
  if (connection)
    connection->expect(made.psn);
  return connection;
}

void Responder::State::close_connection(const Connected &ended) {
  if (Connection **known = index_.find(connection_key(ended.peer, ended.own_qp, ended.transport)))
    release(*known);
}

void Responder::State::forget(const Connected &ended) {
  if (cm_)
    cm_->forget(ended.peer, ended.peer_id);
}

void Responder::State::receive_mad(std::span<const uint8_t> frame, const roce_packet &packet) {
  const std::optional<packet::CmMessage> message = cm_message(frame, packet);
  if (!message) {
    counts.no_qp++;
    return;
  }
  const bool v1 = roce_be16(&frame[packet.l3 - 2]) == ROCE_ETHERTYPE_ROCEV1;
  if (!(v1 ? options.cm_v1 : options.cm_v2)) {
    counts.cm_other_version++;
    return;
  }
  if (!cm_)
    cm_ = std::make_unique<CmListener>(options);
  const CmReaction reaction = cm_->receive(packet::source_of(packet), *message, counts);
  packet::Path path = path_back(frame, packet, options.ack_tos);
  path.src_port = response_port(ROCE_QPN_GSI);
  if (reaction.ended) {
    close_connection(*reaction.ended);
    if (options.receiver)
      options.receiver->disconnected(reaction.ended->own_qp);
  }
  if (reaction.made && open_connection(*reaction.made) && options.receiver)
    options.receiver->connected(*reaction.made, *message, path);
  if (!reaction.answer)
    return;
  auto answer = packet::cm_frame(path, *reaction.answer, mad_psn_++ & ROCE_PSN_MASK);
  if (answer.ok())
    enqueue(std::move(answer.get().bytes));
}

// A UD SEND. Its immediate data is the header before its payload.
void Responder::State::datagram(std::span<const uint8_t> frame, const roce_packet &packet) const {
  const uint32_t qp = roce_key_qp(&packet.key);
  if (!options.receiver->take_receive(qp))
    return;
  const size_t payload = packet.end - ROCE_ICRC_LEN - packet.pad - packet.payload;
  options.receiver->payload(qp, 0, frame.subspan(payload, packet.payload));
  Arrived message;
  message.qp = qp;
  message.transport = ROCE_UD;
  message.send = true;
  message.bytes = packet.payload;
  message.peer_qp = packet.src_qp;
  if (properties(packet) & ROCE_HAS_IMMDT)
    message.immediate = roce_be32(&frame[payload - 4]);
  options.receiver->arrived(message);
}

void Responder::State::arrived(uint64_t now, std::span<const uint8_t> frame,
                               const roce_packet &packet, ConnectionCounts &own) const {
  own.counts.frames++;
  own.counts.bytes += frame.size();
  own.first_ns = own.first_ns ? own.first_ns : now;
  own.last_ns = now;
  if (!options.tai_offset_ns)
    return;
  const auto stamp = packet::read_stamp(frame, packet);
  const uint64_t at = now + static_cast<uint64_t>(*options.tai_offset_ns);
  if (!stamp || stamp->time_ns > at)
    return;
  const uint64_t took = at - stamp->time_ns;
  own.latency_min_ns = own.stamped ? std::min(own.latency_min_ns, took) : took;
  own.latency_max_ns = std::max(own.latency_max_ns, took);
  own.latency_sum_ns += static_cast<double>(took);
  own.stamped++;
}

// Frames and bytes are counted of the port already.
const RespondCounts &Responder::State::sum() {
  if (connection_counts.empty())
    return counts;
  sum_ = counts;
  for (const auto &own : connection_counts) {
    RespondCounts part = own->counts;
    part.frames = part.bytes = 0;
    add(sum_, part);
  }
  return sum_;
}

// `path`: where the packet came from; nullptr: there was no room to remember it.
void Responder::State::receive_ce(uint64_t now, PeerPath *path, uint32_t sender,
                                  const roce_packet &packet, ConnectionCounts *own) {
  RespondCounts &counts = own ? own->counts : this->counts;
  counts.ce += packet.ecn == ROCE_ECN_CE;
  if (!options.cnp)
    return;
  // A CNP may be due later, when its packet is gone: where it goes is known now.
  if (!path) {
    counts.cnps_no_room++;
    return;
  }
  const QueueEntry cnp{.kind = QueueEntry::Kind::Cnp,
                       .qp = sender,
                       .port = response_port(roce_key_qp(&packet.key)),
                       .own = own,
                       .path = path};
  if (cnp_.answers(now, packet, cnp, counts.cnps_paced, counts.cnps_no_room)) {
    counts.cnps++;
    enqueue(cnp);
  }
}

Responder::Responder(const ResponderOptions &options) : state_(std::make_unique<State>(options)) {}
Responder::~Responder() = default;

void Responder::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                        const roce_packet &packet) {
  state_->receive(now, frame, class_, packet);
}

size_t Responder::next(uint64_t now, std::span<packet::Outgoing> out) {
  return state_->next(now, out);
}

bool Responder::open(const Connected &connected) { return state_->open_connection(connected); }
void Responder::close(const Connected &connected) {
  state_->close_connection(connected);
  if (connected.own_id)
    state_->forget(connected);
}

uint64_t Responder::wake_at() const { return state_->wake_at(); }

const RespondCounts &Responder::counts() const { return state_->sum(); }

void Responder::each_connection(const std::function<void(const ConnectionCounts &)> &use) const {
  for (const auto &own : state_->connection_counts)
    use(*own);
}

// What the responder counts of all stays.
void Responder::clear_connections(const std::function<bool(const ConnectionCounts &)> &which) {
  for (const auto &counts : state_->connection_counts) {
    ConnectionCounts &own = *counts;
    if (!which(own))
      continue;
    add(state_->counts, own.counts);
    own = {.peer = own.peer, .own_qp = own.own_qp, .peer_qp = own.peer_qp, .counts = {}};
  }
}

void Responder::qp_rates(uint64_t now, std::vector<QpRate> &rows) { state_->qp_rates(now, rows); }
const stamps::OneWay &Responder::latency() const {
  static const stamps::OneWay kNone;
  return state_->latency ? *state_->latency : kNone;
}

} // namespace xr::responder
