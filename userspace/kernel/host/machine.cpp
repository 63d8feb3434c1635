// SPDX-License-Identifier: Apache-2.0
#include "host/machine.h"

#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <linux/if_alg.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/fd.h"

namespace xr::host {

namespace {

constexpr size_t kPiece = 1 << 16;

// A socket that hashes what is sent to it.
Result<Fd> hashing_socket() {
  const Fd algorithm(socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!algorithm)
    return errno_error(errno, "the kernel offers no hashes");
  const sockaddr_alg address{.salg_family = AF_ALG,
                             .salg_type = "hash",
                             .salg_feat = 0,
                             .salg_mask = 0,
                             .salg_name = "sha256"};
  if (bind(algorithm.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0)
    return errno_error(errno, "the kernel has no SHA-256");
  Fd hash(accept4(algorithm.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!hash)
    return errno_error(errno, "cannot open a hash of the kernel");
  return hash;
}

Status send_all(int hash, const char *data, size_t size) {
  while (size) {
    const ssize_t n = send(hash, data, size, MSG_MORE);
    if (n < 0 && errno != EINTR)
      return errno_error(errno, "cannot hash");
    data += n < 0 ? 0 : n;
    size -= n < 0 ? 0 : static_cast<size_t>(n);
  }
  return {};
}

} // namespace

Machine read_machine() {
  utsname names{};
  if (uname(&names) < 0)
    return {};
  return {names.nodename, names.release, names.machine};
}

Result<std::string> file_sha256(const std::string &path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return errno_error(errno, fmt::format("cannot open {}", path));
  const Fd hash = XR_TRY(hashing_socket());
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno_error(errno, fmt::format("cannot read {}", path));
    if (n == 0)
      break;
    XR_TRY(send_all(hash.get(), piece.data(), static_cast<size_t>(n)));
  }
  // Reading ends the hash, also one that nothing was sent to.
  std::array<unsigned char, 32> digest{};
  if (recv(hash.get(), digest.data(), digest.size(), 0) != static_cast<ssize_t>(digest.size()))
    return errno_error(errno, "cannot read the hash");
  std::string text;
  for (const unsigned char byte : digest)
    text += fmt::format("{:02x}", byte);
  return text;
}

} // namespace xr::host
