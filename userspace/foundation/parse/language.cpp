// SPDX-License-Identifier: Apache-2.0
#include "parse/language.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "parse/yaml.h"

namespace xr::parse {

namespace {

constexpr double kMostScaled = 4.6e18;   // about 146 years in ns
constexpr size_t kMostLetters = 1 << 20; // of a list; YAML aliases can multiply it

uint64_t rounded(double value) {
  return static_cast<uint64_t>(std::llround(std::min(value, kMostScaled)));
}

template <typename... Args> std::string filled(std::string_view format, const Args &...args) {
  return fmt::format(fmt::runtime(format), args...);
}

} // namespace

void Scale::rate(uint64_t &bits) const {
  if (bits)
    bits = std::max<uint64_t>(1, rounded(static_cast<double>(bits) * factor));
}

void Scale::time(uint64_t &ns) const { ns = rounded(static_cast<double>(ns) / factor); }

bool Claims::claim(std::string_view property, const std::string &word) {
  return words_.emplace(property, word).second;
}

const std::string &Claims::by(std::string_view property) const {
  static const std::string kNone;
  const auto found = words_.find(property);
  return found == words_.end() ? kNone : found->second;
}

Status Claims::also(std::string_view property, const std::string &word, std::string_view hint) {
  if (claim(property, word))
    return {};
  return Error{fmt::format("there is {} already", by(property)), std::string(hint)};
}

std::vector<std::string_view> LanguageWords::names() const {
  std::vector<std::string_view> names;
  for (const WordInfo &info : infos_)
    names.push_back(info.name);
  return names;
}

std::vector<std::string_view> LanguageWords::all_names() const {
  std::vector<std::string_view> all = names();
  for (const Follower &follower : followers_)
    all.push_back(follower.word);
  return all;
}

Error LanguageWords::unknown(const std::string &word) const {
  for (const Follower &follower : followers_)
    if (follower.word == word)
      return {fmt::format("'{}' is only valid after {}", word, follower.leader),
              fmt::format("write {} {}", follower.leader, word)};
  const std::string message = filled(wording_.unknown, word, wording_.thing);
  if (wording_.example.empty())
    return {message, hint_from(word, names())};
  const std::string near = nearest(word, names());
  return {message,
          near.empty() ? std::string(wording_.example) : fmt::format("did you mean {}?", near)};
}

Error LanguageWords::at(const WordInfo &word, const Error &error) const {
  const std::string_view usage = *word.usage ? word.usage : wording_.usage;
  const bool named = wording_.error.empty() || error.context == word.name;
  return {named ? error.message : filled(wording_.error, word.name, error.message),
          error.hint.empty() ? std::string(usage) : error.hint};
}

Status LanguageWords::claim(Claims &claims, const WordInfo &word) const {
  const std::string_view property = word.sets.empty() ? word.name : word.sets;
  if (property == kMany || property == kOwn || claims.claim(property, std::string(word.name)))
    return {};
  const std::string &before = claims.by(property);
  if (before == word.name)
    return Error{filled(wording_.twice, word.name), std::string(wording_.twice_hint)};
  return Error{filled(wording_.other, word.name, before), std::string(wording_.other_hint)};
}

namespace {

std::string form_of(const WordInfo &info) {
  return fmt::format("{}{}{}", info.name, *info.syntax ? " " : "", info.syntax);
}

// Words of the language in the font of code; names of values are in capitals.
std::string marked(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                                 text[end] == '-' || text[end] == '.' || text[end] == '_'))
      end++;
    const std::string_view token = text.substr(at, end - at);
    if (token.empty()) {
      out += text[at] == '|' ? "\\|" : std::string(1, text[at]);
      at++;
      continue;
    }
    const bool word = std::islower(static_cast<unsigned char>(token.front())) && token != "or";
    out += word ? fmt::format("`{}`", token) : std::string(token);
    at = end;
  }
  return out;
}

} // namespace

std::string LanguageWords::usage(size_t needed) const {
  std::string text;
  for (const WordInfo &info : infos_) {
    text += text.empty() ? "" : " ";
    text += static_cast<size_t>(&info - infos_.data()) < needed ? form_of(info)
                                                                : "[" + form_of(info) + "]";
  }
  return text;
}

std::string LanguageWords::forms(std::string_view group) const {
  std::string text;
  for (const WordInfo &info : infos_)
    if (info.group == group)
      text += (text.empty() ? "" : ", ") + form_of(info);
  return text;
}

