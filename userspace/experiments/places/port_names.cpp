// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"
#include "places/ports.h"

namespace xr::places {

namespace {

constexpr const char *kExample = "left=eth1,right=eth2, or send=eth1, or respond=eth1";

Status set_name(std::string &to, const std::string &key, const std::string &value) {
  if (!to.empty())
    return Error{fmt::format("{} is given twice", key), "one port"};
  if (value.empty())
    return Error{fmt::format("{} has no port", key), key + "=IF"};
  to = value;
  return {};
}

Status take(auto &to, const auto &parsed) {
  if (!parsed)
    return parsed.error();
  to = parsed.get();
  return {};
}

Status set_value(PortNames &names, const std::string &key, const std::string &value) {
  for (const auto &[name, to] :
       {std::pair{"left", &names.left}, std::pair{"right", &names.right},
        std::pair{"send", &names.send}, std::pair{"respond", &names.respond}})
    if (key == name)
      return set_name(*to, key, value);
  for (const auto &[name, to] : {std::pair{"src", &names.src}, std::pair{"dst", &names.dst}})
    if (key == name) {
      const auto address = parse::address(value);
      if (!address)
        return address.error();
      if (!packet::is_mapped(address.get()))
        return Error{fmt::format("{}: {} is not an IPv4 address", key, value), "like 192.0.2.1"};
      *to = address.get();
      return {};
    }
  if (key == "dst-mac")
    return take(names.dst_mac, packet::parse_mac(value));
  if (key == "speed")
    return take(names.speed, parse::rate(value));
  return parse::wrong(key, "a key of --on ports",
                      parse::hint_from(key, {"left", "right", "send", "respond", "src", "dst",
                                             "dst-mac", "speed"}));
}

Status check_names(const PortNames &names) {
  if (names.left.empty() != names.right.empty())
    return Error{fmt::format("{} is missing", names.left.empty() ? "left" : "right"),
                 "a wire has two ports: left=IF,right=IF"};
  if (names.roles().empty())
    return Error{"no port is named", kExample};
  if (!names.left.empty() && names.left == names.right)
    return Error{fmt::format("{} is both left and right", names.left), "two ports"};
  return {};
}

} // namespace

std::vector<std::string> PortNames::roles() const {
  std::vector<std::string> roles;
  for (const auto &[role, port] :
       {std::pair{"wire", &left}, std::pair{"send", &send}, std::pair{"respond", &respond}})
    if (!port->empty())
      roles.emplace_back(role);
  return roles;
}

Result<PortNames> parse_ports(const std::vector<std::string> &words) {
  PortNames names;
  for (const std::string &word : words)
    for (const std::string &part : parse::parts(word)) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos)
        return Error{fmt::format("'{}' is not KEY=VALUE", part), kExample};
      XR_TRY(set_value(names, part.substr(0, equals), part.substr(equals + 1)));
    }
  XR_TRY(check_names(names));
  return names;
}

} // namespace xr::places
