// SPDX-License-Identifier: Apache-2.0
#include "requester/cm_source.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "packet/icrc.h"
#include "packet/peer_map.h"

namespace xr::requester {
namespace {

using flow::Flow;

uint8_t pmtu_code(uint32_t pmtu) { return static_cast<uint8_t>(std::countr_zero(pmtu) - 7); }

std::vector<CmEnd> ends_of(const std::vector<Flow> &flows) {
  std::vector<CmEnd> ends;
  for (const Flow &flow : flows)
    for (uint32_t i = 0; i < flow.qps; i++)
      ends.push_back({flow.path.src, flow.path.dst, flow.own_qp(i), pmtu_code(flow.pmtu),
                      static_cast<uint8_t>(flow.transport == ROCE_UC)});
  return ends;
}

} // namespace

Status check_cm(const Flow &flow) {
  if (flow.transport != ROCE_RC && flow.transport != ROCE_UC)
    return Error{"RDMA CM connects RC and UC here", "transport rc, or without --cm"};
  if (flow.pmtu < 256 || flow.pmtu > 4096 || !std::has_single_bit(flow.pmtu))
    return Error{fmt::format("a REQ has no PMTU of {}", flow.pmtu),
                 "pmtu 256, 512, 1024, 2048 or 4096"};
  if (flow.psn)
    return Error{"psn: the peer's REP says the first PSN", "--cm without it"};
  if (packet::is_multicast(flow.path.dst))
    return Error{"a group has no connections", "another dst, or without --cm"};
  return {};
}

CmSource::CmSource(std::vector<Flow> flows, const CmOptions &options, Make make, bool check_icrc)
    : flows_(std::move(flows)), connector_(ends_of(flows_), options), make_(std::move(make)),
      check_icrc_(check_icrc) {
  for (size_t i = 0; i < flows_.size(); i++)
    flow_of_.insert(flow_of_.end(), flows_[i].qps, i);
}

void CmSource::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                       const roce_packet &packet) {
  const bool mad = roce_is_roce(class_) && packet.opcode == ROCE_OPCODE_UD_SEND_ONLY &&
                   roce_key_qp(&packet.key) == ROCE_QPN_GSI;
  if (!mad) {
    if (source_)
      source_->receive(now, frame, class_, packet);
    return;
  }
  if (packet.end > frame.size() ||
      (check_icrc_ &&
       icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet) != Icrc::Good))
    return;
  const auto message = packet::parse_cm_mad(
      frame.subspan(packet.bth + ROCE_BTH_LEN + ROCE_DETH_LEN, packet.payload));
  if (message)
    connector_.receive(now, packet::source_of(packet), *message);
}

// Sets where requests go, and what they access, by the peers' REPs; a word of the flow wins.
void CmSource::connected() {
  uint32_t reads = UINT8_MAX;
  size_t index = 0;
  for (Flow &flow : flows_) {
    flow.begins.resize(flow.first_index + flow.qps);
    for (uint32_t i = 0; i < flow.qps; i++, index++) {
      const CmPeer &peer = connector_.peer(index);
      flow.begins[flow.first_index + i] = {peer.qpn, peer.psn, 0};
      reads = std::min<uint32_t>(reads, peer.responder_resources);
      if (flow.memory_given || !peer.memory)
        continue;
      flow.rkey = peer.memory->rkey;
      flow.va = peer.memory->va;
    }
  }
  source_ = make_(flows_, reads);
  if (pauses_)
    source_->obey(*pauses_);
}

void CmSource::advance(uint64_t now) {
  if (phase_ == Phase::New) {
    connector_.start(now);
    phase_ = Phase::Connecting;
  }
  if (phase_ == Phase::Connecting && connector_.settled()) {
    const bool all = connector_.counts().established == connector_.counts().requested;
    phase_ = all ? Phase::Sending : Phase::Ending;
    if (all)
      connected();
    else
      connector_.disconnect(now);
  }
  if (phase_ == Phase::Sending && (source_->done() || connector_.all_ended())) {
    phase_ = Phase::Ending;
    connector_.disconnect(now);
  }
  if (phase_ == Phase::Ending && connector_.all_ended() && connector_.wake_at() == kNever)
    phase_ = Phase::Done;
}

size_t CmSource::next(uint64_t now, std::span<packet::Outgoing> out) {
  sent_.clear();
  advance(now);
  size_t count = 0;
  while (count < out.size()) {
    const auto mad = connector_.next(now);
    if (!mad)
      break;
    count += write(*mad, out[count]);
  }
  advance(now); // a timer may have ended the last connection
  if (phase_ == Phase::Sending && count < out.size())
    count += source_->next(now, out.subspan(count));
  return count;
}

bool CmSource::write(const CmConnector::Mad &mad, packet::Outgoing &out) {
  packet::Path path = flows_[flow_of_[mad.index]].path;
  path.src_port = 0xc000 | ROCE_QPN_GSI;
  auto frame = packet::cm_frame(path, mad.message, mad_psn_++ & ROCE_PSN_MASK);
  if (!frame)
    return false;
  sent_.push_back(std::move(frame->bytes));
  out = {.shape = nullptr, .fields = {}, .raw = sent_.back()};
  return true;
}

uint64_t CmSource::wake_at() const {
  if (phase_ == Phase::New)
    return 0;
  if (phase_ == Phase::Done)
    return kNever;
  if ((phase_ == Phase::Connecting && connector_.settled()) ||
      (phase_ == Phase::Sending && (source_->done() || connector_.all_ended())) ||
      (phase_ == Phase::Ending && connector_.all_ended()))
    return 0;
  const uint64_t at = connector_.wake_at();
  return phase_ == Phase::Sending ? std::min(at, source_->wake_at()) : at;
}

// After an interrupt nothing waits for DREPs.
size_t CmSource::last(std::span<packet::Outgoing> out) {
  sent_.clear();
  size_t count = 0;
  while (count < out.size()) {
    const auto mad = connector_.abandon();
    if (!mad)
      break;
    count += write(*mad, out[count]);
  }
  return count;
}

void CmSource::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (source_)
    source_->qp_rates(now, rows);
}

void CmSource::obey(const packet::Pauses &pauses) {
  pauses_ = &pauses;
  if (source_)
    source_->obey(pauses);
}

} // namespace xr::requester
