// SPDX-License-Identifier: Apache-2.0
#include "impair/opcodes.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "names/opcode_names.h"
#include "parse/value.h"
#include "parse/words.h"
#include "roce/opcode.h"
#include "roce/wire.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr unsigned kAnySyndrome = 4;

struct Transport {
  std::string_view name;
  unsigned from, to;
};

constexpr Transport kTransports[] = {
    {"rc", 0x00, 0x1f},  {"uc", 0x20, 0x3f},  {"rd", 0x40, 0x5f},           {"ud", 0x60, 0x7f},
    {"xrc", 0xa0, 0xbf}, {"cnp", 0x80, 0x9f}, {"manufacturer", 0xc0, 0xff},
};

// A class: opcodes with one of the properties; ACKNOWLEDGE only with one type of syndrome.
struct Class {
  std::string_view name;
  uint64_t properties; // in the opcode table
  unsigned syndrome;
};

constexpr Class kClasses[] = {
    {"data", ROCE_DATA_OPS, kAnySyndrome},     {"ack", ROCE_ACK_OPS, ROCE_ACK},
    {"nak", ROCE_ACK_OPS, ROCE_NAK},           {"rnr-nak", ROCE_ACK_OPS, ROCE_RNR_NAK},
    {"cnp", ROCE_OP_CNP, kAnySyndrome},        {"read", ROCE_READ_OPS, kAnySyndrome},
    {"atomic", ROCE_ATOMIC_OPS, kAnySyndrome},
};

What aeth(unsigned opcode, unsigned syndrome) {
  return What().set(roce_what_aeth(opcode, syndrome << 5));
}

What class_packets(const Class &c) {
  What what;
  for (unsigned opcode = 0; opcode < 256; opcode++)
    if (roce_opcode_properties[opcode] & c.properties)
      what |= c.syndrome == kAnySyndrome ? what_of(opcode) : aeth(opcode, c.syndrome);
  return what.reset(ROCE_WHAT_CM); // CM datagrams are SENDs, but not user data
}

// The name, like RC_SEND_ONLY; the number, like 0x18, for opcodes without a name.
std::string opcode_text(unsigned opcode) {
  for (const names::OpcodeName &row : names::kOpcodeNames)
    if (row.opcode == opcode)
      return std::string(row.full);
  return opcode == ROCE_OPCODE_CNP ? "cnp" : fmt::format("{:#04x}", opcode);
}

// The packets of an operation in all transports that support it.
What operation_packets(const std::string &name) {
  What what;
  for (const names::OpcodeName &row : names::kOpcodeNames)
    if (lower(row.operation) == name)
      what |= what_of(row.opcode);
  return what;
}

// Parses 0x04, and the report names of opcodes without a name: RESERVED_0x18, MANUFACTURER_0xc1.
Result<Packets> numbered(const std::string &word) {
  std::string digits = lower(word);
  for (const std::string_view prefix : {"reserved_", "manufacturer_"})
    if (digits.starts_with(prefix))
      digits.erase(0, prefix.size());
  auto opcode = integer(digits, 0, 255);
  if (!opcode) {
    const std::string near = nearest(word, opcode_names());
    return wrong(word, "an opcode or a class of them",
                 near.empty() ? fmt::format("a name as in reports (RC_SEND_ONLY, SEND_ONLY), a "
                                            "number (0x04) or one of {}",
                                            fmt::join(opcode_classes(), ", "))
                              : fmt::format("did you mean {}?", near));
  }
  return Packets{opcode_text(static_cast<unsigned>(*opcode)),
                 what_of(static_cast<unsigned>(*opcode))};
}

} // namespace

std::vector<std::string_view> opcode_names() {
  std::vector<std::string_view> names = opcode_classes();
  for (const names::OpcodeName &row : names::kOpcodeNames) {
    names.push_back(row.operation);
    names.push_back(row.full);
  }
  return names;
}

std::vector<std::string_view> opcode_classes() {
  std::vector<std::string_view> names;
  for (const Class &c : kClasses)
    names.push_back(c.name);
  names.push_back("cm");
  return names;
}

What what_of(unsigned opcode) {
  What what;
  what.set(opcode);
  if (roce_opcode_properties[opcode] & ROCE_ACK_OPS)
    for (unsigned syndrome = 0; syndrome < 4; syndrome++)
      what |= aeth(opcode, syndrome);
  if (opcode == ROCE_OPCODE_UD_SEND_ONLY)
    what.set(ROCE_WHAT_CM);
  return what;
}

Result<Packets> transport_packets(const std::string &word) {
  std::vector<std::string_view> names;
  for (const Transport &t : kTransports)
    names.push_back(t.name);
  auto at = XR_TRY(choice(word, names, "a transport"));
  Packets result{std::string(names[at]), {}};
  for (unsigned op = kTransports[at].from; op <= kTransports[at].to; op++)
    result.what |= what_of(op);
  return result;
}

Result<Packets> opcode_packets(const std::string &word) {
  const std::string name = lower(word);
  if (name == "cm")
    return Packets{name, What().set(ROCE_WHAT_CM)};
  for (const Class &c : kClasses)
    if (c.name == name)
      return Packets{name, class_packets(c)};
  for (const names::OpcodeName &row : names::kOpcodeNames) {
    if (lower(row.full) == name)
      return Packets{std::string(row.full), what_of(row.opcode)};
    if (lower(row.operation) == name)
      return Packets{std::string(row.operation), operation_packets(name)};
  }
  return numbered(word);
}

} // namespace xr::impair
