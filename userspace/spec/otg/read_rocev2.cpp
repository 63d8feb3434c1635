// SPDX-License-Identifier: Apache-2.0
// devices[].rocev2: interfaces, peers, QPs.
#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "otg/reading.h"
#include "roce/wire.h"

namespace xr::otg {

namespace {

constexpr uint64_t kMostQp = 0xffffff; // OTG's model has 25 bits
constexpr uint64_t kMostPmtu = 4096;
constexpr uint64_t kDefaultMtu = 1500; // of a layer1 and of an ethernet

class Rocev2Reader {
public:
  Rocev2Reader(Reading &reading, const std::string &device) : reading_(reading), device_(device) {}

  void interface(Object &object, bool ipv4) {
    const char *key = ipv4 ? "ipv4_name" : "ipv6_name";
    auto found = reading_.addresses.refer(object, key);
    if (found && !is_right(object, key, *found, ipv4))
      found.reset();
    const auto ib_mtu = static_cast<uint32_t>(object.integer("ib_mtu", kLeastPmtu, 14000, 1024));
    const auto pmtu = static_cast<uint32_t>(std::min(std::bit_floor(uint64_t{ib_mtu}), kMostPmtu));
    if (pmtu != ib_mtu)
      object.warning("ib_mtu", fmt::format("{}: the PMTU is {}, the largest of InfiniBand that "
                                           "fits",
                                           ib_mtu, pmtu));
    if (found)
      check_mtu(object, *found, pmtu);
    object.each("peers", "a peer", [&](Object &each) { peer(each, found, ipv4, ib_mtu, pmtu); });
  }

private:
  bool is_right(const Object &object, const char *key, size_t index, bool ipv4) const {
    const Interface &there = reading_.config.interfaces[index];
    if (there.ipv4 != ipv4) {
      object.error(key, {fmt::format("{} is an {} address", shown(Json(there.name)),
                                     there.ipv4 ? "IPv4" : "IPv6"),
                         there.ipv4 ? "ipv4_interfaces" : "ipv6_interfaces"});
      return false;
    }
    const std::string &owner = reading_.config.ethernets[there.ethernet].device;
    if (owner == device_)
      return true;
    object.error(key, {fmt::format("{} is an address of device {}", shown(Json(there.name)),
                                   shown(Json(owner))),
                       "an address of the same device"});
    return false;
  }

  void check_mtu(const Object &object, size_t interface, uint64_t pmtu) const {
    const Interface &own = reading_.config.interfaces[interface];
    const Ethernet &ethernet = reading_.config.ethernets[own.ethernet];
    const Port &port = reading_.config.ports[ethernet.port];
    const uint64_t headers = transport_headers(own.ipv4);
    // A client sends the default of an object that it has used at all, so that it says nothing of
    // the interface. Testers take the MTU of a port from ib_mtu.
    const auto fits = [&](uint64_t mtu) { return pmtu + headers <= mtu; };
    const auto contradicts = [&](uint64_t mtu) { return mtu != kDefaultMtu && !fits(mtu); };
    const bool of_port = port.mtu && contradicts(*port.mtu);
    const std::string whose = of_port || fits(ethernet.mtu)
                                  ? "the layer1 of port " + shown(Json(port.name))
                                  : "ethernet " + shown(Json(ethernet.name));
    if (!of_port && !contradicts(ethernet.mtu)) {
      if (!fits(ethernet.mtu) || (port.mtu && !fits(*port.mtu)))
        object.warning("ib_mtu", fmt::format("packets of {} bytes do not fit the mtu {} of {}, "
                                             "which is the default: the interface's own decides",
                                             pmtu, kDefaultMtu, whose));
      return;
    }
    const uint64_t mtu = of_port ? *port.mtu : ethernet.mtu;
    const uint64_t less = mtu > headers ? std::bit_floor(mtu - headers) : 0;
    std::string hint = fmt::format("an mtu from {} on", pmtu + headers);
    if (less >= kLeastPmtu)
      hint += fmt::format(", or ib_mtu {}", less);
    object.error("ib_mtu",
                 {fmt::format("packets of {} bytes, and {} of headers, do not fit the mtu {} of {}",
                              pmtu, headers, mtu, whose),
                  hint});
  }

