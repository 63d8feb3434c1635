// SPDX-License-Identifier: Apache-2.0
// Frames in memory that the sockets of several ports share, so that a frame moves from the RX ring
// of one port to the TX ring of another without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xdp/xsk.h>

#include "afxdp/bind.h"
#include "afxdp/chunks.h"
#include "afxdp/kernel_side.h"
#include "base/result.h"

namespace xr::afxdp {

// Chunks that the kernel knows.
class SharedUmem : public ChunkMemory {
public:
  // Maps its memory.
  static Result<std::unique_ptr<SharedUmem>> make(uint32_t longest, uint32_t chunks,
                                                  bool kilobytes);
  ~SharedUmem();

private:
  friend class ForwardSocket;

  using ChunkMemory::ChunkMemory;

  xsk_umem *umem_ = nullptr;
  // libxdp makes the UMEM with the rings of the first socket and keeps their addresses.
  xsk_ring_prod first_fill_{};
  xsk_ring_cons first_completion_{};
  bool first_used_ = false;
};

struct ForwardOptions {
  std::string ifname;
  uint32_t queue = 0;
  uint32_t receive = 4096; // frames of the RX ring
  uint32_t send = 4096;    // frames of the TX ring
  bool copy = false;       // copy mode; counts for the first socket of a UMEM, others follow it
};

// A socket on one queue of a port. Receiving and filling belong to one thread, sending and
// completing to one thread; the two may differ.
class ForwardSocket {
public:
  // Opens a socket in the thread's network namespace. Errors as of Socket::open().
  static Result<std::unique_ptr<ForwardSocket>> open(SharedUmem &umem,
                                                     const ForwardOptions &options);
  ForwardSocket(const ForwardSocket &) = delete;
  ForwardSocket &operator=(const ForwardSocket &) = delete;
  ~ForwardSocket();

  int fd() const { return xsk_socket__fd(socket_); }
  bool zero_copy() const { return zero_copy_; }

  // Gives free chunks of the pool to the fill ring.
  void fill(ChunkPool &pool);
  // The numbers of received frames, which now belong to the caller.
  size_t receive(std::span<uint32_t> frames);

  // Frames that put() can take; each may need all chunks of the longest frame. Looks at the
  // kernel's side of the rings only if there was not room for `enough` before.
  uint32_t room(uint32_t enough) {
    if (room_ < enough * umem_.layout().received)
      room_ = chunk_room();
    return room_ / umem_.layout().received;
  }
  // False: the rings have no room, and the frame stays the caller's.
  bool put(uint32_t frame);
  // Passes what was put to the kernel. Error: the port is gone.
  Status flush();
  // Chunks that were sent return to the pool.
  void complete(ChunkPool &pool);
  uint32_t in_transmission() const { return put_total_ - completed_; } // chunks

  // Losses by the kernel: of frames that the program redirected here, and of those sent.
  KernelCounts kernel() const { return kernel_counts(fd(), zero_copy_); }
  const SendLosses &lost() const { return lost_; }

private:
  ForwardSocket(SharedUmem &umem, const ForwardOptions &options) : umem_(umem), options_(options) {}
  int bind();
  uint32_t chunk_room() const;

  SharedUmem &umem_;
  ForwardOptions options_;
  xsk_socket *socket_ = nullptr;
  xsk_ring_prod own_fill_{}, tx_{};
  xsk_ring_cons own_completion_{}, rx_{};
  xsk_ring_prod *fill_ = &own_fill_;
  xsk_ring_cons *completion_ = &own_completion_;
  bool zero_copy_ = false;
  uint32_t put_ = 0;  // chunks not submitted yet
  uint32_t room_ = 0; // chunks that the rings have room for at least
  uint32_t put_total_ = 0, completed_ = 0;
  SendLosses lost_;
};

inline bool ForwardSocket::put(uint32_t frame) {
  if (!room(1))
    return false;
  uint32_t at = 0;
  for (uint32_t chunk = frame; chunk != SharedUmem::kNone; chunk = umem_.piece(chunk).next) {
    if (!xsk_ring_prod__reserve(&tx_, 1, &at))
      break; // a frame longer than the longest
    const SharedUmem::Piece &piece = umem_.piece(chunk);
    *xsk_ring_prod__tx_desc(&tx_, at) = {umem_.address(chunk), piece.length,
                                         piece.next != SharedUmem::kNone ? XDP_PKT_CONTD : 0U};
    put_++;
    put_total_++;
    room_--;
  }
  return true;
}

} // namespace xr::afxdp
