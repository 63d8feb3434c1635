// SPDX-License-Identifier: Apache-2.0
#include "parse/listen.h"

#include <fmt/format.h>

#include "parse/address.h"
#include "parse/value.h"

namespace xr::parse {

std::string Listen::text() const {
  return (ipv6 ? "[" + address + "]" : address) + fmt::format(":{}", port);
}

bool Listen::loopback() const { return address.starts_with("127.") || address == "::1"; }

Result<Listen> listen(const std::string &word, const std::string &form) {
  const size_t colon = word.rfind(':');
  if (colon == std::string::npos)
    return Error{fmt::format("'{}' is not an address and port", word), form};
  Listen listen;
  listen.address = word.substr(0, colon);
  listen.ipv6 = listen.address.starts_with('[') && listen.address.ends_with(']');
  if (listen.ipv6)
    listen.address = listen.address.substr(1, listen.address.size() - 2);
  const bool has_colon = listen.address.find(':') != std::string::npos;
  if (!parse::address(listen.address) || has_colon != listen.ipv6)
    return Error{fmt::format("'{}' does not begin with an IP address", word), form};
  auto port = parse::integer(word.substr(colon + 1), 0, UINT16_MAX, "a port");
  if (!port)
    return Error{port.error().message, form};
  listen.port = static_cast<uint16_t>(*port);
  return listen;
}

} // namespace xr::parse
