// SPDX-License-Identifier: Apache-2.0
#include "afxdp/chunks.h"

#include <cstring>

namespace xr::afxdp {

Status ChunkMemory::map() {
  auto area = UmemArea::map(pieces_.size() << bits_);
  if (!area)
    return area.error();
  area_ = std::move(*area);
  return {};
}

uint32_t ChunkMemory::count(uint32_t frame) const {
  uint32_t sum = 0;
  for (uint32_t at = frame; at != kNone; at = pieces_[at].next)
    sum++;
  return sum;
}

ChunkPool::ChunkPool(ChunkMemory &memory, uint32_t first, uint32_t count)
    : memory_(memory), chunks_(count) {
  free_.reserve(count);
  for (uint32_t i = count; i-- > 0;) // take() returns the lowest first
    free_.push_back(first + i);
}

void ChunkPool::give(uint32_t frame) {
  for (uint32_t at = frame; at != ChunkMemory::kNone; at = memory_.piece(at).next)
    free_.push_back(at);
}

uint32_t ChunkPool::copy(uint32_t frame) {
  if (free_.size() < memory_.count(frame))
    return ChunkMemory::kNone;
  uint32_t first = ChunkMemory::kNone, *link = &first;
  for (uint32_t at = frame; at != ChunkMemory::kNone; at = memory_.piece(at).next) {
    const uint32_t chunk = take();
    memory_.piece(chunk) = memory_.piece(at);
    memcpy(memory_.first(chunk).data(), memory_.first(at).data(), memory_.piece(at).length);
    *link = chunk;
    link = &memory_.piece(chunk).next;
  }
  *link = ChunkMemory::kNone;
  return first;
}

uint32_t ChunkPool::make(std::span<const uint8_t> bytes) {
  if (free_.empty() || bytes.size() > memory_.layout().chunk)
    return ChunkMemory::kNone;
  const uint32_t chunk = take();
  memory_.piece(chunk) = {0, static_cast<uint32_t>(bytes.size()), ChunkMemory::kNone};
  memcpy(memory_.first(chunk).data(), bytes.data(), bytes.size());
  return chunk;
}

} // namespace xr::afxdp
