// SPDX-License-Identifier: Apache-2.0
// Echo requests of a station's addresses, and which of them are answered.
#pragma once

#include <cstdint>
#include <vector>

#include "packet/echo.h"
#include "packet/source.h"

namespace xr::station {

class Pings : public packet::Source {
public:
  static constexpr uint64_t kWaitNs = 300'000'000; // for an answer: as OTG's model says

  enum class From { Here, ElsewhereInTheLag };
  // Instead of those before; sent from the next round on, or by another port, whose answers may
  // come here. Their sequences are set here.
  void ask(std::vector<packet::EchoMessage> requests, uint16_t identifier, From from = From::Here);
  void forget() { asked_.clear(); }
  bool answered(size_t number) const { return asked_[number].answered; }
  // All are answered, or were waited for.
  bool settled(uint64_t now) const;

  // Whether it is an answer to one of them.
  bool receive(std::span<const uint8_t> frame);
  void receive(uint64_t, std::span<const uint8_t> frame, roce_class, const roce_packet &) override {
    receive(frame);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return settled(kNever); }

private:
  struct Asked {
    packet::EchoMessage request;
    std::vector<uint8_t> frame; // while it is sent
    uint64_t sent_ns = 0;       // 0: not yet; 1: elsewhere
    bool answered = false;
  };
  std::vector<Asked> asked_;
  uint16_t identifier_ = 0;
};

} // namespace xr::station
