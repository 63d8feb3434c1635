// SPDX-License-Identifier: Apache-2.0
// Memory that will be needed soon.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xr {

inline constexpr size_t kCacheLine = 64; // bytes

// All cache lines of `bytes` from `at` on.
inline void prefetch(const void *at, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(at);
  for (uintptr_t line = begin & ~(kCacheLine - 1); line < begin + bytes; line += kCacheLine)
    __builtin_prefetch(reinterpret_cast<const void *>(line), 1);
}
// From one member of an object to another, both included.
template <typename T, typename U> void prefetch_members(const T &first, const U &last) {
  const auto from = reinterpret_cast<uintptr_t>(&first), to = reinterpret_cast<uintptr_t>(&last);
  prefetch(&first, to + sizeof(U) - from);
}
template <typename T> void prefetch(const T &object) { prefetch(&object, sizeof(object)); }

} // namespace xr
