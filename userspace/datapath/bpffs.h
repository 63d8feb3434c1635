// SPDX-License-Identifier: Apache-2.0
// Where pins live.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace xr::datapath {

struct Bpffs {
  std::string root; // its mount point

  std::string pins() const { return root + "/xdp-roce"; }
  std::string dispatchers() const { return root + "/xdp"; } // libxdp's
};

// The bpffs in use: $LIBXDP_BPFFS, or the first of the usual places that has pins of ours, or the
// first that is mounted. Tells libxdp. Under `ip netns exec`, which hides /sys/fs/bpf, it is
// reached through /proc/1/root.
std::optional<Bpffs> find_bpffs();

// Mounts one at /run/xdp-roce/bpf when there is none: not in a passing mount namespace, as `ip
// netns exec` makes, where it would go, with all pins, when its last process ends.
Result<Bpffs> need_bpffs();

} // namespace xr::datapath
