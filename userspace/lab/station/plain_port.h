// SPDX-License-Identifier: Apache-2.0
// Plain flows of a port: those that it sends, and all that arrive. Stamps have the time of `now`:
// ports that send to one another have the same clock.
#pragma once

#include <utility>
#include <vector>

#include "packet/source.h"
#include "requester/plain.h"
#include "requester/plain_receiver.h"

namespace xr::station {

class PlainPort : public packet::Source {
public:
  // `flows`: that it sends. `receiver`: of the flows of all ports.
  PlainPort(std::vector<requester::PlainFlow> flows, requester::PlainReceiver receiver)
      : source_(std::move(flows)), receiver_(std::move(receiver)) {}

  // Whether it is a frame of a flow.
  bool receive(uint64_t now, std::span<const uint8_t> frame) {
    return receiver_.receive(now, frame);
  }
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class,
               const roce_packet &) override {
    receive(now, frame);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override {
    return source_.next(now, out);
  }
  uint64_t wake_at() const override { return source_.wake_at(); }
  bool done() const override { return false; }

  requester::PlainSource &source() { return source_; }
  requester::PlainReceiver &receiver() { return receiver_; }

private:
  requester::PlainSource source_;
  requester::PlainReceiver receiver_;
};

} // namespace xr::station
