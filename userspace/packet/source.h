// SPDX-License-Identifier: Apache-2.0
// Who makes packets: a requester or a responder, as whoever owns a socket and a clock sees it. Time
// comes in as a parameter, nanoseconds of any clock that does not go back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/template.h"
#include "roce/parse.h"

namespace xr::packet {

constexpr uint64_t kNever = UINT64_MAX;

// What is wrong with a packet, on purpose.
enum class Damage : uint8_t { None, Icrc, Pad };

// A packet that is to leave now.
struct Outgoing {
  // Its bytes, but for `fields`; lives as long as the source. nullptr: `raw` is all of it.
  const packet::Template *shape = nullptr;
  packet::Fields fields;
  Damage damage = Damage::None;
  std::span<const uint8_t> raw = {}; // until the next call of next()
  uint64_t due = 0;                  // when its schedule had it leave; 0: there is none
};

class Source {
public:
  Source() = default;
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;
  virtual ~Source() = default;

  // A frame came in: whole, and parsed (roce_parse and roce_check_length) as `class_` and `packet`.
  virtual void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                       const roce_packet &packet) = 0;

  // Fills in packets that are to leave now, as many as there is room for; how many there are.
  virtual size_t next(uint64_t now, std::span<Outgoing> out) = 0;

  // When next() has something to do again if nothing comes in; kNever: not by itself. `now` or
  // before: at once.
  virtual uint64_t wake_at() const = 0;

  // Nothing more will come, and nothing is waited for.
  virtual bool done() const = 0;
};

} // namespace xr::packet
