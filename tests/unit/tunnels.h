// SPDX-License-Identifier: Apache-2.0
// Headers of tunnels around bytes, written from the standards: RFC 2784 and 2890 (GRE), the draft
// of ERSPAN, RFC 7348 (VXLAN), 8926 (GENEVE), 3032 (MPLS).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unit/frames.h"

namespace xr::test::tunnel {

inline void put(Bytes &out, uint64_t value, int bytes) {
  while (bytes--)
    out.push_back(static_cast<uint8_t>(bytes < 8 ? value >> 8 * bytes : 0));
}

inline Bytes before(Bytes header, const Bytes &rest) {
  header.insert(header.end(), rest.begin(), rest.end());
  return header;
}

inline Bytes ethernet(uint16_t type, const Bytes &rest, int tags = 0) {
  Bytes out(12, 0x06);
  for (int i = 0; i < tags; i++)
    put(out, uint64_t{i + 1 < tags ? 0x88a8u : 0x8100u} << 16 | (100 + i), 4);
  put(out, type, 2);
  return before(out, rest);
}

struct Ip {
  uint8_t host = 1;
  bool v6 = false;
  int options = 0;         // words of IPv4
  uint16_t flags = 0x4000; // of IPv4, with the fragment's offset
  bool extension = false;  // destination options of IPv6
  uint8_t ecn = 0;
};

inline Bytes ip(uint8_t proto, const Bytes &rest, const Ip &how = {}) {
  Bytes out;
  if (how.v6) {
    put(out, 0x60000000 | static_cast<uint64_t>(how.ecn) << 20, 4);
    put(out, rest.size() + (how.extension ? 8 : 0), 2);
    put(out, how.extension ? 60 : proto, 1);
    put(out, 64, 1);
    for (const uint8_t host : {how.host, uint8_t{254}}) {
      put(out, 0x20010db8000000ff, 8);
      put(out, host, 8);
    }
    if (how.extension)
      put(out, uint64_t{proto} << 56, 8);
  } else {
    put(out, 0x45 + static_cast<uint64_t>(how.options), 1);
    put(out, how.ecn, 1);
    put(out, 20 + 4 * static_cast<uint64_t>(how.options) + rest.size(), 2);
    put(out, 0x1234, 2);
    put(out, how.flags, 2);
    put(out, 64, 1);
    put(out, proto, 1);
    put(out, 0, 2);
    put(out, 0xc6336400u | how.host, 4); // 198.51.100.x
    put(out, 0xcb0071feu, 4);            // 203.0.113.254
    put(out, 0, 4 * how.options);
  }
  return before(out, rest);
}

struct Gre {
  std::optional<uint32_t> sequence = {}, key = {};
  bool checksum = false;
};

inline Bytes gre(uint16_t type, const Bytes &rest, const Gre &how = {}) {
  Bytes out;
  put(out, (how.checksum ? 0x8000 : 0) | (how.key ? 0x2000 : 0) | (how.sequence ? 0x1000 : 0), 2);
  put(out, type, 2);
  if (how.checksum)
    put(out, 0xbeef0000, 4);
  if (how.key)
    put(out, *how.key, 4);
  if (how.sequence)
    put(out, *how.sequence, 4);
  return before(out, rest);
}

// VLAN 100, COS 5, En 3; all bits of what is not read are set.
inline Bytes erspan2(uint32_t session, const Bytes &rest, bool truncated = false) {
  Bytes out;
  put(out, 0x1064, 2);
  put(out, 0xb800 | (truncated ? 0x400 : 0) | session, 2);
  put(out, 0xfff00007, 4);
  return before(out, rest);
}

inline Bytes erspan3(uint32_t session, const Bytes &rest, bool platform = false) {
  Bytes out;
  put(out, 0x2064, 2);
  put(out, 0xb800 | session, 2);
  put(out, 0xfffffffful, 4);
  put(out, 0xfffffffe | (platform ? 1 : 0), 4);
  if (platform)
    put(out, 0xfedcba9876543210, 8);
  return before(out, rest);
}

inline Bytes udp(uint16_t port, const Bytes &rest) {
  Bytes out;
  put(out, 0xc123, 2);
  put(out, port, 2);
  put(out, 8 + rest.size(), 2);
  put(out, 0, 2);
  return before(out, rest);
}

inline Bytes vxlan(uint32_t vni, const Bytes &rest) {
  Bytes out;
  put(out, 0x08000000, 4);
  put(out, vni << 8, 4);
  return udp(4789, before(out, rest));
}

inline Bytes geneve(uint32_t vni, uint16_t type, const Bytes &rest, int option_words = 0) {
  Bytes out;
  put(out, static_cast<uint64_t>(option_words), 1);
  put(out, 0, 1);
  put(out, type, 2);
  put(out, vni << 8, 4);
  out.insert(out.end(), 4 * static_cast<size_t>(option_words), 0xff);
  return udp(6081, before(out, rest));
}

inline Bytes mpls(int labels, const Bytes &rest) {
  Bytes out;
  for (int i = 0; i < labels; i++)
    put(out, static_cast<uint64_t>(1000 + i) << 12 | (i + 1 == labels ? 0x100 : 0) | 64, 4);
  return before(out, rest);
}

// A way to wrap a frame. Those `of_network` carry its network layer, without its Ethernet header.
struct Way {
  const char *name;
  std::function<Bytes(const Bytes &inside, uint32_t number)> wrap;
  bool of_network = false;
};

inline uint16_t type_of(const Bytes &network) { return network[0] >> 4 == 4 ? 0x0800 : 0x86dd; }

// Each tunnel, alone and one in another, `number` being the sequence number where there is one.
inline const std::vector<Way> &ways() {
  const auto network = [](const Bytes &in) {
    return uint8_t{in[0] >> 4 == 4 ? uint8_t{4} : uint8_t{41}};
  };
  const auto mirror = [](const Bytes &in, uint32_t n) {
    return ethernet(0x0800, ip(47, gre(0x88be, erspan2(7, in), {.sequence = n})));
  };
  static const std::vector<Way> kWays = {
      {"erspan I",
       [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(47, gre(0x88be, in))); }},
      {"erspan II", mirror},
      {"erspan II, tagged, with options",
       [](const Bytes &in, uint32_t n) {
         return ethernet(0x0800,
                         ip(47, gre(0x88be, erspan2(7, in), {.sequence = n}), {.options = 3}), 1);
       }},
      {"erspan II over IPv6",
       [](const Bytes &in, uint32_t n) {
         return ethernet(0x86dd,
                         ip(47, gre(0x88be, erspan2(7, in), {.sequence = n}), {.v6 = true}));
       }},
      {"erspan III",
       [](const Bytes &in, uint32_t n) {
         return ethernet(0x0800, ip(47, gre(0x22eb, erspan3(7, in), {.sequence = n})));
       }},
      {"erspan III, platform header, over IPv6 with an extension",
       [](const Bytes &in, uint32_t n) {
         return ethernet(0x86dd, ip(47, gre(0x22eb, erspan3(7, in, true), {.sequence = n}),
                                    {.v6 = true, .extension = true}));
       }},
      {"gre 0x8949",
       [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(47, gre(0x8949, in))); }},
      {"gre 0x6558, key, checksum, number",
       [](const Bytes &in, uint32_t n) {
         return ethernet(0x0800,
                         ip(47, gre(0x6558, in, {.sequence = n, .key = 9, .checksum = true})));
       }},
      {"gre of IP",
       [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(47, gre(type_of(in), in))); },
       true},
      {"vxlan", [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(17, vxlan(77, in))); }},
      {"vxlan over IPv6, tagged",
       [](const Bytes &in, uint32_t) {
         return ethernet(0x86dd, ip(17, vxlan(77, in), {.v6 = true}), 1);
       }},
      {"geneve",
       [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(17, geneve(77, 0x6558, in))); }},
      {"geneve with options",
       [](const Bytes &in, uint32_t) {
         return ethernet(0x0800, ip(17, geneve(77, 0x6558, in, 63)));
       }},
      {"geneve of IP",
       [](const Bytes &in, uint32_t) {
         return ethernet(0x0800, ip(17, geneve(77, type_of(in), in, 2)));
       },
       true},
      {"mpls", [](const Bytes &in, uint32_t) { return ethernet(0x8847, mpls(3, in)); }, true},
      {"mpls of Ethernet", [](const Bytes &in, uint32_t) { return ethernet(0x8847, mpls(1, in)); }},
      {"mpls of Ethernet with a control word",
       [](const Bytes &in, uint32_t) {
         return ethernet(0x8848, mpls(2, before(Bytes(4, 0), in)));
       }},
      {"ip in IPv4",
       [network](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(network(in), in)); },
       true},
      {"ip in IPv6",
       [network](const Bytes &in, uint32_t) {
         return ethernet(0x86dd, ip(network(in), in, {.v6 = true, .extension = true}));
       },
       true},
      {"mpls in IP",
       [](const Bytes &in, uint32_t) { return ethernet(0x0800, ip(137, mpls(2, in))); }, true},
      {"erspan II of vxlan",
       [mirror](const Bytes &in, uint32_t n) {
         return mirror(ethernet(0x0800, ip(17, vxlan(77, in)), 1), n);
       }},
      {"erspan II of ip in ip",
       [mirror, network](const Bytes &in, uint32_t n) {
         return mirror(ethernet(0x86dd, ip(network(in), in, {.v6 = true})), n);
       },
       true},
      {"vxlan of erspan II",
       [mirror](const Bytes &in, uint32_t n) {
         return ethernet(0x0800, ip(17, vxlan(77, mirror(in, n))));
       }},
      {"none", [](const Bytes &in, uint32_t) { return in; }},
  };
  return kWays;
}

} // namespace xr::test::tunnel
