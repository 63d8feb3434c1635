// SPDX-License-Identifier: Apache-2.0
// The memory of an AF_XDP socket (UMEM), and how frames are divided into its chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace xr::afxdp {

// Memory of whole pages in which kernel and process share frames.
class UmemArea {
public:
  // Maps `bytes`, with all pages present.
  static Result<UmemArea> map(size_t bytes);
  UmemArea() = default;
  UmemArea(UmemArea &&other) noexcept;
  UmemArea &operator=(UmemArea &&other) noexcept;
  ~UmemArea();

  uint8_t *bytes() const { return bytes_; }
  size_t size() const { return size_; }

private:
  uint8_t *bytes_ = nullptr;
  size_t size_ = 0;
};

// How frames are stored in chunks. A chunk has 2,048 or 4,096 bytes. In a received frame's chunk
// the kernel reserves 256 bytes of headroom. A longer frame is in several chunks (kernel 6.6);
// those of a frame to be sent are contiguous.
struct ChunkLayout {
  uint32_t chunk = 2048; // bytes of a chunk
  uint32_t pieces = 1;   // chunks per sent frame of the maximum length
  uint32_t received = 1; // chunks per received frame of the maximum length, with XDP metadata
  bool several = false;  // sent or received frames may be in several chunks

  // The layout for frames of at most `longest` bytes, FCS not included. `kilobytes`: the NIC fills
  // whole kilobytes of a chunk only (takes_kilobytes()).
  static ChunkLayout of(uint32_t longest, bool kilobytes = false);
  // Bytes reserved for a frame to be sent.
  uint32_t slot() const { return chunk * pieces; }
};

} // namespace xr::afxdp
