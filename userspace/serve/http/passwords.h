// SPDX-License-Identifier: Apache-2.0
// Checks passwords against bcrypt hashes.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace xr::http {

class Passwords {
public:
  enum class Outcome { Right, Wrong, Busy };

  // User -> bcrypt hash.
  explicit Passwords(std::map<std::string, std::string> users);

  // Thread safe. A password that was right once is recognised by a keyed digest, in microseconds.
  // Any other costs bcrypt's time, one at a time, also for an unknown user: the time does not say
  // which users there are. Busy: too many of these wait already.
  Outcome check(const std::string &user, const std::string &password);

private:
  using Digest = std::array<unsigned char, 32>;

  Digest digest(const std::string &user, const std::string &password) const;
  bool known(const std::string &user, const Digest &digest);

  std::map<std::string, std::string> users_;
  Digest key_{}; // random, of this object
  std::mutex known_mutex_, bcrypt_mutex_;
  std::map<std::string, Digest> known_; // at most one a user
  std::atomic<int> waiting_ = 0;
};

} // namespace xr::http
