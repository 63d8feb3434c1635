// SPDX-License-Identifier: Apache-2.0
// A configuration of the Open Traffic Generator (model 1.61) as values: ports, devices, QPs, flows.
// Names are the configuration's own; an index is one in the list of that name.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "otg/object.h"
#include "otg/plain_flow.h"
#include "packet/bit_match.h"
#include "packet/frame.h"

namespace xr::otg {

// Flow control in layer1. whole_port: PAUSE of IEEE 802.3x, which stops all priorities.
struct FlowControl {
  bool whole_port = false;
  unsigned priorities = 0xff; // bit n: priority n
  bool operator==(const FlowControl &) const = default;
};

// A parameter of DCQCN, by our name (`cc show dcqcn`). of_line: a percentage of the line's rate.
struct DcqcnParameter {
  std::string name, value; // value "": of_line
  double of_line = 0;
};

// How a kind of answer is marked. `given`: it is not OTG's default.
struct Marking {
  uint8_t dscp = 48, ecn = 1; // ecn: the two bits; 1 is ECT(1)
  bool given = false;
};

// options.per_port_options[].protocols[].rocev2 of a port. given: it is there.
struct PortOptions {
  bool given = false;
  Marking cnp, ack, nak;
  uint64_t cnp_interval_us = 55;
  bool interval_given = false;                 // there is a `cnp`
  bool timer = true;                           // retransmission
  std::optional<uint64_t> timeout_ms, retries; // none: there is no reliable_connection
  bool dcqcn = false;
  std::vector<DcqcnParameter> parameters; // that are given; the others are of our preset `otg`
};

struct Port {
  std::string name, location;  // location: IF or NETNS/IF
  uint64_t line_mbit = 0;      // of layer1; 0: not given
  std::optional<uint64_t> mtu; // of layer1; none: as the port has it
  std::optional<FlowControl> flow_control;
  PortOptions options;
};

// lags[].ports[]
struct LagPort {
  size_t port = 0;
  std::optional<packet::Mac> mac; // none: the port's
  // lacp:
  uint16_t number = 0, priority = 1; // number 0: its place in the LAG, from 1
  bool active = true;
  uint64_t interval_s = 0, timeout_s = 0; // 0: as the partner asks; 3
};

// lags[]: ports that are one link.
struct Lag {
  std::string name;
  std::vector<LagPort> ports; // at least one
  uint64_t min_links = 1;
  bool lacp = false;    // else static
  packet::Mac system{}; // {}: the MAC of its first port
  uint16_t system_priority = 0, key = 0;
};

enum class LldpIdKind : uint8_t { Mac, InterfaceName, Local };
using LldpName = std::optional<std::vector<uint8_t>>; // none: the port's own

// What a chassis or a port is called. `value`: of the kind Mac, its 6 bytes.
struct LldpId {
  LldpIdKind kind = LldpIdKind::Local;
  LldpName value;
};

struct LldpOrgInfo {
  std::array<uint8_t, 3> oui{};
  uint8_t subtype = 1;
  std::vector<uint8_t> information;
};

// lldp[]
struct Lldp {
  std::string name;
  size_t port = 0;
  LldpId chassis, port_id;
  std::optional<std::string> system_name; // none: it is not sent; "": the host's
  uint16_t hold_s = 120, interval_s = 30;
  std::vector<LldpOrgInfo> org_infos;
};

struct Vlan {
  uint16_t tpid = 0x8100;
  uint16_t id = 1;
  uint8_t priority = 0;
};

// devices[].ethernets[]
struct Ethernet {
  std::string name, device;
  size_t port = 0;                // of a LAG: its first
  std::optional<size_t> lag;      // that it is on
  std::optional<packet::Mac> mac; // none: the port's
  uint64_t mtu = 1500;
  std::vector<Vlan> vlans; // outer first
};

// devices[].ethernets[].ipv4_addresses[] and ipv6_addresses[]
struct Interface {
  std::string name;
  size_t ethernet = 0;
  bool ipv4 = true;
  Address address{}, gateway{}; // gateway {}: none
  unsigned prefix = 24;
  std::optional<packet::Mac> gateway_mac; // none: ARP or ND
};

constexpr uint32_t kQpNotSet = 2; // the model's default of source_qp_number

struct Qp {
  std::string name;
  size_t peer = 0;
  // kQpNotSet: so are numbers that all QPs of the port, or of all ports, share.
  uint32_t number = kQpNotSet;
  uint8_t dscp = 24, ecn = 1;
  std::optional<uint16_t> udp_port; // none: from a hash of the QPN
  uint32_t psn = 0;
  uint64_t va = 0;
  uint32_t rkey = 0;
};

// devices[].rocev2.ipv4_interfaces[].peers[] and ipv6
struct Peer {
  std::string name;
  size_t interface = 0;
  Address destination{};               // {}: it only receives
  uint32_t ib_mtu = 1024, pmtu = 1024; // as given; the PMTU of InfiniBand that fits
  std::vector<size_t> qps;
};

constexpr uint32_t kLeastPmtu = 256; // of InfiniBand
// Bytes of the headers from IP on, and the iCRC, of the longest RoCEv2 packets.
uint32_t transport_headers(bool ipv4);

enum class Verb : uint8_t { Write, WriteImmediate, Send, SendImmediate, Read };

// stateful_flows.rocev2[].tx_ports[].transmit_type.target_line_rate.flows[]
struct StatefulFlow {
  std::string name, rx; // rx: rx_endpoint, a QP or a port, or ""
  size_t qp = 0, port = 0;
  Verb verb = Verb::Write;
  uint64_t bytes = 1'000'000; // of a message
  uint32_t immediate = 0;
  double percent = 98; // of the line, for all flows of the port together; 0: it sends nothing
};

// A port may be in several: it records the frames of all of them, in the format of the first.
struct Capture {
  std::string name;
  std::vector<size_t> ports;
  bool pcapng = false;
  uint32_t snaplen = 0;                 // 0: whole frames
  bool overwrite = true;                // when there is no room: the oldest frames go
  std::vector<packet::BitMatch> filter; // all must hold
};

struct Config {
  std::vector<Port> ports;
  std::vector<Lag> lags;
  std::vector<Lldp> lldp;
  std::vector<Ethernet> ethernets;
  std::vector<Interface> interfaces;
  std::vector<Peer> peers;
  std::vector<Qp> qps;
  std::vector<StatefulFlow> flows;
  std::vector<PlainFlow> plain_flows;
  std::vector<Capture> captures;
  bool auto_start = true; // options.protocol_options.auto_start_all
};

// The ports of a LAG, and those that an Ethernet is on.
std::vector<size_t> ports_of(const Lag &lag);
std::vector<size_t> ports_of(const Config &config, const Ethernet &ethernet);
// nullptr: the port is in none.
const Lag *lag_of_port(const Config &config, size_t port);

// Reads `json`, which gets the defaults of what is absent. What is wrong is in `findings`, what has
// no effect in its warnings. With errors the configuration lacks objects, but its indexes hold.
Config read_config(Json &json, Findings &findings);

} // namespace xr::otg
