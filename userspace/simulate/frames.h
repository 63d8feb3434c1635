// SPDX-License-Identifier: Apache-2.0
// The frames that are on their way: headers, and a length that includes the payload that nobody
// reads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet/source.h"
#include "wire/frame.h"

namespace xr::simulate {

class FramePool {
public:
  // The longest headers: two VLAN tags, IPv6, UDP, BTH, RDETH, DETH and AtomicETH are 122 bytes.
  static constexpr uint32_t kHeaders = 128;

  struct Info {
    uint32_t length = 0;      // bytes without FCS
    uint32_t destination = 0; // host
    uint8_t l3 = 0;           // offset of the IP header or GRH
    uint8_t headers = 0;      // bytes
    bool bad_icrc = false;
  };

  uint32_t take() {
    if (free_.empty()) {
      infos_.emplace_back();
      headers_.emplace_back();
      return static_cast<uint32_t>(infos_.size() - 1);
    }
    const uint32_t handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give_back(uint32_t handle) { free_.push_back(handle); }
  size_t in_use() const { return infos_.size() - free_.size(); }

  Info &info(uint32_t handle) { return infos_[handle]; }
  uint8_t *headers(uint32_t handle) { return headers_[handle].data(); }

private:
  std::vector<Info> infos_;
  std::vector<std::array<uint8_t, kHeaders>> headers_;
  std::vector<uint32_t> free_;
};

// Host i has the address 10.0.0.0 + i + 1; of IPv6 and RoCEv1 fd00:: with these four bytes.
packet::Address address_of(uint32_t host, packet::Network network);
packet::Mac mac_of(uint32_t host);

// Writes a packet of a source into `handle`, and returns it as links see it.
wire::Frame make_frame(FramePool &pool, uint32_t handle, const packet::Outgoing &packet);
// Writes CE into the IP header.
void write_ce(uint8_t *headers, uint8_t l3);
// A hash of addresses, protocol and UDP ports, for ECMP; `salt` differs from switch to switch.
uint64_t path_hash(const uint8_t *headers, uint8_t l3, uint64_t salt);

} // namespace xr::simulate
