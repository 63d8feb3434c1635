// SPDX-License-Identifier: Apache-2.0
// An AF_XDP socket on one queue of a port, through libxdp's xsk API: sends and receives frames in
// memory that is shared with the kernel. Used by one thread only. Zero-copy if the driver has it.
//
// A zero-copy socket takes over both rings of its queue: the driver receives only into buffers from
// the fill ring, also for the host (for XDP_PASS the kernel copies the frame into an skb, and the
// driver keeps the buffer). Therefore a zero-copy socket has more buffers than the driver's ring
// and its own RX ring can hold together: the driver never lacks a buffer, and if the process reads
// too slowly, frames are lost at the RX ring, where the kernel counts each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xdp/xsk.h>

#include "afxdp/kernel_side.h"
#include "afxdp/umem.h"
#include "base/result.h"
#include "model/run_reports.h"

namespace xr::afxdp {

// Frames of the RX ring of `respond`: more than others', since it answers bursts of several
// senders.
constexpr uint32_t kResponderReceive = 16384;

struct SocketOptions {
  std::string ifname;
  uint32_t queue = 0;
  uint32_t longest = 1514; // bytes of the longest frame, FCS not included
  uint32_t slots = 1024;   // frames that may be in transmission
  uint32_t receive = 4096; // frames of the RX ring; 0: send only
  uint32_t rx_ring = 0;    // buffers of the driver's RX ring, which zero-copy must fill
  bool kilobytes = false;  // takes_kilobytes()
  bool copy = false;       // copy mode, even if the driver has zero-copy
};

struct Received {
  const uint8_t *data;
  uint32_t length;
};

// Not movable: libxdp keeps the addresses of its rings.
class Socket {
public:
  static constexpr uint32_t kNone = ~0u;

  // Opens a socket in the thread's network namespace. If a previous socket of the queue is still
  // being closed, waits up to 3 s for it.
  static Result<std::unique_ptr<Socket>> open(const SocketOptions &options);
  // Bytes of memory for its frames; they count as locked (RLIMIT_MEMLOCK).
  static uint64_t memory(const SocketOptions &options);
  Socket(const Socket &) = delete;
  Socket &operator=(const Socket &) = delete;
  ~Socket() { close(); }

  int fd() const { return xsk_socket__fd(socket_); }
  bool zero_copy() const { return zero_copy_; }
  // In copy mode although the kernel accepted zero-copy, because the driver refused to send.
  bool zero_copy_cannot_send() const { return cannot_send_; }
  uint32_t longest() const { return options_.longest; }

  // --- Sending. A slot has room for the longest frame; its bytes are kept until it is used again.
  uint32_t slots() const { return options_.slots; }
  uint8_t *slot(uint32_t index) const { return area_.bytes() + size_t{index} * slot_bytes_; }
  // Number of slots that take() can return.
  uint32_t free_slots() {
    reclaim();
    return free_count_;
  }
  uint32_t take(); // a free slot; kNone: all are in transmission
  // Queues `length` bytes of the slot for flush().
  void put(uint32_t slot, uint32_t length);
  // Passes the queued frames to the kernel. Error: the port is gone.
  Status flush();
  struct Unsent {
    uint64_t frames = 0, bytes = 0;
  };
  // Frames that were flushed but not sent: not yet consumed by the kernel, or, in zero-copy, by the
  // NIC, whose ring is emptied when the socket closes.
  Unsent unsent_frames();
  // Frames whose transmission the kernel has not completed.
  uint32_t on_the_way() { return slots() - free_slots(); }

  // --- Receiving. Received frames are valid until release().
  size_t receive(std::span<Received> out);
  void release();

  // Waits for a received frame, at most `ns` nanoseconds; 0: returns at once. False: interrupted by
  // a signal.
  bool wait(uint64_t ns);
  // wait() also ends when `fd` is readable.
  void also_wait_for(int fd) { other_fd_ = fd; }

  // Error if the port is gone. The kernel does not report this by itself.
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

  SocketOptions options_;
  ChunkLayout layout_;
  uint32_t slot_bytes_;
  unsigned chunk_bits_; // log2 of the chunk size
  UmemArea area_;
  xsk_umem *umem_ = nullptr;
  xsk_socket *socket_ = nullptr;
  xsk_ring_prod fill_{}, tx_{};
  xsk_ring_cons completion_{}, rx_{};
  bool zero_copy_ = false;
  bool cannot_send_ = false;
  int other_fd_ = -1;

  uint32_t free_count_ = 0;
  std::vector<uint32_t> free_;               // free slots, a stack
  std::vector<uint8_t> pieces_out_;          // by slot: chunks in transmission
  std::vector<uint32_t> slot_of_;            // by chunk: saves a division per frame
  uint32_t put_ = 0;                         // chunks in the TX ring, not submitted yet
  std::vector<uint64_t> used_;               // chunks of received frames, for release()
  std::vector<std::vector<uint8_t>> joined_; // received frames in several chunks, copied together
  size_t joined_used_ = 0;
  SendLosses lost_;
};

inline void Socket::reclaim() {
  uint32_t at = 0;
  const uint32_t count = xsk_ring_cons__peek(&completion_, completion_.size, &at);
  if (!count)
    return;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t chunk = *xsk_ring_cons__comp_addr(&completion_, at + i) >> chunk_bits_;
    const uint32_t slot = layout_.pieces == 1 ? static_cast<uint32_t>(chunk) : slot_of_[chunk];
    if (layout_.pieces == 1 || --pieces_out_[slot] == 0)
      free_[free_count_++] = slot;
  }
  xsk_ring_cons__release(&completion_, count);
}

inline uint32_t Socket::take() {
  if (!free_count_)
    reclaim();
  return free_count_ ? free_[--free_count_] : kNone;
}

// reserve() cannot fail: the TX ring has room for all chunks of all slots.
inline void Socket::put(uint32_t slot, uint32_t length) {
  uint32_t at = 0;
  if (length > layout_.chunk)
    return put_pieces(slot, length);
  if (!xsk_ring_prod__reserve(&tx_, 1, &at))
    return;
  *xsk_ring_prod__tx_desc(&tx_, at) = {uint64_t{slot} * slot_bytes_, length, 0};
  pieces_out_[slot] = 1;
  put_++;
}

} // namespace xr::afxdp
