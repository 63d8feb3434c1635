// SPDX-License-Identifier: Apache-2.0
// The kernel: version, options, switches and the privileges of this process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/trial.h"
#include "host/files.h"
#include "model/check.h"

namespace xr::doctor {

// Build options by name without CONFIG_: 'y' or 'm'. Options that are off are absent.
using KernelOptions = std::map<std::string, char>;
KernelOptions parse_kernel_options(const std::string &text);

struct KernelFacts {
  std::string release;
  std::string options_from; // the file; "": none is readable
  KernelOptions options;
  std::optional<uint64_t> jit; // net.core.bpf_jit_enable
  std::string bpffs;           // mount point; "": none
  uint64_t memlock = 0;        // the hard RLIMIT_MEMLOCK in bytes; ~0: no limit
  bool memlock_binds = true;   // applies to this process; see host::memlock_binds

  // Names of missing capabilities; nullopt: unknown.
  std::optional<std::vector<std::string>> missing_to_load, missing_for_sockets;
  // Results of trials; nullopt: no privilege to try.
  std::optional<Status> load, sockets; // `load`: only if `trials` is empty
  std::optional<bool> frags;
  std::vector<Trial> trials;               // empty: `untried` has the reason
  std::string untried;                     // reason for no trials; "": no privilege
  std::string command = "xdp-roce doctor"; // that asks, for hints
};

KernelFacts read_kernel(const host::Files &files);
void check_kernel(const KernelFacts &kernel, Checks &checks);

// Whether a release ("6.1.0-18-amd64") is at least this version.
bool release_is(const std::string &release, int major, int minor);

} // namespace xr::doctor
