// SPDX-License-Identifier: Apache-2.0
#include "afxdp/umem.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include <fmt/format.h>

namespace xr::afxdp {

namespace {

constexpr uint32_t kKernelHeadroom = 256; // XDP_PACKET_HEADROOM
constexpr uint32_t kMetadata = 32;        // the most that all kernels allow
constexpr uint32_t kHalfPage = 2048, kPage = 4096;

} // namespace

// Huge pages where the kernel has them: a frame's first access then needs no walk of page tables.
Result<UmemArea> UmemArea::map(size_t bytes) {
  UmemArea area;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return errno_error(errno, fmt::format("no memory for {} MiB of frames", bytes >> 20));
  area.bytes_ = static_cast<uint8_t *>(memory);
  area.size_ = bytes;
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) < 0) { // kernel 5.14
    if (errno != EINVAL)
      return errno_error(errno, fmt::format("no memory for {} MiB of frames", bytes >> 20));
    memset(memory, 0, bytes);
  }
  return area;
}

UmemArea::UmemArea(UmemArea &&other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

UmemArea &UmemArea::operator=(UmemArea &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

UmemArea::~UmemArea() {
  if (bytes_)
    munmap(bytes_, size_);
}

ChunkLayout ChunkLayout::of(uint32_t longest, bool kilobytes) {
  const auto room = [&](uint32_t chunk) {
    return kilobytes ? (chunk - kKernelHeadroom) / 1024 * 1024 : chunk - kKernelHeadroom;
  };
  ChunkLayout result;
  result.chunk = longest <= room(kHalfPage) ? kHalfPage : kPage;
  result.pieces = (longest + result.chunk - 1) / result.chunk;
  result.several = longest > room(result.chunk);
  if (result.several)
    result.received = (longest + kMetadata - 1) / room(result.chunk) + 1;
  return result;
}

} // namespace xr::afxdp
