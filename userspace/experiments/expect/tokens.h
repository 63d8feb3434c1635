// SPDX-License-Identifier: Apache-2.0
// Cuts an expectation into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xr::experiment {

struct Token {
  enum class Kind : uint8_t { End, Number, Name, Quoted, Symbol };
  Kind kind = Kind::End;
  std::string text; // Quoted: without the quotes
  size_t from = 0, to = 0;
};

// The last token is End.
Result<std::vector<Token>> tokens_of(const std::string &text);

} // namespace xr::experiment
