// SPDX-License-Identifier: Apache-2.0
// A network namespace of this process with pairs of virtual ports in it; it ends with the process.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

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
  explicit Wires(const std::vector<std::string> &pairs, const std::string &mtu = "1500")
      : name_("xr-bench-" + std::to_string(getpid())) {
    run("ip netns add " + name_);
    const int fd = open(("/run/netns/" + name_).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
      fail("namespace");
    close(fd);
    for (const std::string &p : pairs) {
      run("ip link add " + p + "0 mtu " + mtu + " type veth peer name " + p + "1 mtu " + mtu);
      run("ip link set " + p + "0 up");
      run("ip link set " + p + "1 up");
    }
  }
  ~Wires() { run("ip netns del " + name_); }
  Wires(const Wires &) = delete;
  Wires &operator=(const Wires &) = delete;

private:
  static void run(const std::string &command) {
    if (std::system(command.c_str())) // NOLINT(cert-env33-c)
      fail(command);
  }
  std::string name_;
};

} // namespace xr::bench
