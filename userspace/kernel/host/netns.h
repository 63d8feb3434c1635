// SPDX-License-Identifier: Apache-2.0
// Network namespaces. Only the network namespace of one thread changes, and only temporarily:
// interfaces, hooks and netlink are those of the namespace; files and bpffs remain the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace xr::host {

inline constexpr const char *kNamedNetns = "/run/netns"; // where ip-netns(8) has its names
inline constexpr const char *kOwnNetns = "/proc/thread-self/ns/net";

// The thread is in the namespace during the lifetime of this object. Destroy it in the thread that
// created it.
class NetnsScope {
public:
  NetnsScope() = default;
  explicit NetnsScope(Fd home) : home_(std::move(home)) {}
  NetnsScope(NetnsScope &&) = default;
  NetnsScope &operator=(NetnsScope &&) = delete;
  ~NetnsScope();

private:
  Fd home_; // none: the thread did not change its namespace
};

class Netns {
public:
  // Opens a namespace by its ip-netns(8) name; "": the thread's own.
  static Result<Netns> open(const std::string &name);
  // Finds the namespace with this inode number, referenced by a name or by a process.
  static std::optional<Netns> find(uint64_t inode);
  // The inode numbers of all namespaces with a name or a process.
  static std::set<uint64_t> all();

  Result<NetnsScope> enter() const;
  uint64_t inode() const { return inode_; }
  int fd() const { return fd_.get(); }
  const std::string &name() const { return name_; }

private:
  static std::optional<Netns> at(const std::string &path, const std::string &name);

  Fd fd_;
  uint64_t inode_ = 0;
  std::string name_; // "": no name, or opened without one
};

// Error for an interface missing in the namespace `netns`; "": the thread's own.
Error no_such_interface(const std::string &netns);

// Opens a namespace by name and enters it.
Result<NetnsScope> enter_netns(const std::string &name);

} // namespace xr::host
