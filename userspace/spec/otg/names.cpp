// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "otg/reading.h"
#include "parse/words.h"

namespace xr::otg {

namespace {

constexpr size_t kMostHinted = 64; // names among which a similar one is looked for

} // namespace

void Names::add(const Object &object, const char *key, const std::string &name, size_t index) {
  if (!name.empty() && !indexes_.emplace(name, index).second)
    object.error(
        key, {fmt::format("there are two {}{} {}", what_,
                          std::string_view(what_).ends_with('s') ? "es" : "s", shown(Json(name))),
              "each has a name of its own"});
}

std::optional<size_t> Names::find(const Object &object, const char *key,
                                  const std::string &name) const {
  if (const auto found = indexes_.find(name); found != indexes_.end())
    return found->second == kBroken ? std::nullopt : std::optional(found->second);
  std::vector<std::string_view> all;
  if (indexes_.size() <= kMostHinted)
    for (const auto &[known, index] : indexes_)
      all.push_back(known);
  std::ranges::sort(all);
  object.error(key, {fmt::format("there is no {} {}", what_, shown(Json(name))),
                     all.empty() ? fmt::format("the name of {} {} of the configuration",
                                               *what_ == 'e' || *what_ == 'a' ? "an" : "a", what_)
                                 : parse::hint_from(name, all)});
  return {};
}

std::optional<size_t> Names::refer(Object &object, const char *key) const {
  const std::string name = object.needed_text(key);
  return name.empty() ? std::nullopt : find(object, key, name);
}

std::vector<size_t> Names::refer_all(Object &object, const char *key) const {
  std::vector<size_t> all;
  const bool given = object.has(key);
  const auto names = object.texts(key);
  if (names.empty() && (!given || object.value(key)->empty()))
    object.error(key, {fmt::format("there is no {} in it", what_),
                       fmt::format("[\"the name of a {}\"]", what_)});
  for (const std::string &name : names) {
    const auto index = find(object, key, name);
    if (index && std::ranges::find(all, *index) != all.end())
      object.error(key, {fmt::format("{} is there twice", shown(Json(name))), "once"});
    else if (index)
      all.push_back(*index);
  }
  return all;
}

} // namespace xr::otg
