// SPDX-License-Identifier: Apache-2.0
// lldp[]: what a port says of itself by LLDP.
#include <algorithm>

#include <fmt/format.h>

#include "otg/reading.h"

namespace xr::otg {

namespace {

constexpr size_t kMostIdBytes = 255, kMostLldpduBytes = 1500;
constexpr std::string_view kDefaultOui = "0080C2";

std::optional<std::vector<uint8_t>> bytes_of_digits(std::string_view digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i++) {
    const char lower =
        digits[i] >= 'A' && digits[i] <= 'F' ? static_cast<char>(digits[i] | 0x20) : digits[i];
    const size_t value = kDigits.find(lower);
    if (digits.size() % 2 || value == std::string_view::npos)
      return {};
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | value);
  }
  return bytes;
}

// 1 to 255 bytes; an error otherwise, and "".
std::string read_name(Object &object, const char *key) {
  std::string name = object.needed_text(key);
  if (name.size() > kMostIdBytes) {
    object.error(key, {fmt::format("it has {} bytes", name.size()),
                       fmt::format("at most {}", kMostIdBytes)});
    name.clear();
  }
  return name;
}

// `auto`, which GET /config shows, or `value`.
bool is_automatic(Object &object) {
  if (object.choice({"auto", "value"}, 0) != 0)
    return false;
  (void)object.text("auto");
  return true;
}

LldpName bytes_of_name(Object &object, const char *key) {
  const std::string name = read_name(object, key);
  return LldpName(std::in_place, name.begin(), name.end());
}

LldpName read_mac(Object &object, const char *key) {
  if (!object.has(key))
    object.error(key, {"a MAC address is needed", "like 02:00:00:00:00:01"});
  const packet::Mac mac = object.mac(key).value_or(packet::Mac{});
  return LldpName(std::in_place, mac.begin(), mac.end());
}

// The MAC of a chassis and the interface name of a port may be automatic.
LldpId read_id(Object &object, bool chassis) {
  constexpr LldpIdKind kKinds[] = {LldpIdKind::Mac, LldpIdKind::InterfaceName, LldpIdKind::Local};
  const std::vector<std::string_view> members = {"mac_address_subtype", "interface_name_subtype",
                                                 "local_subtype"};
  LldpId made{kKinds[object.choice(members, chassis ? 0 : 1)], {}};
  const char *const key = members[static_cast<size_t>(made.kind)].data();
  if (made.kind == (chassis ? LldpIdKind::Mac : LldpIdKind::InterfaceName))
    object.object(
        key, key,
        [&](Object &inner) {
          if (!is_automatic(inner))
            made.value = chassis ? read_mac(inner, "value") : bytes_of_name(inner, "value");
        },
        true);
  else
    made.value = made.kind == LldpIdKind::Mac ? read_mac(object, key) : bytes_of_name(object, key);
  return made;
}

LldpOrgInfo read_org_info(Object &object) {
  LldpOrgInfo made;
  const std::string oui = object.text("oui", kDefaultOui);
  const auto bytes = bytes_of_digits(oui);
  if (bytes && bytes->size() == made.oui.size())
    std::ranges::copy(*bytes, made.oui.begin());
  else
    object.error("oui", {fmt::format("{} is not a text of 6 hexadecimal digits", shown(Json(oui))),
                         fmt::format("like \"{}\"", kDefaultOui)});
  made.subtype = static_cast<uint8_t>(object.integer("subtype", 1, 127, 1));
  object.object("information", "information", [&](Object &information) {
    (void)information.choice({"info"}, 0);
    constexpr size_t kMostInformation = 507;
    const std::string digits = information.text("info");
    auto read = bytes_of_digits(digits);
    if (!read || read->size() > kMostInformation)
      information.error("info",
                        {fmt::format("{} is not a text of two hexadecimal digits for each of at "
                                     "most {} bytes",
                                     shown(Json(digits)), kMostInformation),
                         "like \"0a1b\""});
    else
      made.information = std::move(*read);
  });
  return made;
}

// The length of its LLDPDU, with the longest names that the port or the host may have.
size_t lldpdu_bytes(const Lldp &lldp) {
  constexpr size_t kTlv = 2, kTtlAndEnd = 6;
  size_t all = kTtlAndEnd;
  for (const LldpId *id : {&lldp.chassis, &lldp.port_id})
    all += kTlv + 1 + (id->value ? id->value->size() : 16);
  if (lldp.system_name)
    all += kTlv + (lldp.system_name->empty() ? 64 : lldp.system_name->size());
  for (const LldpOrgInfo &each : lldp.org_infos)
    all += kTlv + each.oui.size() + 1 + each.information.size();
  return all;
}

void read_one(Object &object, Reading &reading) {
  Lldp made;
  made.name = object.needed_text("name");
  std::optional<size_t> port;
  if (!object.has("connection"))
    object.error("connection", {"LLDP needs it", "{\"port_name\": \"...\"}"});
  object.object("connection", "connection", [&](Object &connection) {
    (void)connection.choice({"port_name"}, 0);
    port = reading.ports.refer(connection, "port_name");
    if (port && std::ranges::any_of(reading.config.lldp,
                                    [&](const Lldp &each) { return each.port == *port; }))
      connection.error("port_name", {fmt::format("port {} has LLDP already",
                                                 shown(Json(reading.config.ports[*port].name))),
                                     "once for each port"});
  });
  object.object(
      "chassis_id", "chassis_id", [&](Object &id) { made.chassis = read_id(id, true); }, true);
  object.object(
      "port_id", "port_id", [&](Object &id) { made.port_id = read_id(id, false); }, true);
  object.object("system_name", "system_name", [&](Object &name) {
    made.system_name = is_automatic(name) ? "" : read_name(name, "value");
  });
  made.hold_s = static_cast<uint16_t>(object.integer("hold_time", 10, 65535, 120));
  made.interval_s = static_cast<uint16_t>(object.integer("advertisement_interval", 5, 65534, 30));
  if (made.hold_s <= made.interval_s)
    object.warning("hold_time", fmt::format("neighbours forget it after {} s, and hear of it "
                                            "every {} s",
                                            made.hold_s, made.interval_s));
  object.each("org_infos", "an organisation's information",
              [&](Object &each) { made.org_infos.push_back(read_org_info(each)); });
  if (lldpdu_bytes(made) > kMostLldpduBytes)
    object.error("org_infos", {fmt::format("an LLDPDU of {} bytes", lldpdu_bytes(made)),
                               fmt::format("at most {}", kMostLldpduBytes)});
  reading.lldp.add(object, "name", made.name, reading.config.lldp.size());
  if (!port)
    return;
  made.port = *port;
  reading.config.lldp.push_back(std::move(made));
}

} // namespace

void read_lldp(Object &root, Reading &reading) {
  root.each("lldp", "LLDP", [&](Object &each) { read_one(each, reading); });
}

} // namespace xr::otg
