// SPDX-License-Identifier: Apache-2.0
#include "base/random_seed.h"

#include <cerrno>
#include <sys/random.h>

namespace xr {

Result<uint64_t> random_seed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
    return errno_error(errno, "no random seed");
  return seed;
}

} // namespace xr
