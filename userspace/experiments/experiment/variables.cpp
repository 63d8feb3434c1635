// SPDX-License-Identifier: Apache-2.0
#include "experiment/variables.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "parse/quantity.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

bool is_name(const std::string &name) {
  const auto allowed = [](unsigned char c) { return isalnum(c) || c == '_'; };
  return !name.empty() && !isdigit(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, allowed);
}

// `senders: {n}` without quotes is a map of the key n without a value.
std::string unquoted(const YAML::Node &node) {
  if (!node.IsMap() || node.size() != 1 || !node.begin()->second.IsNull())
    return "";
  return "{" + parse::scalar(node.begin()->first) + "}";
}

} // namespace

std::vector<std::string_view> Variables::names() const { return {order_.begin(), order_.end()}; }

Status Variables::read(const YamlReader &reader, const YAML::Node &vars,
                       const std::vector<std::string_view> &reserved) {
  if (!vars.IsMap())
    return reader.in(vars, "vars", {"it is not a map", "vars: {rate: 40gbit, rtt: 8us}"});
  for (const auto &pair : vars) {
    const std::string name = parse::scalar(pair.first);
    if (!is_name(name))
      return reader.in(pair.first, "vars",
                       parse::wrong(name, "a variable's name", "letters, digits and _"));
    if (std::ranges::find(reserved, name) != reserved.end())
      return reader.in(pair.first, "vars",
                       {fmt::format("'{}' is also a key of the file", name),
                        fmt::format("another name, like {}_1", name)});
    if (contains(name))
      return reader.in(pair.first, "vars",
                       {fmt::format("{} is given twice", name), "each name once"});
    XR_TRY(read_value(reader, pair.second, name));
  }
  return {};
}

Status Variables::read_value(const YamlReader &reader, const YAML::Node &node,
                             const std::string &name) {
  Variable variable{parse::scalar(node), {name}, reader.is_set(node)};
  if (const std::string text = unquoted(node); !text.empty())
    variable.text = text;
  if (variable.text.empty())
    return reader.in(node, "vars", {fmt::format("{}: a value is needed", name), "like 40gbit"});
  auto text = substituted(variable.text, variable.uses);
  if (!text)
    return reader.in(node, "vars", text.error());
  variable.text = std::move(text).get();
  all_.emplace(name, std::move(variable));
  order_.push_back(name);
  return {};
}

Status Variables::substitute(const YamlReader &reader, YAML::Node node, std::set<std::string> &used,
                             std::vector<ReplacedText> &replaced) const {
  std::string text = parse::scalar(node);
  if (const std::string map = unquoted(node); !map.empty()) {
    const auto expression = parse::Expression::parse(map);
    const auto is_var = [this](const std::string &name) { return contains(name); };
    if (expression && std::ranges::any_of(expression->names(), is_var))
      text = map;
  }
  if (text.find('{') != std::string::npos) {
    std::set<std::string> own;
    auto value = substituted(text, own);
    if (!value)
      return reader.at(node, value.error());
    used.insert(own.begin(), own.end());
    if (*value == text)
      return {};
    node = *value; // keeps its line
    const auto expression = parse::Expression::parse(text);
    replaced.push_back({node, expression && !expression->names().empty(), {}});
    for (const std::string &name : own)
      replaced.back().variables.push_back(origin_of(name));
    return {};
  }
  if (node.IsSequence())
    for (const YAML::Node &item : node)
      XR_TRY(substitute(reader, item, used, replaced));
  if (node.IsMap())
    for (const auto &pair : node) {
      XR_TRY(substitute(reader, pair.first, used, replaced));
      XR_TRY(substitute(reader, pair.second, used, replaced));
    }
  return {};
}

Result<std::string> Variables::substituted(const std::string &text,
                                           std::set<std::string> &used) const {
  if (const auto whole = parse::Expression::parse(text); whole && !whole->names().empty())
    return value_of(*whole, used);
  std::string made;
  size_t from = 0;
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == std::string::npos)
      break;
    const auto part = parse::Expression::parse(text.substr(open, close + 1 - open));
    if (!part || part->names().empty())
      continue;
    made += text.substr(from, open - from) + XR_TRY(value_of(*part, used));
    from = close + 1;
  }
  return made + text.substr(from);
}

// A name alone is the text of its variable, of whatever kind.
Result<std::string> Variables::value_of(const parse::Expression &expression,
                                        std::set<std::string> &used) const {
  for (const std::string &name : expression.names()) {
    const auto found = all_.find(name);
    if (found == all_.end())
      return Error{fmt::format("there is no variable '{}'", name),
                   order_.empty() ? "a variable is below vars, before it is used"
                                  : parse::hint_from(name, names())};
    used.insert(found->second.uses.begin(), found->second.uses.end());
  }
  if (expression.is_name())
    return all_.at(*expression.names().begin()).text;
  const auto value =
      XR_TRY(expression.evaluate([this](const std::string &name) { return quantity_of(name); }));
  return value.text();
}

// The error names where the value is from: not where it is used.
Result<parse::Quantity> Variables::quantity_of(const std::string &name) const {
  auto value = parse::quantity(all_.at(name).text);
  if (value)
    return value;
  Error error = value.error().in("{" + name + "}");
  error.message += fmt::format(" (from {})", origin_of(name).origin);
  return error;
}

ReplacedText::Variable Variables::origin_of(const std::string &name) const {
  const Variable &variable = all_.at(name);
  return {variable.text,
          fmt::format("{} {}={}", variable.set ? "--set" : "vars:", name, variable.text)};
}

} // namespace xr::experiment
