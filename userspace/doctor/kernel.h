// SPDX-License-Identifier: Apache-2.0
// The kernel: its version, options and switches, and what this process may ask of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/trial.h"
#include "host/files.h"
#include "model/check.h"

namespace xr::doctor {

// Options by name, without CONFIG_, as the kernel was built: 'y' or 'm'. One that is off is absent.
using KernelOptions = std::map<std::string, char>;
KernelOptions parse_kernel_options(const std::string &text);

struct KernelFacts {
  std::string release;
  std::string options_from; // the file, "" when none can be read
  KernelOptions options;
  std::optional<uint64_t> jit; // net.core.bpf_jit_enable
  std::string bpffs;           // its mount point, "" for none
  uint64_t memlock = 0;        // the hard RLIMIT_MEMLOCK in bytes; ~0: no limit
  bool memlock_binds = true;   // this process; not so with CAP_IPC_LOCK or CAP_SYS_RESOURCE

  // By name; nothing when it cannot be told.
  std::optional<std::vector<std::string>> missing_to_load, missing_for_sockets;
  // Found out by trying; nothing where this process may not try.
  std::optional<Status> load, sockets; // `load`: only where there are no trials
  std::optional<bool> frags;
  std::vector<Trial> trials; // none: `untried` has the reason, "" when this process may not try
  std::string untried;
};

KernelFacts read_kernel(const host::Files &files);
void check_kernel(const KernelFacts &kernel, Checks &checks);

// Whether a release ("6.1.0-18-amd64") is that version or a later one.
bool release_is(const std::string &release, int major, int minor);

} // namespace xr::doctor
