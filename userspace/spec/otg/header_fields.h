// SPDX-License-Identifier: Apache-2.0
// The headers of packet[] as tables of their fields, in the order of the wire: reading, patterns,
// what the header before says of them, checksums, lengths, and docs/otg.md come from these rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "otg/object.h"
#include "otg/read_patterns.h"

namespace xr::otg {

class HeaderStack;

inline constexpr uint8_t kTcp = 6, kUdp = 17, kIcmpv6 = 58;

struct HeaderField {
  enum class Role : uint8_t {
    Value,
    Reserved, // no key: always `otherwise`
    Unused,   // a key that is not in frames; `why`
    EtherType,
    Protocol,    // of IP
    PppProtocol, // these say which header follows, and are automatic by default
    Bottom,      // of a label stack: automatic is 0 before another label
    Length,      // automatic: bytes from `from` of this header to the end of the frame
    Words,       // automatic: bytes of this header from `from` on, in units of `unit`
    Count,       // automatic: elements of the list `of`, less `from`
    Checksum,    // over the header and what follows; `protocol` of the pseudo-header, 0: none
    SumOfHeader, // over the header alone
    Swapped,     // changes places with the field after it on the way back
    Flag,        // fields with `optional` are there if one of the flags before is not 0
    Group,       // an object with the fields `inside`
    Choice,      // the same, and the only choice
    List,        // of objects with the fields `inside`
    Special,     // read by `special`
  };

  const char *key = nullptr;
  uint32_t bits = 0;
  packet::Wide otherwise = 0;
  Role role = Role::Value;
  Notation notation = Notation::Number;
  Automatic automatic = Automatic::No;
  bool random = false;
  bool optional = false;
  bool needed = false; // of a List: at least one
  uint8_t protocol = 0;
  uint32_t from = 0, unit = 1;
  const char *of = nullptr;
  const char *why = nullptr;
  std::span<const HeaderField> inside = {};
  void (HeaderStack::*special)(Object &, const HeaderField &) = nullptr;
};

struct HeaderKind {
  const char *name; // as in the model
  const char *what; // "an IPv4 header"; "": not supported
  std::span<const HeaderField> fields = {};
  uint16_t ether = 0; // 0: none
  int protocol = -1;  // of IP; -1: none
  uint16_t ppp = 0;   // 0: none
  bool first = false; // a frame may begin with it
};

// In the order of the model.
std::span<const HeaderKind> header_kinds();

// Rows of Markdown: a header, what announces it, its fields with their bits.
std::string header_table();

} // namespace xr::otg
