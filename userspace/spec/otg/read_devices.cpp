// SPDX-License-Identifier: Apache-2.0
// devices[]: their ethernets and addresses.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "otg/reading.h"
#include "parse/address.h"

namespace xr::otg {

namespace {

// The address of one interface: not a group, not all zeros.
std::optional<packet::Mac> host_mac(Object &object, const char *key) {
  const auto mac = object.mac(key);
  if (mac && (((*mac)[0] & 1) || *mac == packet::Mac{})) {
    object.error(key,
                 {fmt::format("{} is not the address of an interface", shown(*object.value(key))),
                  "like 02:00:00:00:00:01"});
    return {};
  }
  return mac;
}

// 0.0.0.0 and :: are {}, which is no address.
Address specified(const Address &address) {
  return is_mapped(address) && !address[3] ? Address{} : address;
}

class DeviceReader {
public:
  explicit DeviceReader(Reading &reading) : reading_(reading) {}

  void read(Object &device) {
    const std::string name = device.needed_text("name");
    reading_.devices.add(device, "name", name, 0);
    device.each("ethernets", "an ethernet", [&](Object &object) { ethernet(object, name); });
    read_rocev2(device, name, reading_);
    for (const char *other : {"ipv4_loopbacks", "ipv6_loopbacks", "isis", "bgp", "vxlan", "rsvp",
                              "dhcp_server", "ospfv2", "macsec", "ospfv3", "bmp"})
      device.unsupported(other, "ethernets, rocev2");
  }

private:
  // Sets the port, and the LAG. False: there is none.
  bool read_connection(Object &ethernet, Ethernet &made) {
    std::optional<size_t> port;
    if (!ethernet.has("connection"))
      ethernet.error("connection", {"an ethernet needs it", "{\"port_name\": \"...\"}"});
    ethernet.object("connection", "connection", [&](Object &connection) {
      const std::vector<std::string_view> members = {"port_name", "lag_name", "vxlan_name",
                                                     "simulated_link"};
      const size_t chosen = connection.choice(members, 0);
      if (chosen == 0) {
        port = reading_.ports.refer(connection, "port_name");
        if (const Lag *lag = port ? lag_of_port(reading_.config, *port) : nullptr)
          connection.error("port_name", {fmt::format("port {} is in LAG {}",
                                                     shown(Json(reading_.config.ports[*port].name)),
                                                     shown(Json(lag->name))),
                                         "{\"lag_name\": \"...\"}"});
        return;
      }
      if (chosen == 1) {
        made.lag = reading_.lags.refer(connection, "lag_name");
        if (made.lag)
          port = reading_.config.lags[*made.lag].ports.front().port;
        return;
      }
      (void)connection.value(members[chosen].data());
      connection.error(members[chosen].data(),
                       {"it is not supported", "{\"port_name\": \"...\"} or lag_name"});
    });
    made.port = port.value_or(0);
    return port.has_value();
  }

  static Vlan vlan(Object &object) {
    constexpr uint16_t kTpids[] = {0x8100, 0x88a8, 0x9100, 0x9200, 0x9300};
    (void)object.needed_text("name");
    return {.tpid = kTpids[object.word("tpid", {"x8100", "x88A8", "x9100", "x9200", "x9300"}, 0)],
            .id = static_cast<uint16_t>(object.integer("id", 0, 4094, 1)),
            .priority = static_cast<uint8_t>(object.integer("priority", 0, 7, 0))};
  }

  void ethernet(Object &object, const std::string &device) {
    Ethernet made;
    made.name = object.needed_text("name");
    made.device = device;
    const bool connected = read_connection(object, made);
    made.mac = host_mac(object, "mac");
    if (made.lag && !made.mac && reading_.config.lags[*made.lag].ports.size() > 1)
      object.error("mac", {"an ethernet on a LAG of several ports needs it",
                           "one for all ports, like 02:00:00:00:00:01"});
    made.mtu = object.integer("mtu", 0, 65535, 1500);
    object.each("vlans", "a VLAN", [&](Object &tag) { made.vlans.push_back(vlan(tag)); });
    if (made.vlans.size() > ROCE_VLAN_MAX)
      object.error("vlans", {fmt::format("there are {} tags", made.vlans.size()),
                             fmt::format("at most {}", ROCE_VLAN_MAX)});
    for (const char *other : {"dhcpv4_interfaces", "dhcpv6_interfaces"})
      object.unsupported(other, "ipv4_addresses, ipv6_addresses");
    const size_t index = connected ? reading_.config.ethernets.size() : Names::kBroken;
    reading_.ethernets.add(object, "name", made.name, index);
    if (connected)
      reading_.config.ethernets.push_back(std::move(made));
    for (const bool ipv4 : {true, false})
      object.each(ipv4 ? "ipv4_addresses" : "ipv6_addresses", "an address",
                  [&](Object &each) { address(each, index, ipv4); });
  }

  void address(Object &object, size_t ethernet, bool ipv4) {
    Interface made;
    made.name = object.needed_text("name");
    made.ipv4 = ipv4;
    made.ethernet = ethernet;
    made.address = host_address(object, ipv4);
    made.gateway = specified(object.needed_address("gateway", ipv4));
    made.prefix =
        static_cast<unsigned>(object.integer("prefix", 1, ipv4 ? 32 : 128, ipv4 ? 24 : 64));
    object.object("gateway_mac", "gateway_mac", [&](Object &mac) {
      if (mac.choice({"auto", "value"}, 0) == 1)
        made.gateway_mac = host_mac(mac, "value");
      else
        mac.unused("auto", "ARP and ND find it");
    });
    check_used(object, made);
    const bool kept = ethernet != Names::kBroken;
    reading_.addresses.add(object, "name", made.name,
                           kept ? reading_.config.interfaces.size() : Names::kBroken);
    if (kept)
      reading_.config.interfaces.push_back(std::move(made));
  }

  // {}: it has an error.
  static Address host_address(Object &object, bool ipv4) {
    const size_t errors = object.findings().count();
    const Address address = specified(object.needed_address("address", ipv4));
    if (address == Address{} && object.findings().count() == errors)
      object.error("address", {"it is not the address of a host",
                               ipv4 ? "like 192.0.2.1" : "like 2001:db8::1"});
    return address;
  }

  void check_used(const Object &object, const Interface &made) {
    if (made.address == Address{})
      return;
    if (const auto [at, fresh] = used_.emplace(made.address, made.name); !fresh)
      object.error("address",
                   {fmt::format("{} is that of {} too", parse::address_text(made.address),
                                shown(Json(at->second))),
                    "each interface has an address of its own"});
  }

  Reading &reading_;
  std::map<Address, std::string> used_; // the name of the interface
};

} // namespace

void read_devices(Object &root, Reading &reading) {
  DeviceReader reader(reading);
  root.each("devices", "a device", [&](Object &device) { reader.read(device); });
}

} // namespace xr::otg
