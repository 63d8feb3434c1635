// SPDX-License-Identifier: Apache-2.0
#include "doctor/kernel.h"

#include <cstdio>
#include <sstream>

#include <sys/resource.h>

#include "datapath/bpffs.h"
#include "datapath/object.h"
#include "datapath/probe.h"
#include "host/privilege.h"

namespace xr::doctor {

KernelOptions parse_kernel_options(const std::string &text) {
  constexpr std::string_view kPrefix = "CONFIG_";
  KernelOptions options;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t equals = line.find('=');
    if (line.starts_with(kPrefix) && equals != std::string::npos && equals + 2 == line.size() &&
        (line.back() == 'y' || line.back() == 'm'))
      options[line.substr(kPrefix.size(), equals - kPrefix.size())] = line.back();
  }
  return options;
}

bool release_is(const std::string &release, int major, int minor) {
  int has_major = 0, has_minor = 0;
  return sscanf(release.c_str(), "%d.%d", &has_major, &has_minor) == 2 && // NOLINT(cert-err34-c)
         (has_major > major || (has_major == major && has_minor >= minor));
}

KernelFacts read_kernel(const host::Files &files) {
  KernelFacts kernel;
  rlimit limit{};
  kernel.release = host::kernel_release();
  if (auto release = files.line("/proc/sys/kernel/osrelease"))
    kernel.release = *release;
  for (const std::string &path : {std::string("/proc/config.gz"), "/boot/config-" + kernel.release,
                                  "/usr/lib/modules/" + kernel.release + "/config"})
    if (auto text = files.text(path)) {
      kernel.options_from = path;
      kernel.options = parse_kernel_options(*text);
      break;
    }
  kernel.jit = files.number("/proc/sys/net/core/bpf_jit_enable");
  if (auto bpffs = datapath::find_bpffs())
    kernel.bpffs = bpffs->root;
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
    kernel.memlock = limit.rlim_max; // programs that need more raise the soft limit
  kernel.memlock_binds = host::memlock_binds();
  if (auto missing = host::missing_capabilities(host::Privilege::Load))
    kernel.missing_to_load = *missing;
  if (auto missing = host::missing_capabilities(host::Privilege::Sockets))
    kernel.missing_for_sockets = *missing;
  if (!files.of_this_machine()) {
    kernel.untried = "another machine's files were given";
  } else if (kernel.missing_to_load && kernel.missing_to_load->empty()) {
    auto tried = try_datapath();
    if (tried) {
      kernel.trials = std::move(*tried);
    } else {
      kernel.untried = tried.error().message;
      kernel.load = datapath::probe_load();
    }
    kernel.frags = datapath::kernel_has_frags();
  }
  if (kernel.missing_for_sockets && kernel.missing_for_sockets->empty())
    kernel.sockets = datapath::probe_sockets();
  return kernel;
}

} // namespace xr::doctor
