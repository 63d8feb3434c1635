// SPDX-License-Identifier: Apache-2.0
// Memory for many objects that are there until the end, in huge pages where the kernel has them:
// what is spread over much memory costs a look into the page tables at each touch.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace xr {

class HugePages {
public:
  HugePages() = default;
  ~HugePages();
  HugePages(const HugePages &) = delete;
  HugePages &operator=(const HugePages &) = delete;

  // For some `bytes` in all: little memory comes in small pages.
  void expect(size_t bytes) { huge_ = bytes >= 2 * kHuge; }
  // Zero, and at a multiple of 64; from several threads. Errors: std::bad_alloc.
  void *take(size_t bytes);
  // An object that the caller destroys.
  template <typename T, typename... Arguments> T *make(Arguments &&...arguments) {
    static_assert(alignof(T) <= kAligned);
    return new (take(sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }

private:
  static constexpr size_t kHuge = 2 << 20, kSmall = 64 << 10, kAligned = 64;

  std::mutex mutex_;
  bool huge_ = false;
  char *next_ = nullptr;
  size_t left_ = 0;
  std::vector<std::pair<void *, size_t>> maps_;
};

} // namespace xr
