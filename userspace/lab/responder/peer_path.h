// SPDX-License-Identifier: Apache-2.0
// The path back to a peer, and the frame templates for responses on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "packet/pauses.h"
#include "packet/template.h"
#include "roce/parse.h"

namespace xr::responder {

// The path of a frame reversed: MACs and addresses swapped, same VLAN tags and network protocol.
packet::Path path_back(std::span<const uint8_t> frame, const roce_packet &packet, uint8_t tos);

// The UDP source port of responses of a QPN: 0xc000 to 0xffff.
uint16_t response_port(uint32_t qpn);

// The TOS bytes of responses.
struct ResponseTos {
  uint8_t answer = ROCE_ECN_ECT0, nak = ROCE_ECN_ECT0, cnp = 48 << 2;
};

// What differs between ACKNOWLEDGE packets apart from their fields.
struct AckKind {
  bool echo = false; // with BECN, which echoes a CE mark
  bool nak = false;  // NAK or RNR NAK
  unsigned index() const { return static_cast<unsigned>(echo) | static_cast<unsigned>(nak) << 1; }
};

class PeerPath {
public:
  // `budget`: bytes that all templates of all paths may still use.
  PeerPath(std::span<const uint8_t> frame, const roce_packet &packet, const ResponseTos &tos,
           bool headers_only, size_t &budget);

  // True if the frame came over the same path.
  bool matches(std::span<const uint8_t> frame, const roce_packet &packet) const;
  static std::string identity(std::span<const uint8_t> frame, const roce_packet &packet);

  // nullptr: the budget is used up; use build() instead.
  const packet::Template *template_for(uint8_t opcode, uint32_t payload, AckKind kind = {});
  unsigned priority_for(uint8_t opcode) const { return packet::priority_of(path_for(opcode, {})); }
  // Builds a complete frame without a template.
  std::vector<uint8_t> build(uint8_t opcode, std::span<const uint8_t> payload,
                             const packet::Fields &fields, uint64_t original,
                             AckKind kind = {}) const;

private:
  const packet::Template *make(uint8_t opcode, uint32_t payload, AckKind kind);
  packet::Path path_for(uint8_t opcode, AckKind kind) const;

  std::string identity_;
  packet::Path path_;
  ResponseTos tos_;
  bool headers_only_;
  size_t &budget_;
  // ACKNOWLEDGE packets, the most frequent ones: of RC, then of XRC, by AckKind.
  std::array<const packet::Template *, 8> acks_{};
  std::unordered_map<uint32_t, std::unique_ptr<packet::Template>> templates_;
};

// All paths, at most `room`.
class PeerPaths {
public:
  // `headers_only`: as in ResponderOptions.
  PeerPaths(size_t room, const ResponseTos &tos, bool headers_only)
      : room_(room), tos_(tos), headers_only_(headers_only) {}
  // The path of a frame, added if it is new. nullptr: the table is full.
  PeerPath *find_or_add(std::span<const uint8_t> frame, const roce_packet &packet);

private:
  static constexpr size_t kTemplateBytes = 256 << 20;

  size_t room_, budget_ = kTemplateBytes;
  ResponseTos tos_;
  bool headers_only_;
  std::unordered_map<std::string, std::unique_ptr<PeerPath>> paths_;
};

} // namespace xr::responder
