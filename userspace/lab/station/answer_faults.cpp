// SPDX-License-Identifier: Apache-2.0
#include "station/answer_faults.h"

#include <algorithm>

#include "roce/parse.h"

namespace xr::station {

namespace {

constexpr uint8_t kNakSyndrome = 0x60; // IBA vol. 1, 9.7.5.2.1

// ROCE_OP_... bits of an answer over a QP; 0: it is none.
uint32_t info_of(const packet::Outgoing &out) {
  roce_packet packet{};
  if (out.shape) {
    packet = out.shape->known();
  } else {
    const int class_ = roce_parse(out.raw.data(), out.raw.data() + out.raw.size(),
                                  roce_swap16(ROCE_UDP_PORT), &packet);
    if (!roce_is_roce(class_))
      return 0;
  }
  const bool answer = packet.info & ROCE_OP_RESPONSE && !(packet.info & ROCE_OP_CNP);
  return answer ? packet.info : 0;
}

std::vector<uint8_t> whole(const packet::Outgoing &out) {
  if (!out.shape)
    return {out.raw.begin(), out.raw.end()};
  std::vector<uint8_t> frame(out.shape->bytes().begin(), out.shape->bytes().end());
  out.shape->stamp(frame.data(), out.fields);
  if (!out.payload.empty())
    out.shape->set_payload(frame.data(), out.payload);
  return frame;
}

} // namespace

AnswerFaults::AnswerFaults(const std::vector<AnswerFault> &faults, uint64_t seed) {
  for (size_t i = 0; i < faults.size(); i++)
    faults_.push_back({.what = faults[i], .when = requester::Faults({faults[i].when}, seed + i)});
}

void AnswerFaults::restart() {
  for (Fault &fault : faults_)
    fault.seen = 0;
  held_.clear();
  answers_ = done_ = first_ns_ = 0;
  silent_ = false;
}

bool AnswerFaults::happens(Fault &fault, uint64_t now) {
  if (fault.when.of(++fault.seen).none())
    return false;
  done_++;
  first_ns_ = first_ns_ ? first_ns_ : now;
  return true;
}

void AnswerFaults::hold(uint64_t due, const packet::Outgoing &out) {
  held_.push_back({due, whole(out)});
}

bool AnswerFaults::change(uint64_t now, packet::Outgoing &out) {
  using Kind = AnswerFault::Kind;
  const uint32_t info = info_of(out);
  if (!info)
    return true;
  const bool last_of_read = info & ROCE_OP_READ_RESPONSE && info & (ROCE_OP_LAST | ROCE_OP_ONLY);
  for (Fault &fault : faults_) {
    const Kind kind = fault.what.kind;
    if ((kind == Kind::Cut && !last_of_read) || (kind == Kind::Nak && !(info & ROCE_OP_ACK)) ||
        (kind == Kind::Silent && silent_) || !happens(fault, now))
      continue;
    switch (kind) {
    case Kind::Silent:
      silent_ = true;
      break;
    case Kind::Skip:
    case Kind::Cut:
      return false;
    case Kind::Late:
      hold(now + fault.what.late_ns, out);
      return false;
    case Kind::Repeat:
      hold(now, out);
      break;
    case Kind::Icrc:
      out.damage = packet::Damage::Icrc;
      if (!out.shape) {
        sent_.push_back(whole(out));
        sent_.back().back() ^= 0xff;
        out.raw = sent_.back();
      }
      break;
    case Kind::Psn:
      out.fields.psn = roce_psn_add(out.fields.psn, 1);
      break;
    case Kind::Nak:
      out.fields.aeth = uint32_t{kNakSyndrome} << 24 | uint32_t{fault.what.nak_code} << 24 |
                        (out.fields.aeth & ROCE_PSN_MASK);
      break;
    }
  }
  return !silent_;
}

size_t AnswerFaults::apply(uint64_t now, std::span<packet::Outgoing> out, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (change(now, out[i]))
      out[kept++] = out[i];
  return kept;
}

size_t AnswerFaults::take_due(uint64_t now, std::span<packet::Outgoing> out) {
  sent_.clear();
  size_t count = 0;
  for (auto held = held_.begin(); held != held_.end() && count < out.size();) {
    if (held->due > now) {
      ++held;
      continue;
    }
    sent_.push_back(std::move(held->frame));
    out[count++] = {.shape = nullptr, .fields = {}, .raw = sent_.back()};
    held = held_.erase(held);
  }
  return count;
}

uint64_t AnswerFaults::wake_at() const {
  uint64_t at = kNever;
  for (const Held &held : held_)
    at = std::min(at, held.due);
  return at;
}

} // namespace xr::station
