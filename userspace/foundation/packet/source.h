// SPDX-License-Identifier: Apache-2.0
// Interface of packet sources (requesters and responders) to the loop with the socket and the
// clock. Times are in nanoseconds of any monotonic clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "packet/template.h"
#include "roce/parse.h"

namespace xr::packet {

// Deliberate damage to a packet.
enum class Damage : uint8_t { None, Icrc, Pad };

// A packet to send now.
struct Outgoing {
  // The bytes without `fields`; valid as long as the source. nullptr: `raw` is the whole frame.
  const packet::Template *shape = nullptr;
  packet::Fields fields;
  // Replaces the template's payload, as long as that; valid until the next call of next(). Empty:
  // it stays. Not with a stamp.
  std::span<const uint8_t> payload = {};
  Damage damage = Damage::None;
  std::span<const uint8_t> raw = {}; // valid until the next call of next()
  uint64_t due = 0;                  // scheduled time; 0: none
};

class Source {
public:
  Source() = default;
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;
  virtual ~Source() = default;

  // Handles a complete received frame, parsed by roce_parse and roce_check_length into `class_` and
  // `packet`.
  virtual void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                       const roce_packet &packet) = 0;

  // Writes packets to send now to `out`, as many as fit; returns their number.
  virtual size_t next(uint64_t now, std::span<Outgoing> out) = 0;

  // Time of the next call of next() if no frame arrives; kNever: none. `now` or earlier: at once.
  virtual uint64_t wake_at() const = 0;

  // Nothing remains to send or to receive.
  virtual bool done() const = 0;

  // The packets of the last next() or last() were given to the kernel at `now`. Only called where
  // the loop was asked for it.
  virtual void flushed(uint64_t /*now*/) {}

  // Writes what must be sent before the run ends, be it done or stopped; returns the number.
  virtual size_t last(std::span<Outgoing> /*out*/) { return 0; }
};

} // namespace xr::packet
