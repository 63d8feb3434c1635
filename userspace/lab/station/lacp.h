// SPDX-License-Identifier: Apache-2.0
// LACP (IEEE 802.1AX) of one port of a LAG, in virtual time: what it says of itself, what it has
// heard of its partner, and whether frames may be sent. Selection, mux, receive, periodic and
// transmit machines. Ports of a LAG are fixed, so that none waits for others (wait_while). For any
// thread: the port's sends and receives, another one chooses for the whole LAG.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"
#include "packet/source.h"

namespace xr::station {

// Bits of the state of one end.
inline constexpr uint8_t kLacpActivity = 0x01, kLacpShortTimeout = 0x02, kLacpAggregation = 0x04,
                         kLacpSynchronization = 0x08, kLacpCollecting = 0x10,
                         kLacpDistributing = 0x20, kLacpDefaulted = 0x40, kLacpExpired = 0x80;

// One end of a link, as LACPDUs have it.
struct LacpEnd {
  uint16_t system_priority = 0;
  packet::Mac system{};
  uint16_t key = 0, port_priority = 0, port = 0;
  uint8_t state = 0;
  bool operator==(const LacpEnd &) const = default;
};

struct Lacpdu {
  LacpEnd actor, partner;
  uint16_t collector_max_delay = 0; // in 10 us
};

// The whole frame without FCS, from a port with this MAC.
std::vector<uint8_t> lacp_frame(const packet::Mac &source, const Lacpdu &pdu);
// Whether it is a slow protocol's frame with the subtype of LACP.
bool is_lacp(std::span<const uint8_t> frame);
// nullopt: it is too short, or its TLVs are not those of version 1.
std::optional<Lacpdu> parse_lacp(std::span<const uint8_t> frame);

struct LacpOptions {
  LacpEnd actor; // without `state`
  packet::Mac mac{};
  bool active = true;
  uint64_t timeout_ns = 3'000'000'000; // the partner is asked for short ones where it is below 90 s
  uint64_t interval_ns = 0;            // of LACPDUs; 0: as the partner asks, 1 or 30 s
};

struct LacpCounts {
  uint64_t sent = 0, received = 0, errors = 0; // LACPDUs; errors: not in `received`
  uint64_t sent_bytes = 0, received_bytes = 0; // with those of errors
};

class Lacp : public packet::Source {
public:
  static constexpr uint64_t kSecond = 1'000'000'000;
  static constexpr uint64_t kShort = 3 * kSecond, kLong = 90 * kSecond; // timeouts
  static constexpr uint64_t kFast = kSecond, kSlow = 30 * kSecond;      // intervals
  static constexpr size_t kMostASecond = 3;                             // LACPDUs

  explicit Lacp(const LacpOptions &options);

  // Whether the port's link is up and LACP runs there. At first it does not.
  void enable(uint64_t now, bool on);
  // Whether the LAG takes the port, by the partner that it hears: lacp_selection(). Without an
  // effect where it hears another one by now.
  void select(const std::optional<LacpEnd> &partner, bool on);
  // false: `synchronization` stays unset.
  void set_admin(bool up);

  // Whether it is a LACPDU.
  bool receive(uint64_t now, std::span<const uint8_t> frame);
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class,
               const roce_packet &) override {
    receive(now, frame);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  LacpEnd actor() const { return locked(actor_); }
  LacpEnd partner() const { return locked(partner_); } // without one: zeros
  // The partner, if there is one.
  std::optional<LacpEnd> heard() const;
  bool distributing() const { return actor().state & kLacpDistributing; }
  LacpCounts counts() const { return locked(counts_); }

private:
  enum class Receive : uint8_t { Disabled, Expired, Defaulted, Current };

  template <typename T> T locked(const T &value) const {
    const std::lock_guard guard(mutex_);
    return value;
  }
  void expire(uint64_t now);
  void forget_partner();
  void take(uint64_t now, const Lacpdu &pdu);
  void update_mux();
  bool speaks() const; // one of both ends is active
  uint64_t due() const;

  const LacpOptions options_;
  mutable std::mutex mutex_; // of what follows
  LacpEnd actor_, partner_;
  LacpCounts counts_;
  Receive state_ = Receive::Disabled;
  bool heard_ = false, selected_ = false, admin_ = true;
  bool need_to_transmit_ = false;
  uint64_t current_while_ = kNever;
  std::array<uint64_t, kMostASecond> sent_at_{}; // 0: none; the oldest is at next_sent_
  size_t next_sent_ = 0;
  std::optional<uint64_t> last_sent_;
  std::vector<uint8_t> frame_; // of the last next()
};

// Which ports of a LAG may aggregate: those with the partner that most of them hear, of these the
// one of the first. A partner that does not aggregate has one port; one that is the LAG itself has
// none.
std::vector<bool> lacp_selection(const LacpEnd &own,
                                 std::span<const std::optional<LacpEnd>> partners);

} // namespace xr::station
