// SPDX-License-Identifier: Apache-2.0
// Opcode names, the same as in reports.
#include <fmt/format.h>

#include "flow/words.h"
#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

struct Row {
  std::string_view name;
  uint8_t opcode;
};

constexpr Row kRows[] = {
#define XR_ROW_(t, p, op, name, ext, props) {#t "_" #name, (p) + (op)},
    ROCE_OPCODES(XR_ROW_)
#undef XR_ROW_
        {"CNP", ROCE_OPCODE_CNP},
};

} // namespace

Result<uint8_t> opcode_named(const std::string &word) {
  std::vector<std::string_view> names;
  for (const Row &row : kRows) {
    if (lower(row.name) == lower(word))
      return row.opcode;
    names.push_back(row.name);
  }
  const auto number = integer(word, 0, 255);
  if (number)
    return static_cast<uint8_t>(number.get());
  const std::string near = nearest(word, names);
  return wrong(word, "an opcode",
               near.empty() ? "a name as in reports (RC_SEND_ONLY, CNP), or a number (0x04)"
                            : fmt::format("did you mean {}?", near));
}

std::string opcode_name(uint8_t opcode) {
  for (const Row &row : kRows)
    if (row.opcode == opcode)
      return std::string(row.name);
  return fmt::format("{:#04x}", opcode);
}

} // namespace xr::flow