std::string LanguageWords::forms() const {
  std::string text;
  for (const WordInfo &info : infos_)
    text += (text.empty() ? "" : ", ") + form_of(info);
  return text;
}

std::string LanguageWords::markdown() const {
  std::string table;
  std::string_view group = "";
  for (size_t i = 0; i < infos_.size(); i++) {
    const WordInfo &info = infos_[i];
    const std::string form =
        fmt::format("`{}`{}{}", info.name, *info.syntax ? " " : "", marked(info.syntax));
    if (info.group.empty()) {
      table += fmt::format("| {} | {} |\n", form, info.about);
      continue;
    }
    const bool first = info.group != group;
    if (first)
      table += fmt::format("{}| {} | ", group.empty() ? "" : " |\n", info.group);
    group = info.group;
    // Neighbours that take the same: `src` `dst` IP.
    const bool last = i + 1 == infos_.size() || infos_[i + 1].group != group;
    const bool same = !last && !*info.about && !*infos_[i + 1].about &&
                      std::string_view(info.syntax) == infos_[i + 1].syntax;
    table += same ? fmt::format("`{}` ", info.name) : form;
    if (*info.about)
      table += fmt::format(" ({})", info.about);
    table += same || last ? "" : ", ";
  }
  return group.empty() ? table : table + " |\n";
}

namespace {

using List = std::vector<std::string>;

Error too_long(const YAML::Node &list, std::string_view thing) {
  return at_line(list,
                 {"the list is too long", fmt::format("{} of this length is hardly meant", thing)});
}

// The items as one word.
Result<std::string> joined(const YAML::Node &list, const Wording &wording) {
  std::string text;
  for (const YAML::Node &item : list) {
    if (!item.IsScalar())
      return at_line(item, {"a list of values has something else in it",
                            fmt::format("like {}", wording.list_example)});
    text += (text.empty() ? "" : ",") + item.Scalar();
    if (text.size() > kMostLetters)
      return too_long(list, wording.thing);
  }
  return text;
}

// The key of a list of a repeated word.
std::string plural(std::string_view word) {
  return fmt::format("{}{}", word, word.ends_with('s') ? "es" : "s");
}

// A repeated word: each item is one.
Status push_items(const WordInfo &word, const std::string &key, const YAML::Node &node,
                  std::string_view thing, List &out) {
  if (node.IsScalar()) {
    out.insert(out.end(), {std::string(word.name), node.Scalar()});
    return {};
  }
  if (!node.IsSequence())
    return at_line(node, {fmt::format("{} is not a list", key), word.usage});
  if (node.size() > kMostLetters)
    return too_long(node, thing);
  for (const YAML::Node &item : node) {
    if (!item.IsScalar())
      return at_line(item, {fmt::format("a {} is not words", word.name), word.usage});
    out.insert(out.end(), {std::string(word.name), item.Scalar()});
  }
  return {};
}

} // namespace

Status LanguageWords::push_value(const YAML::Node &key, const YAML::Node &value, List &out) const {
  const std::string word = scalar(key);
  const auto found = std::find_if(infos_.begin(), infos_.end(), [&word](const WordInfo &info) {
    return info.name == word || (info.sets == kMany && word == plural(info.name));
  });
  if (found == infos_.end())
    return at_line(key, {filled(wording_.unknown, word, wording_.thing), hint_from(word, names())});
  if (found->sets == kMany)
    return push_items(*found, word, value, wording_.thing, out);
  out.push_back(word);
  if (value.IsMap())
    return at_line(value, {fmt::format("{} is a map", word), "its value is words or a list"});
  if (value.IsSequence())
    out.push_back(XR_TRY(joined(value, wording_)));
  if (!value.IsScalar() || lower(value.Scalar()) == "true")
    return {};
  if (lower(value.Scalar()) == "false")
    return at_line(value, {fmt::format("{} cannot be false", word), "leave it away"});
  out.push_back(value.Scalar());
  return {};
}

Result<List> LanguageWords::from_yaml(const YAML::Node &node) const {
  if (node.IsScalar())
    return split(node.Scalar());
  if (!node.IsMap())
    return at_line(node, {fmt::format("{} is neither words nor a map", wording_.thing),
                          std::string(wording_.yaml_example)});
  List first, out;
  for (const auto &pair : node)
    XR_TRY(push_value(pair.first, pair.second, scalar(pair.first) == wording_.first ? first : out));
  first.insert(first.end(), out.begin(), out.end());
  return first;
}

} // namespace xr::parse
