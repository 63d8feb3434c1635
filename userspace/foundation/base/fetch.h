// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace xr {

// Has the cache fetch what will be read soon. Always inlined: GCC 12 takes a function that only
// fetches for one without effect, and leaves its calls out.
[[gnu::always_inline]] inline void fetch_lines(const void *from, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(static_cast<const char *>(from) + at);
}

} // namespace xr
