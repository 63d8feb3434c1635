// SPDX-License-Identifier: Apache-2.0
// Locks between processes of this program.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace xr::datapath {

// One lock for all ports: a process that changes attachments holds it exclusively, a process that
// reads them holds it shared. The kernel releases it when the process ends.
class Lock {
public:
  enum class Kind { Shared, Exclusive };

  // The default of take() in this process; change it before threads are started. 20 s: much longer
  // than an attach with a large table takes.
  static std::chrono::milliseconds &patience();

  // Waits at most `patience` for other processes; then an error.
  static Result<Lock> take(Kind kind, std::chrono::milliseconds patience = Lock::patience());

  // Holds the exclusive lock; meanwhile take() of this process's threads succeeds at once. They may
  // attach and change different ports at the same time, as each load of a program takes long.
  class ForThreads {
  public:
    static Result<ForThreads> take();
    ForThreads(ForThreads &&other) noexcept : fd_(std::move(other.fd_)) {}
    ForThreads &operator=(ForThreads &&) = delete;
    ~ForThreads();

  private:
    explicit ForThreads(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
  };

  // The lock of one port for one use. Does not wait: an error if another process holds it.
  enum class Use { Endpoint, Capture, Wire };
  static Result<Lock> take_port(uint64_t netns, unsigned ifindex, Use use = Use::Endpoint);
  // Whether a process has it now. Does not wait.
  static bool port_is_taken(uint64_t netns, unsigned ifindex, Use use);
  // Removes the files of ports in `directory` whose namespace is not in `namespaces`, unless a
  // process holds one. take_port() does it once in a process.
  static void remove_files_of_gone(const std::string &directory,
                                   const std::set<uint64_t> &namespaces);

  // The directory of the locks and of the files that their holders write.
  static constexpr const char *kDirectory = "/run/xdp-roce";

private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

} // namespace xr::datapath
