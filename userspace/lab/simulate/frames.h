// SPDX-License-Identifier: Apache-2.0
// The frames that are on their way: a template and the fields in which a frame differs from it.
// Their bytes are not written: what receivers read is known without them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "packet/source.h"
#include "wire/frame.h"
#include "xdp-roce/congestion.h"

namespace xr::simulate {

// The longest headers: two VLAN tags, IPv6, UDP, BTH, RDETH, DETH and AtomicETH are 122 bytes.
inline constexpr uint32_t kHeaders = 128;

struct HeldFrame {
  using Raw = std::array<uint8_t, kHeaders>;

  const packet::Template *shape = nullptr; // nullptr: its headers are in `raw`
  packet::Fields fields;
  uint32_t length = 0;      // bytes without FCS
  uint32_t destination = 0; // host
  uint32_t flow = 0;        // whose frame, or whose answer; kNone: of none
  uint8_t raw_headers = 0;  // bytes
  bool bad_icrc = false;
  bool request = false;   // the flow's requester sent it, which owns `shape`
  uint64_t addresses = 0; // as in PathKey; with FramePool::hashes() and a template of IPv4
  std::unique_ptr<Raw> raw;

  Raw &take_raw() {
    shape = nullptr;
    if (!raw)
      raw = std::make_unique<Raw>();
    return *raw;
  }
};

// The hops that a request has passed, or of the request that a response answers.
struct HopStack {
  std::array<xdp_roce_hop, 8> hops;
  uint32_t count = 0;

  // Copies the hops in use: a frame has few.
  void take(const HopStack &other) {
    count = other.count;
    std::copy_n(other.hops.begin(), count, hops.begin());
  }
};

// The frames of all parts of a network, by their handles.
class FrameStore {
public:
  static constexpr unsigned kBlock = 64; // frames
  // With hops of each frame.
  void keep_hops() { hops_ = true; }

  // kBlock handles from this on; from several threads.
  uint32_t take_block() {
    const uint32_t number = blocks_.fetch_add(1, std::memory_order_relaxed);
    if (number == kMostBlocks)
      throw std::bad_alloc();
    Block &block = *(table_.get()[number] = memory_.make<Block>());
    if (hops_)
      block.hops = std::make_unique<HopStack[]>(kBlock);
    return number * kBlock;
  }
  ~FrameStore() {
    for (uint32_t i = 0; i < blocks_; i++)
      table_.get()[i]->~Block();
  }
  explicit FrameStore(HugePages &memory) : memory_(memory) {}
  FrameStore(const FrameStore &) = delete;
  FrameStore &operator=(const FrameStore &) = delete;

  HeldFrame &operator[](uint32_t handle) const {
    return table_.get()[handle / kBlock]->frames[handle % kBlock];
  }
  HopStack &hops(uint32_t handle) const {
    return table_.get()[handle / kBlock]->hops[handle % kBlock];
  }

private:
  struct alignas(64) Block {
    std::array<HeldFrame, kBlock> frames;
    std::unique_ptr<HopStack[]> hops;
  };
  struct Free {
    void operator()(Block **table) const { std::free(table); }
  };
  static constexpr uint32_t kMostBlocks = 1U << 20;

  // Pages of it that are not used take no memory.
  std::unique_ptr<Block *, Free> table_{
      static_cast<Block **>(std::calloc(kMostBlocks, sizeof(void *)))};
  std::atomic<uint32_t> blocks_{0};
  HugePages &memory_;
  bool hops_ = false;
};

// The frames of one part. A frame that has come from another part is given back here.
class FramePool {
public:
  explicit FramePool(FrameStore &store) : store_(store) {}

  uint32_t take() {
    used_++;
    if (free_.empty())
      grow();
    const uint32_t handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give_back(uint32_t handle) {
    used_--;
    free_.push_back(handle);
  }
  // Taken less given back; of all parts together: frames in use.
  int64_t in_use() const { return used_; }
  // Whether frames carry what their paths are chosen by.
  void hash_paths(bool on) { hashes_ = on; }
  bool hashes() const { return hashes_; }

  HeldFrame &operator[](uint32_t handle) { return store_[handle]; }
  const HeldFrame &operator[](uint32_t handle) const { return store_[handle]; }
  HopStack &hops(uint32_t handle) const { return store_.hops(handle); }

private:
  void grow() {
    const uint32_t first = store_.take_block();
    for (uint32_t i = FrameStore::kBlock; i > 0; i--)
      free_.push_back(first + i - 1);
  }

  FrameStore &store_;
  bool hashes_ = false;
  int64_t used_ = 0;
  std::vector<uint32_t> free_;
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
roce_class parse_held(const HeldFrame &frame, bool marked, roce_packet &packet);
// Headers of the frame, in which the fields that vary from packet to packet may be any.
std::span<const uint8_t> headers_of(const HeldFrame &frame);

// What ECMP hashes: addresses, protocol and UDP ports.
struct PathKey {
  const uint8_t *ip = nullptr; // the header of IPv6; nullptr: IPv4
  uint64_t addresses = 0;      // of IPv4, as in the header: source, destination
  uint32_t ports = 0;          // of RoCEv1, which has none, the DestQP
};
PathKey path_key(const uint8_t *headers, uint32_t l3);
PathKey path_key(const HeldFrame &frame);
// `salt` differs from switch to switch.
uint64_t path_hash(const PathKey &key, uint64_t salt);

} // namespace xr::simulate
