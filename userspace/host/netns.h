// SPDX-License-Identifier: Apache-2.0
// Network namespaces. Interfaces, hooks and netlink are looked at inside one; files and bpffs stay
// the caller's, because only the network namespace of one thread changes, and only for a while.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace xr::host {

// While it lives, the thread is in the namespace. Must end in the thread that made it.
class NetnsScope {
public:
  NetnsScope() = default;
  explicit NetnsScope(Fd home) : home_(std::move(home)) {}
  NetnsScope(NetnsScope &&) = default;
  NetnsScope &operator=(NetnsScope &&) = delete;
  ~NetnsScope();

private:
  Fd home_; // none: it was the thread's own namespace already
};

class Netns {
public:
  // By the name that ip-netns(8) gave it; the thread's own for "".
  static Result<Netns> open(const std::string &name);
  // The living namespace of that number, wherever it is held: by a name or by a process.
  static std::optional<Netns> find(uint64_t inode);

  Result<NetnsScope> enter() const;
  uint64_t inode() const { return inode_; }
  const std::string &name() const { return name_; }

private:
  static std::optional<Netns> at(const std::string &path, const std::string &name);

  Fd fd_;
  uint64_t inode_ = 0;
  std::string name_; // "" when it has none or none was asked for
};

// Of an interface that was looked up in the namespace of that name; "": the thread's own.
Error no_such_interface(const std::string &netns);

// Opens that one and enters it.
Result<NetnsScope> enter_netns(const std::string &name);

} // namespace xr::host
