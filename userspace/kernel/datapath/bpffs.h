// SPDX-License-Identifier: Apache-2.0
// The BPF file system that holds the pins.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace xr::datapath {

struct Bpffs {
  std::string root; // its mount point

  std::string pins() const { return root + "/xdp-roce"; }
  std::string dispatchers() const { return root + "/xdp"; } // directory of libxdp's dispatchers
};

// The bpffs in use: $LIBXDP_BPFFS, else the first usual mount point that has our pins, else the
// first that is mounted. Sets LIBXDP_BPFFS for libxdp. Under `ip netns exec`, which hides
// /sys/fs/bpf, the path leads through /proc/1/root.
std::optional<Bpffs> find_bpffs();

// find_bpffs(), or mounts one at /run/xdp-roce/bpf. The mount is made in the outermost mount
// namespace: in a temporary one (`ip netns exec`) it would vanish, with all pins, when the last
// process ends.
Result<Bpffs> need_bpffs();

} // namespace xr::datapath
