// SPDX-License-Identifier: Apache-2.0
#include "analysis/connections.h"

#include <algorithm>

#include "analysis/captured_packet.h"
#include "packet/peer_map.h"

namespace xr {
namespace {

using packet::CmKind;
using packet::CmMessage;

constexpr unsigned kPassive = 16; // shift of the passive side's bits

uint32_t bit_of(CmKind kind) {
  return 1U << (static_cast<unsigned>(kind) - Connections::kFirstKind);
}

bool was_seen(uint32_t seen, CmKind kind) { return (seen | seen >> kPassive) & bit_of(kind); }

bool is_sidr(CmKind kind) { return kind == CmKind::SidrReq || kind == CmKind::SidrRep; }

} // namespace

void ConnectionFollower::packet(uint64_t time_ns, std::span<const uint8_t> frame,
                                const roce_packet &packet) {
  result_.end_ns = std::max(result_.end_ns, time_ns);
  if (packet.opcode != ROCE_OPCODE_UD_SEND_ONLY || roce_key_qp(&packet.key) != ROCE_QPN_GSI ||
      packet.payload != ROCE_MAD_LEN)
    return;
  const size_t at = packet.bth + ROCE_BTH_LEN + ROCE_DETH_LEN;
  if (at + ROCE_MAD_LEN > frame.size()) {
    result_.cut++;
    return;
  }
  const auto parsed = packet::parse_cm_mad(frame.subspan(at, ROCE_MAD_LEN));
  if (!parsed)
    return;
  const bool v1 = packet.l3 >= 2 && roce_be16(&frame[packet.l3 - 2]) == ROCE_ETHERTYPE_ROCEV1;
  message(time_ns, packet::source_of(packet), packet::destination_of(packet), v1, *parsed);
}

ConnectionFollower::Entry *ConnectionFollower::add(const Key &key) {
  if (result_.rows.size() >= room_) {
    result_.rows_full++;
    return nullptr;
  }
  Entry &entry = entries_[key];
  entry = {.row = result_.rows.size()};
  ConnectionRow &row = result_.rows.emplace_back();
  std::tie(row.active.address, row.passive.address, row.active.id) = key;
  return &entry;
}

// IDs are of the sender and the receiver: those of the active side are the key. A REQ whose ID is
// used for another connection begins that one.
ConnectionFollower::Entry *ConnectionFollower::entry_of(const Address &src, const Address &dst,
                                                        const CmMessage &message, From &from) {
  const Key as_active{src, dst, message.local_id}, as_passive{dst, src, message.remote_id};
  from = From::Active;
  const auto active = entries_.find(as_active);
  if (message.kind == CmKind::Req) {
    const bool same =
        active != entries_.end() && (!was_seen(active->second.seen, CmKind::Req) ||
                                     active->second.transaction == message.transaction);
    return same ? &active->second : add(as_active);
  }
  if (message.kind != CmKind::Rep && active != entries_.end() &&
      (!result_.rows[active->second.row].passive.id ||
       result_.rows[active->second.row].passive.id == message.remote_id || !message.remote_id))
    return &active->second;
  from = From::Passive;
  const auto passive = entries_.find(as_passive);
  if (passive != entries_.end())
    return &passive->second;
  if (message.kind == CmKind::Rep)
    return add(as_passive);
  result_.unmatched++;
  return nullptr;
}

void ConnectionFollower::note(ConnectionRow &row, From from, const CmMessage &m) {
  ConnectionSide &side = from == From::Active ? row.active : row.passive;
  if (m.local_id)
    side.id = m.local_id;
  switch (m.kind) {
  case CmKind::Req:
    row.requested = true;
    row.service_id = m.service_id;
    row.transport = m.transport;
    row.pmtu = m.pmtu_code >= 1 && m.pmtu_code <= 5 ? roce_pmtu_bytes(m.pmtu_code) : 0;
    row.retries = m.retries;
    row.rnr_retries = m.rnr_retries;
    row.cm_retries = m.cm_retries;
    [[fallthrough]];
  case CmKind::Rep:
    side.qp = m.qpn;
    side.psn = m.psn;
    break;
  case CmKind::Rej:
    row.reason = m.reject_reason;
    break;
  case CmKind::Dreq: // it has the receiver's QPN
    (from == From::Active ? row.passive : row.active).qp = m.qpn;
    break;
  case CmKind::Mra:
    row.mras++;
    break;
  case CmKind::Lap:
    row.laps++;
    break;
  default:
    break;
  }
}

void ConnectionFollower::set_state(ConnectionRow &row, uint32_t seen) {
  using State = ConnectionRow::State;
  row.state = was_seen(seen, CmKind::Drep)   ? State::Ended
              : was_seen(seen, CmKind::Dreq) ? State::Ending
              : was_seen(seen, CmKind::Rej)  ? State::Rejected
              : was_seen(seen, CmKind::Rtu)  ? State::Established
              : was_seen(seen, CmKind::Rep)  ? State::Accepted
                                             : State::Requested;
}

void ConnectionFollower::message(uint64_t time_ns, const Address &src, const Address &dst, bool v1,
                                 const CmMessage &message) {
  result_.messages[static_cast<uint16_t>(message.kind) - Connections::kFirstKind]++;
  if (is_sidr(message.kind)) {
    result_.sidr_refused += message.kind == CmKind::SidrRep && message.status;
    return;
  }
  From from = From::Unknown;
  Entry *entry = entry_of(src, dst, message, from);
  if (!entry)
    return;
  ConnectionRow &row = result_.rows[entry->row];
  const uint32_t bit = bit_of(message.kind) << (from == From::Passive ? kPassive : 0);
  if (entry->seen & bit) {
    row.again++;
    result_.again++;
  }
  entry->seen |= bit;
  if (message.kind == CmKind::Req)
    entry->transaction = message.transaction;
  note(row, from, message);
  row.v1 = v1;
  row.messages++;
  row.first_ns = row.first_ns ? std::min(row.first_ns, time_ns) : time_ns;
  row.last_ns = std::max(row.last_ns, time_ns);
  if (!row.established_ns && message.kind == CmKind::Rtu)
    row.established_ns = time_ns;
  set_state(row, entry->seen);
}

Result<Connections> read_connections(const std::vector<std::string> &paths, uint16_t udp_port) {
  const NativeDatapath datapath({.udp_port = udp_port, .track = false});
  ConnectionFollower follower;
  for (const std::string &path : paths) {
    Result<Reader> opened = Reader::open(path, nullptr);
    if (!opened)
      return std::move(opened).error();
    CapturedFrame frame;
    Next next;
    while ((next = opened->next(frame)) == Next::Frame) {
      roce_packet packet;
      if (roce_is_roce(parse_captured(datapath, frame, packet)))
        follower.packet(frame.time_ns, {frame.data, frame.captured}, packet);
    }
    if (next == Next::Error)
      return opened->error();
  }
  return follower.result();
}

} // namespace xr
