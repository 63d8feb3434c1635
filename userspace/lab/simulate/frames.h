// SPDX-License-Identifier: Apache-2.0
// The frames that are on their way: a template and the fields in which a frame differs from it.
// Their bytes are not written: what receivers read is known without them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/source.h"
#include "wire/frame.h"

namespace xr::simulate {

// The longest headers: two VLAN tags, IPv6, UDP, BTH, RDETH, DETH and AtomicETH are 122 bytes.
inline constexpr uint32_t kHeaders = 128;

struct HeldFrame {
  const packet::Template *shape = nullptr; // nullptr: its headers are in FramePool::raw()
  packet::Fields fields;
  uint32_t length = 0;      // bytes without FCS
  uint32_t destination = 0; // host
  uint32_t flow = 0;        // whose frame, or whose answer; kNone: of none
  uint64_t addresses = 0;   // as in PathKey; with FramePool::hashes() and a template of IPv4
  uint32_t raw = 0;
  uint8_t raw_headers = 0; // bytes
  bool bad_icrc = false;
  bool request = false; // the flow's requester sent it, which owns `shape`
};

class FramePool {
public:
  using Raw = std::array<uint8_t, kHeaders>;

  uint32_t take() {
    if (free_.empty()) {
      frames_.emplace_back();
      return static_cast<uint32_t>(frames_.size() - 1);
    }
    const uint32_t handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give_back(uint32_t handle) {
    if (!frames_[handle].shape) [[unlikely]]
      free_raws_.push_back(frames_[handle].raw);
    free_.push_back(handle);
  }
  size_t in_use() const { return frames_.size() - free_.size(); }
  // Whether frames carry what their paths are chosen by.
  void hash_paths(bool on) { hashes_ = on; }
  bool hashes() const { return hashes_; }

  HeldFrame &operator[](uint32_t handle) { return frames_[handle]; }
  const HeldFrame &operator[](uint32_t handle) const { return frames_[handle]; }
  Raw &raw(const HeldFrame &frame) { return raws_[frame.raw]; }
  // Room for the headers of a frame without template.
  void take_raw(HeldFrame &frame) {
    frame.shape = nullptr;
    if (free_raws_.empty()) {
      free_raws_.push_back(static_cast<uint32_t>(raws_.size()));
      raws_.emplace_back();
    }
    frame.raw = free_raws_.back();
    free_raws_.pop_back();
  }

private:
  bool hashes_ = false;
  std::vector<HeldFrame> frames_;
  std::vector<uint32_t> free_;
  std::vector<Raw> raws_;
  std::vector<uint32_t> free_raws_;
};

// Host i has the address 10.0.0.0 + i + 1; of IPv6 and RoCEv1 fd00:: with these four bytes.
packet::Address address_of(uint32_t host, packet::Network network);
packet::Mac mac_of(uint32_t host);

// Takes a packet of a source into `handle`, and returns it as links see it. Flow and destination
// are left to the caller.
wire::Frame hold(FramePool &pool, uint32_t handle, const packet::Outgoing &packet);
// What links see of a frame without template: ECN, DSCP and PCP.
void read_classes(const uint8_t *headers, wire::Frame &frame);
uint32_t l3_offset(const uint8_t *headers);
// The host to which the addresses of the headers lead.
uint32_t destination_of(const uint8_t *headers);
// What a receiver finds in the frame; `marked`: with CE.
roce_class parse_held(FramePool &pool, const HeldFrame &frame, bool marked, roce_packet &packet);
// Headers of the frame, in which the fields that vary from packet to packet may be any.
std::span<const uint8_t> headers_of(FramePool &pool, const HeldFrame &frame);

// What ECMP hashes: addresses, protocol and UDP ports.
struct PathKey {
  const uint8_t *ip = nullptr; // the header of IPv6; nullptr: IPv4
  uint64_t addresses = 0;      // of IPv4, as in the header: source, destination
  uint32_t ports = 0;          // of RoCEv1, which has none, the DestQP
};
PathKey path_key(const uint8_t *headers, uint32_t l3);
PathKey path_key(FramePool &pool, const HeldFrame &frame);
// `salt` differs from switch to switch.
uint64_t path_hash(const PathKey &key, uint64_t salt);

} // namespace xr::simulate
