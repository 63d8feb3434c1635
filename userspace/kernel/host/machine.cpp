// SPDX-License-Identifier: Apache-2.0
#include "host/machine.h"

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/fd.h"

namespace xr::host {

namespace {

constexpr size_t kPiece = 1 << 16;

struct FreeDigest {
  void operator()(EVP_MD_CTX *digest) const { EVP_MD_CTX_free(digest); }
};

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
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> digest(EVP_MD_CTX_new());
  if (!digest || !EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr))
    return Error{"libcrypto offers no SHA-256"};
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno_error(errno, fmt::format("cannot read {}", path));
    if (n == 0)
      break;
    EVP_DigestUpdate(digest.get(), piece.data(), static_cast<size_t>(n));
  }
  std::array<unsigned char, 32> hash{};
  EVP_DigestFinal_ex(digest.get(), hash.data(), nullptr);
  std::string text;
  for (const unsigned char byte : hash)
    text += fmt::format("{:02x}", byte);
  return text;
}

} // namespace xr::host
