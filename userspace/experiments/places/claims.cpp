// SPDX-License-Identifier: Apache-2.0
#include "places/claims.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

#include "datapath/attach.h"
#include "datapath/lock.h"
#include "host/netns.h"
#include "places/process_name.h"

namespace xr::places {

namespace {

constexpr const char *kClaimPrefix = "run-"; // run-PID-START-ports

// A line a port: inode of the namespace, name of the port.
void detach_listed(const std::string &path, std::vector<std::string> &detached) {
  std::ifstream file(path);
  uint64_t inode = 0;
  for (std::string ifname; file >> inode >> ifname;) {
    const auto netns = host::Netns::find(inode);
    if (!netns)
      continue; // it is gone, with the port
    const auto inside = netns->enter();
    if (!inside)
      continue;
    if (datapath::detach({ifname, ""}))
      detached.push_back(ifname);
  }
}

} // namespace

Result<PortClaims> PortClaims::take(const std::vector<RunPort> &ports) {
  if (mkdir(datapath::Lock::kDirectory, 0755) < 0 && errno != EEXIST)
    return errno_error(errno, fmt::format("cannot make {}", datapath::Lock::kDirectory));
  PortClaims claims(
      fmt::format("{}/{}{}-ports", datapath::Lock::kDirectory, kClaimPrefix, own_process_name()));
  errno = 0;
  std::ofstream file(claims.path_, std::ios::app);
  for (const RunPort &port : ports) {
    const auto netns = XR_TRY(host::Netns::open(port.netns));
    file << netns.inode() << ' ' << port.ifname << '\n';
  }
  file.close();
  if (!file)
    return errno_error(errno, fmt::format("cannot write {}", claims.path_));
  return claims;
}

PortClaims::PortClaims(PortClaims &&other) noexcept : path_(std::exchange(other.path_, "")) {}

PortClaims::~PortClaims() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove(path_, ignored);
}

std::vector<std::string> release_stale_claims() {
  std::vector<std::string> detached;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(datapath::Lock::kDirectory, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kClaimPrefix) ||
        !names_ended_process(name.substr(std::char_traits<char>::length(kClaimPrefix))))
      continue;
    detach_listed(entry.path(), detached);
    std::filesystem::remove(entry.path(), error);
  }
  return detached;
}

} // namespace xr::places
