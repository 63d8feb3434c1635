// SPDX-License-Identifier: Apache-2.0
// Where a server listens: ADDRESS:PORT, IPv6 in brackets.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace xr::parse {

struct Listen {
  std::string address;
  bool ipv6 = false;
  uint16_t port = 0; // host order; 0: any free port

  std::string text() const;
  bool loopback() const; // only programs of this host can reach it
};

// `form`: the hint of errors.
Result<Listen> listen(const std::string &word, const std::string &form);

} // namespace xr::parse
