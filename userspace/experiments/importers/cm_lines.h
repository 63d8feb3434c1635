// SPDX-License-Identifier: Apache-2.0
// For this folder only: a text of htsim as lines of words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

struct CmLine {
  std::string file; // its name, for errors
  unsigned number = 0;
  std::vector<std::string> words;

  // "FILE:LINE: what".
  Error wrong(const std::string &what, std::string hint) const;
  // The word at `index`, which `key` is before. Error: it is missing, or no such number.
  Result<uint64_t> whole(size_t index, std::string_view key, uint64_t from, uint64_t to) const;
};

// Without empty lines.
std::vector<CmLine> cm_lines(std::string_view text, const std::string &name);

} // namespace xr::importers
