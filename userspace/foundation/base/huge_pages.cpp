// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace xr {

HugePages::~HugePages() {
  for (const auto &[map, bytes] : maps_)
    munmap(map, bytes);
}

void *HugePages::take(size_t bytes) {
  const std::lock_guard guard(mutex_);
  bytes = (bytes + kAligned - 1) / kAligned * kAligned;
  if (bytes > left_) {
    const size_t page = huge_ ? kHuge : kSmall;
    left_ = (bytes + page - 1) / page * page;
    const size_t all = left_ + (huge_ ? kHuge : 0); // to begin at a huge page
    void *map = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
      throw std::bad_alloc();
    maps_.emplace_back(map, all);
    next_ = static_cast<char *>(map);
    if (huge_) {
      next_ += (kHuge - reinterpret_cast<uintptr_t>(map) % kHuge) % kHuge;
      madvise(next_, left_, MADV_HUGEPAGE); // where there are none, it is slower
    }
  }
  void *taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

} // namespace xr
