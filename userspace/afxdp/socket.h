// SPDX-License-Identifier: Apache-2.0
// An AF_XDP socket on one queue of a port, over libxdp's xsk API: frames out of and into memory
// that is shared with the kernel. Belongs to one thread. Zero-copy where the driver has it.
//
// A zero-copy socket takes over both rings of its queue: the driver receives into buffers of the
// fill ring and nothing else, for the host too (what a program passes on is copied into an skb, and
// the driver keeps the buffer). So a zero-copy socket has more buffers than the driver's ring and
// its own together can hold: the driver never lacks one, and when the socket is not read in time
// frames are lost at its own ring, where the kernel counts them one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xdp/xsk.h>

#include "afxdp/umem.h"
#include "base/result.h"
#include "model/run_reports.h"

namespace xr::afxdp {

struct SocketOptions {
  std::string ifname;
  uint32_t queue = 0;
  uint32_t longest = 1514; // bytes of the longest frame, FCS not included
  uint32_t slots = 1024;   // frames that may be on their way out
  uint32_t receive = 4096; // frames that may wait to be read; 0: it only sends
  uint32_t rx_ring = 0;    // buffers that the driver's ring holds, which zero-copy fills
  bool copy = false;       // not zero-copy, even where the driver has it
};

struct Received {
  const uint8_t *data;
  uint32_t length;
};

// Stays where it is: libxdp keeps the addresses of its rings.
class Socket {
public:
  static constexpr uint32_t kNone = ~0u;

  // In the network namespace of the thread. Waits some seconds for a socket that is being torn
  // down.
  static Result<std::unique_ptr<Socket>> open(const SocketOptions &options);
  // Memory for its frames. It counts as locked (RLIMIT_MEMLOCK).
  static uint64_t memory(const SocketOptions &options);
  Socket(const Socket &) = delete;
  Socket &operator=(const Socket &) = delete;
  ~Socket() { close(); }

  int fd() const { return xsk_socket__fd(socket_); }
  bool zero_copy() const { return zero_copy_; }
  // Copy, though the kernel gave zero-copy: the driver does not send like that here and now.
  bool zero_copy_cannot_send() const { return cannot_send_; }
  uint32_t longest() const { return options_.longest; }

  // --- Sending. A slot has room for the longest frame, and keeps its bytes from one to the next.
  uint32_t slots() const { return options_.slots; }
  uint8_t *slot(uint32_t index) const { return area_.bytes() + size_t{index} * slot_bytes_; }
  // How many slots are free to be taken.
  uint32_t free_slots() {
    reclaim();
    return free_count_;
  }
  uint32_t take(); // kNone: all are on their way
  void put(uint32_t slot, uint32_t length);
  // Hands over what was put since. An error: the port is gone.
  Status flush();
  struct Unsent {
    uint64_t frames = 0, bytes = 0;
  };
  // Handed over, and still here: not looked at by the kernel yet, or in zero-copy by the NIC, whose
  // ring is emptied when the socket closes.
  Unsent unsent_frames();
  // Frames that the kernel has not let go of yet.
  uint32_t on_the_way() { return slots() - free_slots(); }

  // --- Receiving. What is given out stays until release().
  size_t receive(std::span<Received> out);
  void release();

  // Until something came in, at most so long; 0: only looks. False: interrupted by a signal.
  bool wait(uint64_t ns);

  // An error when the port is gone: the kernel tells nothing of it by itself.
  Status check() const;

  SocketCounts counts() const;

private:
  explicit Socket(const SocketOptions &options);
  Status make();
  void close();
  int make_umem();
  int bind();
  void set_up();
  void fill();
  bool can_send();
  uint32_t chunks() const { return chunks(options_); }
  static uint32_t chunks(const SocketOptions &options);
  void give_back(const uint64_t *chunks, uint32_t count);
  void reclaim();
  void put_pieces(uint32_t slot, uint32_t length);
  const uint8_t *join(uint32_t at, uint32_t count, uint32_t length);
  uint32_t unsent() const {
    return *tx_.producer - __atomic_load_n(tx_.consumer, __ATOMIC_ACQUIRE);
  }
  bool wake_up(Status &gone);

  SocketOptions options_;
  Geometry geometry_;
  uint32_t slot_bytes_;
  unsigned chunk_bits_; // log2 of its bytes
  Area area_;
  xsk_umem *umem_ = nullptr;
  xsk_socket *socket_ = nullptr;
  xsk_ring_prod fill_{}, tx_{};
  xsk_ring_cons completion_{}, rx_{};
  bool zero_copy_ = false;
  bool cannot_send_ = false;

  uint32_t free_count_ = 0;
  std::vector<uint32_t> free_;               // slots
  std::vector<uint8_t> pieces_out_;          // of each slot, chunks that are on their way
  std::vector<uint32_t> slot_of_;            // by chunk: a division less for each frame
  uint32_t put_ = 0;                         // chunks in the ring that the kernel was not told of
  std::vector<uint64_t> used_;               // chunks of what was received, to go back
  std::vector<std::vector<uint8_t>> joined_; // frames that came in several chunks
  size_t joined_used_ = 0;
  SocketCounts counted_;
};

inline void Socket::reclaim() {
  uint32_t at = 0;
  const uint32_t count = xsk_ring_cons__peek(&completion_, completion_.size, &at);
  if (!count)
    return;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t chunk = *xsk_ring_cons__comp_addr(&completion_, at + i) >> chunk_bits_;
    const uint32_t slot = geometry_.pieces == 1 ? static_cast<uint32_t>(chunk) : slot_of_[chunk];
    if (geometry_.pieces == 1 || --pieces_out_[slot] == 0)
      free_[free_count_++] = slot;
  }
  xsk_ring_cons__release(&completion_, count);
}

inline uint32_t Socket::take() {
  if (!free_count_)
    reclaim();
  return free_count_ ? free_[--free_count_] : kNone;
}

// The ring has room for all chunks of all slots.
inline void Socket::put(uint32_t slot, uint32_t length) {
  uint32_t at = 0;
  if (length > geometry_.chunk)
    return put_pieces(slot, length);
  if (!xsk_ring_prod__reserve(&tx_, 1, &at))
    return;
  *xsk_ring_prod__tx_desc(&tx_, at) = {uint64_t{slot} * slot_bytes_, length, 0};
  pieces_out_[slot] = 1;
  put_++;
}

} // namespace xr::afxdp
