// SPDX-License-Identifier: Apache-2.0
#include "otg/json_text.h"

#include <set>

#include <fmt/format.h>

namespace xr::otg {

Json parse_json(std::string_view text, Findings &findings) {
  std::vector<std::set<std::string>> keys; // of the objects that are open
  const auto check = [&](int /*depth*/, Json::parse_event_t event, const Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key &&
             !keys.back().insert(parsed.get_ref<const std::string &>()).second)
      findings.error(
          "", {fmt::format("an object has the key {} twice", shown(parsed)), "each key once"});
    return true;
  };
  return Json::parse(text, check, false);
}

} // namespace xr::otg
