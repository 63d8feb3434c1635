// SPDX-License-Identifier: Apache-2.0
#include "compare/place.h"

#include <algorithm>
#include <cstring>

#include "analysis/captured_packet.h"
#include "model/stream_loss.h"
#include "packet/icrc.h"
#include "roce/psn.h"
#include "roce/stream.h"

namespace xr::compare {

namespace {

bool same(const roce_key &a, const roce_key &b) { return !std::memcmp(&a, &b, sizeof(a)); }

constexpr int32_t kResync = 65536; // include/roce/README.md 7, rule 2

bool is_numbered(uint32_t info) {
  return info & (ROCE_OP_REQUEST | ROCE_OP_RESPONSE) && !(info & (ROCE_OP_ACK | ROCE_OP_CNP));
}

} // namespace

Result<Place> Place::open(const std::string &path, const Options &options,
                          const std::atomic<bool> *stop) {
  Result<Reader> reader = Reader::open(path, stop);
  if (!reader)
    return std::move(reader).error();
  return Place(std::move(reader).get(), options);
}

Place::Place(Reader reader, const Options &options)
    : reader_(std::move(reader)), options_(options),
      datapath_(std::make_unique<NativeDatapath>(
          NativeDatapath::Options{.udp_port = options.udp_port,
                                  .streams = static_cast<uint32_t>(options.streams),
                                  .features = ROCE_FEATURE_CAPTURE})) {}

// Whether the packet's PSN is before the expected one of its stream, and begins a run of such
// packets.
uint8_t Place::position(State &state, const roce_packet &packet, uint32_t found) {
  const bool behind = found & (ROCE_FOUND_FILLED | ROCE_FOUND_DUPLICATE);
  uint8_t flags = 0;
  if (behind) {
    if (!state.behind || roce_psn_diff(packet.psn, state.last) <= 0)
      flags |= Mark::kBegins;
  }
  state.behind = behind;
  state.last = packet.psn;
  if (was_accepted(state, packet))
    flags |= Mark::kAccepted;
  return flags;
}

// Updates the receiver after this place. It discards what is ahead of the PSN that it expects, so
// the sender sends that again, although it was seen here.
bool Place::was_accepted(State &state, const roce_packet &packet) {
  int32_t ahead = state.begun ? roce_psn_diff(packet.psn, state.expected) : 0;
  const bool response = packet.info & ROCE_OP_RESPONSE;
  // The PSNs of a READ, which depend on the PMTU; ACKs between the responses to READs and atomics;
  // a new use of the QPN.
  if ((ahead > 0 && static_cast<uint32_t>(ahead) < state.read_psns) ||
      (ahead > 0 && response && !state.read_open &&
       !(packet.info & (ROCE_OP_MIDDLE | ROCE_OP_LAST))) ||
      ahead >= kResync || ahead <= -kResync)
    ahead = 0;
  if (ahead < 0)
    return true;
  if (ahead > 0)
    return false;
  state.begun = true;
  state.expected = roce_psn_add(packet.psn, 1);
  state.read_open = response && packet.info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE);
  state.read_psns = packet.info & ROCE_OP_READ_REQUEST ? roce_read_psns(packet.dma_len, 1) : 0;
  return false;
}

void Place::check(const CapturedFrame &frame, const roce_packet &packet, Sight &sight) {
  const Icrc verdict = icrc_check(frame.data, frame.captured, packet);
  if (verdict == Icrc::Bad) {
    sight.mark.flags |= Mark::kBadIcrc;
    counts_.bad_icrc++;
  }
  if (verdict != Icrc::Absent)
    sight.print = roce_load32(frame.data + packet.end - ROCE_ICRC_LEN);
}

bool Place::read(const CapturedFrame &frame, Sight &sight, StreamNumbers &numbers) {
  const NativeDatapath::FrameView view = view_of(frame);
  roce_packet packet;
  const roce_class class_ = parse_captured(*datapath_, frame, packet);
  const uint32_t record = datapath_->account(view, class_, packet);
  counts_.frames++;
  counts_.fragments += class_ == ROCE_CLASS_FRAGMENT;
  counts_.malformed += class_ == ROCE_CLASS_MALFORMED;
  if (!roce_is_roce(class_))
    return false;
  if (!(packet.info & (ROCE_OP_REQUEST | ROCE_OP_RESPONSE | ROCE_OP_DATAGRAM))) {
    counts_.unassigned++;
    return false;
  }
  roce_key_fill(&packet.key);
  if (record >= options_.streams) { // ROCE_NO_STREAM
    counts_.streams_full++;
    return false;
  }
  if (record >= states_.size()) {
    states_.resize(record + 1);
    keys_.resize(record + 1);
  }
  State &state = states_[record];
  if (state.number == StreamNumbers::kNone || !same(keys_[record], packet.key)) {
    state = {.number = numbers.of(packet.key, packet.opcode)};
    keys_[record] = packet.key;
  }
  if (state.number == StreamNumbers::kNone) {
    counts_.streams_full++;
    return false;
  }
  counts_.packets++;
  sight = {};
  sight.stream = state.number;
  sight.token = packet.psn | static_cast<uint32_t>(packet.opcode) << 24;
  sight.mark.time_ns = frame.time_ns;
  sight.mark.order = state.packets++;
  sight.mark.tos = packet.tos;
  sight.mark.vlan = packet.vlan & (ROCE_VLAN_TAGGED | ROCE_VLAN_VID);
  if (frame.link == Link::Ethernet)
    sight.mark.flags = Mark::kTagged;
  if (is_numbered(packet.info))
    sight.mark.flags |= position(state, packet, datapath_->trace().found);
  else if (packet.info & ROCE_HAS_AETH && !packet.cut) {
    counts_.naks += ROCE_SYNDROME_TYPE(packet.syndrome) == ROCE_NAK;
    counts_.rnr_naks += ROCE_SYNDROME_TYPE(packet.syndrome) == ROCE_RNR_NAK;
  }
  check(frame, packet, sight);
  // Senders of datagrams to one QP count for themselves.
  if (!sight.print && packet.info & ROCE_OP_DATAGRAM)
    sight.print = packet.src_qp;
  return true;
}

bool Place::next(Sight &sight, StreamNumbers &numbers) {
  CapturedFrame frame;
  Next next;
  while ((next = reader_.next(frame)) == Next::Frame)
    if (read(frame, sight, numbers))
      return true;
  counts_.truncated = next == Next::Truncated;
  if (next != Next::End)
    trouble_ = reader_.error();
  return false;
}

std::vector<uint64_t> Place::lost_before(StreamNumbers &numbers) const {
  Snapshot snapshot;
  datapath_->snapshot(snapshot);
  std::vector<uint64_t> lost(numbers.size());
  for (const roce_stream &s : snapshot.streams) {
    const uint32_t number = numbers.of(s.key, 0);
    if (number < lost.size())
      lost[number] = lost_psns(s);
  }
  return lost;
}

} // namespace xr::compare