  void peer(Object &object, std::optional<size_t> interface, bool ipv4, uint32_t ib_mtu,
            uint32_t pmtu) {
    Peer made;
    made.name = object.needed_text("name");
    const size_t errors = object.findings().count();
    made.destination = object.needed_address("destination_ip_address", ipv4);
    if (object.findings().count() != errors)
      interface.reset();
    if (is_mapped(made.destination) && !made.destination[3])
      made.destination = {};
    made.ib_mtu = ib_mtu;
    made.pmtu = pmtu;
    const size_t index = interface ? reading_.config.peers.size() : Names::kBroken;
    reading_.peers.add(object, "name", made.name, index);
    if (interface) {
      made.interface = *interface;
      reading_.config.peers.push_back(std::move(made));
    }
    object.each("qps", "a QP", [&](Object &each) { qp(each, index); });
  }

  void qp(Object &object, size_t peer) {
    Qp made;
    std::string path;
    made.name = object.needed_text("qp_name");
    object.object(
        "connection_type", "connection_type",
        [&](Object &type) {
          (void)type.choice({"reliable_connection"}, 0);
          type.object(
              "reliable_connection", "reliable_connection",
              [&](Object &connection) {
                parameters(connection, made);
                path = made.number == kQpNotSet ? "" : connection.path("source_qp_number");
              },
              true);
        },
        true);
    const bool kept = peer != Names::kBroken;
    reading_.qps.add(object, "qp_name", made.name,
                     kept ? reading_.config.qps.size() : Names::kBroken);
    if (!kept)
      return;
    made.peer = peer;
    reading_.config.peers[peer].qps.push_back(reading_.config.qps.size());
    reading_.config.qps.push_back(std::move(made));
    reading_.qpn_paths.push_back(std::move(path));
  }

  static void parameters(Object &object, Qp &qp) {
    qp.number = static_cast<uint32_t>(object.integer("source_qp_number", 2, kMostQp, kQpNotSet));
    qp.dscp = static_cast<uint8_t>(object.integer("dscp", 0, 63, 24));
    qp.ecn = read_ecn(object, "ecn");
    if (const auto port = object.maybe_integer("udp_source_port", 0, 65535))
      qp.udp_port = static_cast<uint16_t>(*port);
    qp.psn = static_cast<uint32_t>(object.integer("initial_psn", 0, ROCE_PSN_MASK, 0));
    qp.va = object.hexadecimal("virtual_address", 16, 0);
    qp.rkey = static_cast<uint32_t>(object.hexadecimal("remote_key", 8, 0));
    object.set_default("virtual_address", "0000000000000000");
    object.set_default("remote_key", "00000000");
  }

  Reading &reading_;
  const std::string &device_;
};

// Whether there are two or more, all with the same QPN.
bool is_shared(const std::vector<Qp> &all, const std::vector<size_t> &some) {
  return some.size() > 1 && std::ranges::all_of(some, [&](size_t qp) {
           return all[qp].number == all[some.front()].number;
         });
}

} // namespace

uint32_t transport_headers(bool ipv4) {
  // UDP 8, BTH 12, RETH 16, immediate data 4, iCRC 4.
  constexpr uint32_t kTransport = 44;
  return kTransport + (ipv4 ? ROCE_IPV4_LEN : ROCE_IPV6_LEN);
}

void read_rocev2(Object &device, const std::string &name, Reading &reading) {
  Rocev2Reader reader(reading, name);
  device.object("rocev2", "rocev2", [&](Object &rocev2) {
    rocev2.each("ipv4_interfaces", "an interface",
                [&](Object &each) { reader.interface(each, true); });
    rocev2.each("ipv6_interfaces", "an interface",
                [&](Object &each) { reader.interface(each, false); });
  });
}

// A client that does not number its QPs gives all of them the number of its template.
void check_qp_numbers(Reading &reading, Findings &findings) {
  std::vector<Qp> &qps = reading.config.qps;
  std::vector<size_t> all(qps.size());
  std::vector<std::vector<size_t>> of_port(reading.config.ports.size());
  for (size_t i = 0; i < qps.size(); i++) {
    all[i] = i;
    of_port[reading.port_of_qp(i)].push_back(i);
  }
  const bool all_shared = is_shared(qps, all);
  for (const auto &some : of_port) {
    const bool shared = all_shared || is_shared(qps, some);
    std::map<uint32_t, size_t> seen;
    for (const size_t i : some) {
      if (shared)
        qps[i].number = kQpNotSet;
      else if (const auto [at, fresh] = seen.emplace(qps[i].number, i);
               !fresh && qps[i].number != kQpNotSet)
        findings.error(reading.qpn_paths[i],
                       {fmt::format("{} is that of QP {} of the same port too", qps[i].number,
                                    shown(Json(qps[at->second].name))),
                        "a number of its own for each QP, or 2: it is chosen here"});
    }
  }
}

} // namespace xr::otg
