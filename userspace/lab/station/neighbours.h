// SPDX-License-Identifier: Apache-2.0
// Resolves the MACs of neighbours by ARP and neighbour discovery, beside a responder that answers
// such questions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/neighbour.h"
#include "packet/source.h"

namespace xr::station {

// Who asks, and for whom.
struct NeighbourQuestion {
  packet::Address source{}, target{};
  packet::Mac mac{}; // of the source
  std::vector<packet::Tag> tags;
};

class Neighbours : public packet::Source {
public:
  static constexpr unsigned kTries = 5;
  static constexpr uint64_t kAgain = 200'000'000; // ns between them

  // Instead of those before. Asked from the next round on.
  void ask(std::vector<NeighbourQuestion> questions);
  // The answer to question `number`; nullopt: there is none.
  std::optional<packet::Mac> mac(size_t number) const { return asked_[number].mac; }
  // All are answered, or were asked kTries times.
  bool settled(uint64_t now) const;

  // Whether it is an answer to a question, or from one who is asked for.
  bool receive(std::span<const uint8_t> frame);
  void receive(uint64_t, std::span<const uint8_t> frame, roce_class, const roce_packet &) override {
    receive(frame);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return settled(kNever); }

private:
  struct Asked {
    NeighbourQuestion question;
    std::optional<packet::Mac> mac;
    unsigned tries = 0;
    uint64_t next = 0;
  };
  std::vector<Asked> asked_;
  std::vector<std::vector<uint8_t>> sent_; // keeps the frames of the last next() valid
};

} // namespace xr::station
