// SPDX-License-Identifier: Apache-2.0
// Opcode names, the same as in reports.
#include <fmt/format.h>

#include "flow/words.h"
#include "names/opcode_names.h"
#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr std::string_view kCnp = "CNP";

} // namespace

Result<uint8_t> opcode_named(const std::string &word) {
  std::vector<std::string_view> names;
  for (const names::OpcodeName &row : names::kOpcodeNames) {
    if (lower(row.full) == lower(word))
      return row.opcode;
    names.push_back(row.full);
  }
  if (lower(kCnp) == lower(word))
    return ROCE_OPCODE_CNP;
  names.push_back(kCnp);
  const auto number = integer(word, 0, 255);
  if (number)
    return static_cast<uint8_t>(number.get());
  const std::string near = nearest(word, names);
  return wrong(word, "an opcode",
               near.empty() ? "a name as in reports (RC_SEND_ONLY, CNP), or a number (0x04)"
                            : fmt::format("did you mean {}?", near));
}

std::string opcode_name(uint8_t opcode) {
  for (const names::OpcodeName &row : names::kOpcodeNames)
    if (row.opcode == opcode)
      return std::string(row.full);
  if (opcode == ROCE_OPCODE_CNP)
    return std::string(kCnp);
  return fmt::format("{:#04x}", opcode);
}

} // namespace xr::flow
