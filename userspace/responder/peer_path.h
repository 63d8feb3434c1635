// SPDX-License-Identifier: Apache-2.0
// The way back to whom a frame came from, and the frames that answers are made of.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "packet/template.h"
#include "roce/parse.h"

namespace xr::responder {

// MACs and addresses swapped, tags and network kind the same.
packet::Path path_back(std::span<const uint8_t> frame, const roce_packet &packet, uint8_t tos);

// 0xc000 to 0xffff, by QPN.
uint16_t answer_port(uint32_t qpn);

class PeerPath {
public:
  // `budget` is what all templates together may still take, in bytes.
  PeerPath(std::span<const uint8_t> frame, const roce_packet &packet, uint8_t tos, uint8_t cnp_tos,
           size_t &budget);

  // Whether a frame came the same way.
  bool matches(std::span<const uint8_t> frame, const roce_packet &packet) const;
  static std::string identity(std::span<const uint8_t> frame, const roce_packet &packet);

  // nullptr: the budget is used up; build() makes the same.
  const packet::Template *shape(uint8_t opcode, uint32_t payload);
  // A whole frame of it.
  std::vector<uint8_t> build(uint8_t opcode, uint32_t payload, const packet::Fields &fields,
                             uint64_t original) const;

private:
  const packet::Template *make(uint8_t opcode, uint32_t payload);
  packet::Path path_for(uint8_t opcode) const;

  std::string identity_;
  packet::Path path_;
  uint8_t cnp_tos_;
  size_t &budget_;
  std::array<const packet::Template *, 2> acks_{}; // RC, XRC: what is wanted most
  std::unordered_map<uint32_t, std::unique_ptr<packet::Template>> shapes_;
};

// All of them, at most `room`.
class PeerPaths {
public:
  PeerPaths(size_t room, uint8_t tos, uint8_t cnp_tos)
      : room_(room), tos_(tos), cnp_tos_(cnp_tos) {}
  // nullptr: no room.
  PeerPath *of(std::span<const uint8_t> frame, const roce_packet &packet);

private:
  static constexpr size_t kTemplateBytes = 256 << 20;

  size_t room_, budget_ = kTemplateBytes;
  uint8_t tos_, cnp_tos_;
  std::unordered_map<std::string, std::unique_ptr<PeerPath>> paths_;
};

} // namespace xr::responder
