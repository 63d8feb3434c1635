// SPDX-License-Identifier: Apache-2.0
// A network namespace of this process with pairs of virtual ports in it; it ends with the process.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "host/named_netns.h"
#include "host/netns.h"
#include "host/veth.h"

namespace xr::bench {

[[noreturn]] inline void fail(const std::string &what) {
  std::fprintf(stderr, "benchmark: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

inline void pin_to(long cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu % sysconf(_SC_NPROCESSORS_ONLN)), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

class Wires {
public:
  // Makes NAME0 ~ NAME1 for each name, both up.
  explicit Wires(const std::vector<std::string> &pairs)
      : name_("xr-bench-" + std::to_string(getpid())) {
    check(host::make_netns(name_));
    auto inside = host::enter_netns(name_);
    if (!inside)
      fail(inside.error().message);
    inside_.emplace(std::move(inside.get()));
    for (const std::string &pair : pairs)
      check(host::make_veth(pair + "0", pair + "1"));
  }
  ~Wires() {
    inside_.reset();
    (void)host::remove_netns(name_);
  }
  Wires(const Wires &) = delete;
  Wires &operator=(const Wires &) = delete;

private:
  static void check(const Status &status) {
    if (!status)
      fail(status.error().message);
  }
  std::string name_;
  std::optional<host::NetnsScope> inside_; // the thread's; threads that it makes are in it too
};

} // namespace xr::bench
