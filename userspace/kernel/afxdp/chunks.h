// SPDX-License-Identifier: Apache-2.0
// Frames in chunks of memory, and which chunks are free. Without a socket.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "afxdp/umem.h"
#include "base/result.h"

namespace xr::afxdp {

// Memory in chunks. A frame is one chunk, or a chain of them; its number is that of its first.
class ChunkMemory {
public:
  static constexpr uint32_t kNone = ~0u;
  // The bytes of a frame that are in a chunk.
  struct Piece {
    uint32_t offset = 0, length = 0;
    uint32_t next = kNone; // the chunk with the frame's next bytes
  };

  // `chunks` of ChunkLayout::of(longest, kilobytes).
  ChunkMemory(uint32_t longest, uint32_t chunks, bool kilobytes = false)
      : longest_(longest), layout_(ChunkLayout::of(longest, kilobytes)),
        bits_(static_cast<unsigned>(std::countr_zero(layout_.chunk))), pieces_(chunks) {}
  // Before anything else: the memory itself.
  Status map();
  ChunkMemory(const ChunkMemory &) = delete;
  ChunkMemory &operator=(const ChunkMemory &) = delete;

  const ChunkLayout &layout() const { return layout_; }
  uint32_t longest() const { return longest_; }
  uint32_t chunks() const { return static_cast<uint32_t>(pieces_.size()); }

  // The frame's bytes in its first chunk; headers are always there.
  std::span<uint8_t> first(uint32_t frame) {
    return {area_.bytes() + address(frame), pieces_[frame].length};
  }
  // All bytes of a frame: the sum of its chunks.
  uint32_t length(uint32_t frame) const {
    uint32_t sum = 0;
    for (uint32_t at = frame; at != kNone; at = pieces_[at].next)
      sum += pieces_[at].length;
    return sum;
  }
  // Chunks of a frame.
  uint32_t count(uint32_t frame) const;

  Piece &piece(uint32_t chunk) { return pieces_[chunk]; }
  uint64_t address(uint32_t chunk) const {
    return (uint64_t{chunk} << bits_) + pieces_[chunk].offset;
  }

protected:
  uint32_t longest_;
  ChunkLayout layout_;
  unsigned bits_; // log2 of the chunk size
  UmemArea area_;
  std::vector<Piece> pieces_; // by chunk
};

// Free chunks of one thread.
class ChunkPool {
public:
  ChunkPool(ChunkMemory &memory, uint32_t first, uint32_t count);

  size_t free() const { return free_.size(); }
  size_t chunks() const { return chunks_; }
  // A free chunk, of which there must be one.
  uint32_t take() {
    const uint32_t chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  void give_chunk(uint32_t chunk) { free_.push_back(chunk); }
  // Frees all chunks of a frame.
  void give(uint32_t frame);
  // A copy of a frame; kNone: not enough chunks.
  uint32_t copy(uint32_t frame);
  // A frame of these bytes, which fit into one chunk; kNone: no chunk is free.
  uint32_t make(std::span<const uint8_t> bytes);

private:
  ChunkMemory &memory_;
  std::vector<uint32_t> free_; // a stack
  size_t chunks_;
};

} // namespace xr::afxdp
