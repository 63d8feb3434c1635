// SPDX-License-Identifier: Apache-2.0
// LLDP (IEEE 802.1AB) of one port, in virtual time: what it says of itself, and the neighbours that
// it hears, each until its TTL ends. For any thread: the port's sends and receives, another one
// reads.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packet/frame.h"
#include "packet/source.h"

namespace xr::station {

// A chassis or a port, with the subtype of its TLV.
struct LldpId {
  uint8_t subtype = 0;
  std::vector<uint8_t> value; // 1 to 255 bytes
  bool operator==(const LldpId &) const = default;
};
inline constexpr uint8_t kLldpChassisMac = 4, kLldpChassisInterfaceName = 6, kLldpChassisLocal = 7;
inline constexpr uint8_t kLldpPortMac = 3, kLldpPortInterfaceName = 5, kLldpPortLocal = 7;

// An organisationally specific TLV.
struct LldpOrganisation {
  std::array<uint8_t, 3> oui{};
  uint8_t subtype = 0;
  std::vector<uint8_t> information; // at most 507 bytes
  bool operator==(const LldpOrganisation &) const = default;
};

struct LldpOptions {
  packet::Mac mac{};
  LldpId chassis, port;
  std::optional<std::string> system_name; // at most 255 bytes
  std::vector<LldpOrganisation> organisations;
  uint16_t hold_s = 120;
  uint64_t interval_ns = 30'000'000'000;
};

// The whole frame without FCS. TTL 0: a shutdown LLDPDU, which has the three mandatory TLVs alone.
std::vector<uint8_t> lldp_frame(const LldpOptions &options, uint16_t ttl_s);
// Whether it is to a group address of LLDP, and of its EtherType.
bool is_lldp(std::span<const uint8_t> frame);

// The system capabilities' bits; those of `enabled` too.
struct LldpCapabilities {
  uint16_t has = 0, enabled = 0;
};

// An address of `family` (IANA's address family numbers: 1 is IPv4, 2 IPv6).
struct LldpManagement {
  uint8_t family = 0;
  std::vector<uint8_t> address;
};

// What an LLDPDU says.
struct LldpInformation {
  LldpId chassis, port;
  uint16_t ttl_s = 0;
  std::optional<std::string> port_description, system_name, system_description;
  std::optional<LldpCapabilities> capabilities;
  std::vector<LldpManagement> management;
  std::vector<LldpOrganisation> organisations;
};

// An LLDPDU as its receiver has it. Without `information` it is discarded: one of its three
// mandatory TLVs is not in its place, is there twice, or has a wrong length.
struct LldpRead {
  std::optional<LldpInformation> information;
  uint64_t discarded = 0, unknown = 0; // TLVs
};
LldpRead parse_lldp(std::span<const uint8_t> frame); // is_lldp() holds

struct LldpNeighbour {
  LldpInformation information;
  uint64_t number = 0;              // of this port, from 1
  uint64_t since_ns = 0, at_ns = 0; // of its first LLDPDU and of its last
  uint64_t until_ns() const { return at_ns + information.ttl_s * uint64_t{1'000'000'000}; }
};

struct LldpCounts {
  uint64_t sent = 0, received = 0;
  uint64_t errors = 0;    // of `received`: those with any error
  uint64_t discarded = 0; // of `received`
  uint64_t tlvs_discarded = 0, tlvs_unknown = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
};

class Lldp : public packet::Source {
public:
  static constexpr size_t kMostNeighbours = 256; // LLDPDUs of further ones are discarded

  explicit Lldp(LldpOptions options) : options_(std::move(options)) {}

  // At first it is off: it sends nothing, and has no neighbours. At its start and end it sends an
  // LLDPDU, at the end a shutdown one.
  void enable(uint64_t now, bool on);
  // The shutdown LLDPDU has left.
  bool is_quiet() const;

  // Whether it is an LLDP frame; also when it is off.
  bool receive(uint64_t now, std::span<const uint8_t> frame);
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class,
               const roce_packet &) override {
    receive(now, frame);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  // By their numbers.
  std::vector<LldpNeighbour> neighbours(uint64_t now) const;
  LldpCounts counts() const;

private:
  void keep(uint64_t now, LldpInformation information);

  const LldpOptions options_;
  mutable std::mutex mutex_; // of what follows
  LldpCounts counts_;
  std::vector<LldpNeighbour> neighbours_;
  bool on_ = false, shutdown_ = false; // shutdown_: is to be sent
  uint64_t due_ = kNever, numbers_ = 0;
  std::vector<uint8_t> frame_; // of the last next()
};

} // namespace xr::station
