// SPDX-License-Identifier: Apache-2.0
// Parses IP addresses and prefixes. Network byte order; IPv4 is v4-mapped IPv6.
#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"
#include "base/result.h"
#include "roce/rule.h"

namespace xr::parse {

using xr::Address;

struct Prefix {
  Address address{};
  unsigned length = 128; // of 128 bits, also for IPv4
  bool ipv4 = false;

  // True if it matches every address of its family.
  bool whole() const;
  // True if it is an IPv6 prefix that also contains the v4-mapped addresses.
  bool holds_mapped() const;
  std::string text() const;
  roce_prefix compiled() const;
  bool operator==(const Prefix &) const = default;
};

Result<Address> address(const std::string &word);
std::string address_text(const Address &address);

// 192.0.2.1, 192.0.2.0/24, 2001:db8::/32. Bits after the prefix must be zero.
Result<Prefix> prefix(const std::string &word);

} // namespace xr::parse
