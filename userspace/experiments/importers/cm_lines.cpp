// SPDX-License-Identifier: Apache-2.0
#include "importers/cm_lines.h"

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

Error CmLine::wrong(const std::string &what, std::string hint) const {
  return {fmt::format("{}:{}: {}", file, number, what), std::move(hint)};
}

Result<uint64_t> CmLine::whole(size_t index, std::string_view key, uint64_t from,
                               uint64_t to) const {
  const std::string hint = fmt::format("like {} {}", key, from);
  if (index >= words.size())
    return wrong(fmt::format("{} has no number", key), hint);
  const auto value = parse::integer(words[index], from, to);
  if (!value)
    return wrong(
        fmt::format("{}: '{}' is not a whole number from {} to {}", key, words[index], from, to),
        hint);
  return value;
}

std::vector<CmLine> cm_lines(std::string_view text, const std::string &name) {
  std::vector<CmLine> lines;
  unsigned number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    number++;
    if (auto words = parse::split(std::string(line)); !words.empty())
      lines.push_back({name, number, std::move(words)});
  }
  return lines;
}

} // namespace xr::importers
