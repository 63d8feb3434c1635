// SPDX-License-Identifier: Apache-2.0
#include "impair/yaml_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "impair/rule.h"
#include "parse/words.h"
#include "parse/yaml.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr int kDeepest = 5;              // an alias may contain itself
constexpr size_t kMostWords = 4096;      // of a rule; YAML aliases can multiply it
constexpr size_t kMostLetters = 1 << 20; // of a list

using List = std::vector<std::string>;

// Whether a list for `word` is one word with commas. For other words it is several words.
bool takes_list(const std::string &word) {
  const auto &all = rule_words().words();
  const auto found = std::ranges::find(all, word, &WordInfo::name);
  return word == "table" ||
         (found != all.end() && std::string_view(found->syntax).starts_with("LIST"));
}

Status push(const YAML::Node &node, const std::string &text, List &out) {
  for (std::string &word : split(text))
    out.push_back(std::move(word));
  if (out.size() > kMostWords)
    return at_line(node, {"the rule has too many words", "a rule of this length is hardly meant"});
  return {};
}

Status push_list(const YAML::Node &list, List &out) {
  std::string joined;
  for (const YAML::Node &item : list) {
    if (!item.IsScalar())
      return at_line(item, {"a list of values has something else in it", "like [data, nak]"});
    joined += (joined.empty() ? "" : ",") + item.Scalar();
    if (joined.size() > kMostLetters)
      return at_line(list, {"the list is too long", "a rule of this length is hardly meant"});
  }
  return push(list, joined, out);
}

// Writes any value: the words of a scalar, the items of a list, the keys of a map with their
// values.
Status push_value(const YAML::Node &node, int depth, List &out);

// With `true` or no value, the key alone is a word; `false` negates a match word.
Status push_pair(const YAML::Node &key, const YAML::Node &value, int depth, List &out) {
  if (!key.IsScalar())
    return at_line(key, {"a key is not a word", "like {opcode: data}"});
  const std::string &word = key.Scalar();
  if (value.IsScalar() && lower(value.Scalar()) == "false")
    out.emplace_back("not");
  if (Status s = push(key, word, out); !s)
    return s;
  if (value.IsNull() ||
      (value.IsScalar() && (lower(value.Scalar()) == "true" || lower(value.Scalar()) == "false")))
    return {};
  if (value.IsSequence() && takes_list(word))
    return push_list(value, out);
  return push_value(value, depth + 1, out);
}

// Writes `not` before each key of a `not` map.
Status push_negated(const YAML::Node &node, List &out) {
  if (!node.IsMap())
    return push(node, node.IsScalar() ? "not " + node.Scalar() : "not", out);
  for (const auto &pair : node) {
    out.emplace_back("not");
    if (Status s = push_pair(pair.first, pair.second, 0, out); !s)
      return s;
  }
  return {};
}

Status push_value(const YAML::Node &node, int depth, List &out) {
  if (depth > kDeepest)
    return at_line(node, {"lists and maps lie too deep in each other", "a rule needs two levels"});
  if (node.IsScalar())
    return push(node, node.Scalar(), out);
  if (node.IsSequence())
    for (const YAML::Node &item : node)
      if (Status s = push_value(item, depth + 1, out); !s)
        return s;
  if (node.IsMap())
    for (const auto &pair : node) {
      const bool negated = pair.first.IsScalar() && pair.first.Scalar() == "not";
      Status s =
          negated ? push_negated(pair.second, out) : push_pair(pair.first, pair.second, depth, out);
      if (!s)
        return s;
    }
  return {};
}

} // namespace

Result<std::vector<std::string>> words_of(const YAML::Node &rule) {
  const std::vector<std::string_view> sections = {"match", "select", "schedule", "action"};
  const std::vector<std::string_view> words = {"limit", "shots", "seed", "name", "disabled"};
  std::vector<std::string_view> keys = sections;
  keys.insert(keys.end(), words.begin(), words.end());
  List out;
  if (rule.IsScalar()) {
    XR_TRY(push(rule, rule.Scalar(), out));
    return out;
  }
  if (!rule.IsMap())
    return at_line(
        rule, {"a rule is neither words nor a map", "like `- opcode data probability 1% drop`"});
  for (const auto &pair : rule) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return at_line(pair.first, wrong(key, "a part of a rule", hint_from(key, keys)));
    if (key == "disabled" && pair.second.IsScalar() && lower(pair.second.Scalar()) == "false")
      continue;
    const bool section = std::find(sections.begin(), sections.end(), key) != sections.end();
    Status s =
        section ? push_value(pair.second, 0, out) : push_pair(pair.first, pair.second, 0, out);
    if (!s)
      return s.error();
  }
  return out;
}

} // namespace xr::impair
