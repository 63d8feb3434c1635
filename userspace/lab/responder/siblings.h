// SPDX-License-Identifier: Apache-2.0
// What the responders of a port share, each of which has a queue of it: which of them has which
// connection, so that a frame on another queue gets to it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "packet/peer_map.h"

namespace xr::responder {

// Called by the threads of all.
class Siblings {
public:
  Siblings() = default;
  Siblings(const Siblings &) = delete;
  Siblings &operator=(const Siblings &) = delete;
  virtual ~Siblings() = default;

  virtual uint32_t count() const = 0;
  // The number of the responder that has the connection; if none has, then `taker` does from now
  // on. Nothing: there is no room for another connection.
  virtual std::optional<uint32_t> owner(const packet::PeerKey &key, uint32_t taker) = 0;
  virtual std::optional<uint32_t> find(const packet::PeerKey &key) = 0;
  // `owner` does not have the connection any more.
  virtual void forget(const packet::PeerKey &key, uint32_t owner) = 0;
  // Gives a copy of a received frame to responder `to`. False: there was no room.
  virtual bool pass(uint32_t to, std::span<const uint8_t> frame, roce_class class_,
                    const roce_packet &packet) = 0;
};

} // namespace xr::responder
