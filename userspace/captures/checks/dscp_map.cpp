// SPDX-License-Identifier: Apache-2.0
#include "checks/dscp_map.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "parse/yaml.h"

namespace xr::checks {

namespace {

constexpr const char *kHint = "as 3:3,4:4, div8, or a file with DSCP_TO_TC_MAP of SONiC";

bool number(std::string_view text, unsigned most, unsigned &into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && into <= most;
}

xr::Status set(DscpMap &map, std::string_view dscp, std::string_view priority) {
  unsigned from = 0, to = 0;
  if (!number(dscp, 63, from) || !number(priority, 7, to))
    return Error{fmt::format("'{}:{}' is no DSCP (0 to 63) and priority (0 to 7)", dscp, priority),
                 kHint};
  if (map.priority[from] != DscpMap::kUnknown && map.priority[from] != to)
    return Error{fmt::format("DSCP {} has two priorities, {} and {}", from, map.priority[from], to),
                 kHint};
  map.priority[from] = static_cast<uint8_t>(to);
  return {};
}

// Pairs with commas, blanks or lines between them; # begins a comment.
Result<DscpMap> read_pairs(const std::string &text) {
  DscpMap map = DscpMap::unknown();
  for (size_t at = 0; (at = text.find_first_not_of(", \t\r\n", at)) != std::string::npos;) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const size_t end = std::min(text.find_first_of(", \t\r\n", at), text.size());
    const std::string_view pair = std::string_view(text).substr(at, end - at);
    const size_t colon = pair.find(':');
    if (colon == pair.npos)
      return Error{fmt::format("'{}' is no pair DSCP:PRIORITY", pair), kHint};
    XR_TRY(set(map, pair.substr(0, colon), pair.substr(colon + 1)));
    at = end;
  }
  return map;
}

Result<DscpMap> read_sonic(const YAML::Node &root) {
  const YAML::Node maps = root.IsMap() ? root["DSCP_TO_TC_MAP"] : YAML::Node();
  YAML::Node pairs;
  if (maps && maps.IsMap())
    for (const auto &named : maps)
      pairs.reset(named.second);
  if (!maps || !maps.IsMap() || maps.size() != 1 || !pairs.IsMap())
    return Error{fmt::format("1: {} maps of DSCP_TO_TC_MAP, one is needed",
                             maps && maps.IsMap() ? maps.size() : 0),
                 kHint};
  DscpMap map = DscpMap::unknown();
  for (const auto &pair : pairs)
    if (xr::Status read = set(map, parse::scalar(pair.first), parse::scalar(pair.second)); !read)
      return parse::at_line(pair.first, read.error());
  return map;
}

} // namespace

DscpMap DscpMap::unknown() {
  DscpMap map;
  map.priority.fill(kUnknown);
  return map;
}

Result<DscpMap> read_dscp_map(const std::string &word) {
  if (word == "div8") {
    DscpMap map;
    for (size_t dscp = 0; dscp < map.priority.size(); dscp++)
      map.priority[dscp] = static_cast<uint8_t>(dscp / 8);
    return map;
  }
  if (word.find_first_not_of("0123456789:,") == std::string::npos)
    return read_pairs(word);
  const std::string text = XR_TRY(parse::read_file(word));
  if (text.find('{') == std::string::npos)
    return read_pairs(text);
  return parse::with_yaml(text, parse::file_name(word), read_sonic);
}

} // namespace xr::checks
