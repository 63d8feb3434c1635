// SPDX-License-Identifier: Apache-2.0
#include "station/lacp.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace xr::station {

namespace {

constexpr packet::Mac kSlowProtocols = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};
constexpr size_t kEthernet = 14, kLacpduBytes = 110; // from the subtype to the last reserved byte
constexpr uint8_t kLacpSubtype = 1, kLacpVersion = 1;
constexpr size_t kActorAt = 2, kPartnerAt = 22, kCollectorAt = 42; // in the LACPDU
constexpr uint8_t kEndLength = 20, kCollectorLength = 16;
constexpr uint8_t kTold = kLacpActivity | kLacpShortTimeout | kLacpAggregation |
                          kLacpSynchronization; // what a partner should know of the other end

void put16(uint8_t *at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
uint16_t get16(const uint8_t *at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

void put_end(uint8_t *at, uint8_t type, const LacpEnd &end) {
  at[0] = type;
  at[1] = kEndLength;
  put16(at + 2, end.system_priority);
  std::ranges::copy(end.system, at + 4);
  put16(at + 10, end.key);
  put16(at + 12, end.port_priority);
  put16(at + 14, end.port);
  at[16] = end.state;
}

LacpEnd get_end(const uint8_t *at) {
  LacpEnd end;
  end.system_priority = get16(at + 2);
  std::copy_n(at + 4, end.system.size(), end.system.begin());
  end.key = get16(at + 10);
  end.port_priority = get16(at + 12);
  end.port = get16(at + 14);
  end.state = at[16];
  return end;
}

// All but the state, of which the one bit that says which kind of link it is.
bool is_same_end(const LacpEnd &a, const LacpEnd &b) {
  return std::tie(a.system_priority, a.system, a.key, a.port_priority, a.port) ==
             std::tie(b.system_priority, b.system, b.key, b.port_priority, b.port) &&
         !((a.state ^ b.state) & kLacpAggregation);
}

} // namespace

std::vector<uint8_t> lacp_frame(const packet::Mac &source, const Lacpdu &pdu) {
  std::vector<uint8_t> frame(kEthernet + kLacpduBytes);
  std::ranges::copy(kSlowProtocols, frame.begin());
  std::ranges::copy(source, frame.begin() + 6);
  put16(&frame[12], 0x8809);
  uint8_t *const at = &frame[kEthernet];
  at[0] = kLacpSubtype;
  at[1] = kLacpVersion;
  put_end(at + kActorAt, 1, pdu.actor);
  put_end(at + kPartnerAt, 2, pdu.partner);
  at[kCollectorAt] = 3;
  at[kCollectorAt + 1] = kCollectorLength;
  put16(at + kCollectorAt + 2, pdu.collector_max_delay);
  return frame; // the terminator and what follows are zeros
}

bool is_lacp(std::span<const uint8_t> frame) {
  return frame.size() > kEthernet && get16(&frame[12]) == 0x8809 &&
         frame[kEthernet] == kLacpSubtype &&
         std::equal(kSlowProtocols.begin(), kSlowProtocols.end(), frame.begin());
}

std::optional<Lacpdu> parse_lacp(std::span<const uint8_t> frame) {
  if (!is_lacp(frame) || frame.size() < kEthernet + kLacpduBytes)
    return {};
  const uint8_t *const at = &frame[kEthernet];
  // Versions and the types of TLVs are not validated (IEEE 802.1AX, Recognize and process LACPDUs).
  if (at[kActorAt + 1] != kEndLength || at[kPartnerAt + 1] != kEndLength ||
      at[kCollectorAt + 1] != kCollectorLength)
    return {};
  return Lacpdu{.actor = get_end(at + kActorAt),
                .partner = get_end(at + kPartnerAt),
                .collector_max_delay = get16(at + kCollectorAt + 2)};
}

Lacp::Lacp(const LacpOptions &options) : options_(options), actor_(options.actor) {
  actor_.state = static_cast<uint8_t>(kLacpAggregation | kLacpDefaulted |
                                      (options.active ? kLacpActivity : 0) |
                                      (options.timeout_ns < kLong ? kLacpShortTimeout : 0));
}

void Lacp::enable(uint64_t now, bool on) {
  const std::lock_guard guard(mutex_);
  if (on == (state_ != Receive::Disabled))
    return;
  forget_partner();
  if (on) {
    expire(now);
    need_to_transmit_ = true;
  } else {
    state_ = Receive::Disabled;
    current_while_ = kNever;
    actor_.state &= static_cast<uint8_t>(~kLacpExpired);
  }
  update_mux();
}

void Lacp::forget_partner() {
  partner_ = {};
  heard_ = selected_ = false;
  actor_.state |= kLacpDefaulted;
}

void Lacp::expire(uint64_t now) {
  state_ = Receive::Expired;
  partner_.state &= static_cast<uint8_t>(~kLacpSynchronization);
  partner_.state |= kLacpShortTimeout;
  actor_.state |= kLacpExpired;
  current_while_ = now + kShort;
}

void Lacp::select(const std::optional<LacpEnd> &partner, bool on) {
  const std::lock_guard guard(mutex_);
  if (heard_ ? partner != partner_ : partner.has_value())
    return;
  selected_ = on && heard_;
  update_mux();
}

void Lacp::set_admin(bool up) {
  const std::lock_guard guard(mutex_);
  admin_ = up;
  update_mux();
}

// Collecting and distributing follow from what both ends say.
void Lacp::update_mux() {
  uint8_t state = actor_.state & static_cast<uint8_t>(
                                     ~(kLacpSynchronization | kLacpCollecting | kLacpDistributing));
  if (state_ != Receive::Disabled && selected_ && admin_) {
    state |= kLacpSynchronization;
    if (partner_.state & kLacpSynchronization) {
      state |= kLacpCollecting;
      if (partner_.state & kLacpCollecting)
        state |= kLacpDistributing;
    }
  }
  need_to_transmit_ |= state != actor_.state;
  actor_.state = state;
}

bool Lacp::receive(uint64_t now, std::span<const uint8_t> frame) {
  if (!is_lacp(frame))
    return false;
  const std::lock_guard guard(mutex_);
  counts_.received_bytes += frame.size();
  const auto pdu = parse_lacp(frame);
  if (!pdu) {
    counts_.errors++;
    return true;
  }
  counts_.received++;
  if (state_ != Receive::Disabled)
    take(now, *pdu);
  return true;
}

void Lacp::take(uint64_t now, const Lacpdu &pdu) {
  const bool knows_me = is_same_end(pdu.partner, actor_);
  if (!knows_me || ((pdu.partner.state ^ actor_.state) & kTold))
    need_to_transmit_ = true;
  if (!heard_ || !is_same_end(partner_, pdu.actor))
    selected_ = false;
  partner_ = pdu.actor;
  heard_ = true;
  const bool maintained = (pdu.actor.state & kLacpActivity) ||
                          ((actor_.state & kLacpActivity) && (pdu.partner.state & kLacpActivity));
  if (!maintained || (!knows_me && (pdu.actor.state & kLacpAggregation)))
    partner_.state &= static_cast<uint8_t>(~kLacpSynchronization);
  actor_.state &= static_cast<uint8_t>(~(kLacpExpired | kLacpDefaulted));
  state_ = Receive::Current;
  current_while_ = now + options_.timeout_ns;
  update_mux();
}

bool Lacp::speaks() const {
  return state_ != Receive::Disabled &&
         (options_.active || (heard_ && (partner_.state & kLacpActivity)));
}

// When the next LACPDU leaves.
uint64_t Lacp::due() const {
  if (!speaks())
    return kNever;
  const uint64_t oldest = sent_at_[next_sent_];
  const uint64_t allowed = oldest ? oldest + kSecond : 0;
  if (need_to_transmit_ || !last_sent_)
    return allowed;
  const uint64_t interval = options_.interval_ns                            ? options_.interval_ns
                            : !heard_ || partner_.state & kLacpShortTimeout ? kFast
                                                                            : kSlow;
  return std::max(allowed, *last_sent_ + interval);
}

size_t Lacp::next(uint64_t now, std::span<packet::Outgoing> out) {
  const std::lock_guard guard(mutex_);
  if (now >= current_while_) {
    if (state_ == Receive::Current) {
      expire(now);
    } else {
      forget_partner();
      state_ = Receive::Defaulted;
      actor_.state &= static_cast<uint8_t>(~kLacpExpired);
      current_while_ = kNever;
    }
    need_to_transmit_ = true;
    update_mux();
  }
  if (out.empty() || now < due())
    return 0;
  frame_ = lacp_frame(options_.mac, {.actor = actor_, .partner = partner_});
  out[0] = {};
  out[0].raw = frame_;
  need_to_transmit_ = false;
  last_sent_ = sent_at_[next_sent_] = now;
  next_sent_ = (next_sent_ + 1) % sent_at_.size();
  counts_.sent++;
  counts_.sent_bytes += frame_.size();
  return 1;
}

uint64_t Lacp::wake_at() const {
  const std::lock_guard guard(mutex_);
  return std::min(current_while_, due());
}

std::optional<LacpEnd> Lacp::heard() const {
  const std::lock_guard guard(mutex_);
  return heard_ ? std::optional(partner_) : std::nullopt;
}

std::vector<bool> lacp_selection(const LacpEnd &own,
                                 std::span<const std::optional<LacpEnd>> partners) {
  const auto is_same_group = [](const LacpEnd &a, const LacpEnd &b) {
    return std::tie(a.system_priority, a.system, a.key) ==
           std::tie(b.system_priority, b.system, b.key);
  };
  const auto members = [&](const LacpEnd &with) {
    std::vector<bool> made;
    bool only = !(with.state & kLacpAggregation), taken = false;
    for (const auto &each : partners) {
      const bool fits = each && is_same_group(*each, with) && !(only && taken) &&
                        !((each->state ^ with.state) & kLacpAggregation) &&
                        !is_same_group(*each, own);
      taken |= fits;
      made.push_back(fits);
    }
    return made;
  };
  std::vector<bool> best(partners.size());
  for (const auto &each : partners)
    if (each)
      if (auto made = members(*each);
          std::ranges::count(made, true) > std::ranges::count(best, true))
        best = std::move(made);
  return best;
}

} // namespace xr::station
