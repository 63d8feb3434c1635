// SPDX-License-Identifier: Apache-2.0
// What a fuzz target holds its input to.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "it does not hold that %s\n", what);
  abort();
}
#define REQUIRE(condition) require(condition, #condition)
