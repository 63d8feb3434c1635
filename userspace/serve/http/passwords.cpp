// SPDX-License-Identifier: Apache-2.0
#include "http/passwords.h"

#include <memory>
#include <stdexcept>
#include <string_view>

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace xr::http {

namespace {

constexpr int kMostWaiting = 8;

bool bcrypt_matches(const std::string &password, const std::string &hash) {
  const auto data = std::make_unique<crypt_data>(); // 32 KiB, zero
  const char *made = crypt_r(password.c_str(), hash.c_str(), data.get());
  const std::string_view got = made ? made : "";
  return got.size() == hash.size() && CRYPTO_memcmp(got.data(), hash.data(), got.size()) == 0;
}

} // namespace

Passwords::Passwords(std::map<std::string, std::string> users) : users_(std::move(users)) {
  if (RAND_bytes(key_.data(), static_cast<int>(key_.size())) != 1)
    throw std::runtime_error("OpenSSL has no random numbers");
}

Passwords::Digest Passwords::digest(const std::string &user, const std::string &password) const {
  const std::string text = user + '\0' + password; // neither has a NUL
  Digest made{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char *>(text.data()), text.size(), made.data(), &length);
  return made;
}

bool Passwords::known(const std::string &user, const Digest &digest) {
  const std::lock_guard lock(known_mutex_);
  const auto found = known_.find(user);
  return found != known_.end() &&
         CRYPTO_memcmp(found->second.data(), digest.data(), digest.size()) == 0;
}

Passwords::Outcome Passwords::check(const std::string &user, const std::string &password) {
  // crypt_r() reads to the first NUL only.
  if (users_.empty() || password.find('\0') != std::string::npos ||
      user.find('\0') != std::string::npos)
    return Outcome::Wrong;
  const Digest digest = this->digest(user, password);
  if (known(user, digest))
    return Outcome::Right;
  struct Waiting {
    std::atomic<int> &count;
    const int before = count++;
    explicit Waiting(std::atomic<int> &counter) : count(counter) {}
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
    ~Waiting() { count--; }
  };
  const Waiting waiting(waiting_);
  if (waiting.before >= kMostWaiting)
    return Outcome::Busy;
  const std::lock_guard lock(bcrypt_mutex_);
  if (known(user, digest)) // several scrapes began together
    return Outcome::Right;
  const auto found = users_.find(user);
  const bool exists = found != users_.end();
  // An unknown user's password is compared with somebody else's hash, for the time that it takes.
  if (!bcrypt_matches(password, exists ? found->second : users_.begin()->second) || !exists)
    return Outcome::Wrong;
  const std::lock_guard lock_known(known_mutex_);
  known_[user] = digest;
  return Outcome::Right;
}

} // namespace xr::http
