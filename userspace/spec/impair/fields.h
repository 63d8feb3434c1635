// SPDX-License-Identifier: Apache-2.0
// The names of what rules match and change, each with its place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "impair/spec.h"
#include "impair/tables.h"

namespace xr::impair {

inline constexpr uint32_t kMost24 = 0xffffff; // of a QPN or PSN

// The word of a condition.
std::string_view field_name(Field field);

// not-ect, ect0, ect1, ect (both), ce.
const std::vector<std::string_view> &ecn_names();

// A field within a byte of the BTH: the table of that byte decides alone.
struct BthField {
  Field field;
  int table;
  unsigned shift, bits;
};
std::span<const BthField> bth_fields();

// A field of a header that can be corrupted. `header`: bit number of the header in the opcode
// properties.
struct HeaderField {
  std::string_view name;
  uint32_t header;
  uint16_t first_bit, bits;
};
std::span<const HeaderField> header_fields();

// `set ecn`, by value.
std::span<const std::string_view> ecn_values();
// `cnp scope`, by enum roce_cnp_scope.
std::span<const std::string_view> cnp_scopes();

} // namespace xr::impair
