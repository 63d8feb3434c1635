// SPDX-License-Identifier: Apache-2.0
#include "datapath/counts.h"

#include <cerrno>

#include <bpf/bpf.h>

namespace xr::datapath {

int read_batch(int fd, uint32_t first, uint32_t count, void *values, uint64_t elem_flags) {
  LIBBPF_OPTS(bpf_map_batch_opts, options, .elem_flags = elem_flags);
  std::vector<uint32_t> keys(count);
  uint32_t next = 0, got = count;
  // For an array map, in_batch is the last index of the previous batch.
  uint32_t before = first - 1;
  int error = bpf_map_lookup_batch(fd, first ? &before : nullptr, &next, keys.data(), values, &got,
                                   &options);
  if (error < 0 && error != -ENOENT) // ENOENT: the end of the map was reached
    return -error;
  return got == count ? 0 : EIO;
}

} // namespace xr::datapath
