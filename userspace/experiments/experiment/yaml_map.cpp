// SPDX-License-Identifier: Apache-2.0
#include "experiment/yaml_map.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

bool is_of_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Whether a message is about `text`: it has it in quotes or, if it has a digit, as a word.
bool mentions(const std::string &message, const std::string &text) {
  if (message.find("'" + text + "'") != std::string::npos)
    return true;
  if (std::ranges::none_of(text, [](unsigned char c) { return isdigit(c); }))
    return false;
  for (size_t at = message.find(text); at != std::string::npos; at = message.find(text, at + 1)) {
    const size_t end = at + text.size();
    if ((!at || !is_of_word(message[at - 1])) &&
        (end == message.size() || !is_of_word(message[end])))
      return true;
  }
  return false;
}

} // namespace

bool is_part(const YAML::Node &value, const YAML::Node &node) {
  if (node.is(value))
    return true;
  if (value.IsSequence())
    for (const YAML::Node &item : value)
      if (is_part(item, node))
        return true;
  if (value.IsMap())
    for (const auto &pair : value)
      if (pair.first.is(node) || is_part(pair.second, node))
        return true;
  return false;
}

// The lines of a value that was set are not the file's.
Error YamlReader::at(const YAML::Node &node, const Error &error) const {
  Error full = error;
  full.message += variables_in(node, error.message);
  for (const auto &[value, key] : origins_.set)
    if (is_part(value, node))
      return full.in(std::string(kOfSetting) + key).as_usage();
  return parse::at_line(node, full);
}

// " (from --set rate=fast)": the variables of a value that is nothing else. Of a value or part
// that has more than variables, those that the message is about.
std::string YamlReader::variables_in(const YAML::Node &node, const std::string &message) const {
  std::vector<std::string> origins;
  for (const ReplacedText &text : origins_.replaced) {
    if (!is_part(node, text.node))
      continue;
    const bool all = text.whole && text.node.is(node);
    for (const ReplacedText::Variable &variable : text.variables)
      if ((all || mentions(message, variable.text)) &&
          std::ranges::find(origins, variable.origin) == origins.end())
        origins.push_back(variable.origin);
  }
  return origins.empty() ? "" : fmt::format(" (from {})", fmt::join(origins, ", "));
}

bool YamlReader::is_set(const YAML::Node &node) const {
  return std::ranges::any_of(origins_.set,
                             [&](const auto &set) { return is_part(set.first, node); });
}

Error YamlReader::in(const YAML::Node &node, const std::string &key, const Error &error) const {
  return at(node, {fmt::format("{}: {}", key, error.message), error.hint});
}

Status YamlReader::map(const YAML::Node &node, std::string_view what,
                       const std::vector<Key> &keys) const {
  std::vector<std::string_view> names;
  names.reserve(keys.size());
  for (const Key &key : keys)
    names.push_back(key.name);
  if (!node.IsMap())
    return at(node, {fmt::format("'{}' is not a map of {}", parse::scalar(node), what),
                     parse::hint_from("", names)});
  std::map<size_t, YAML::Node> found;
  for (const auto &pair : node) {
    const auto index = parse::choice(parse::scalar(pair.first), names, what);
    if (!index)
      return at(pair.first.Mark().is_null() ? pair.second : pair.first, index.error());
    if (!found.emplace(index.get(), pair.second).second)
      return at(pair.first,
                {fmt::format("{} is given twice", names[index.get()]), "each key once"});
  }
  for (const auto &[index, value] : found)
    if (Status s = keys[index].read(value); !s)
      return s;
  return {};
}

YamlReader::Read YamlReader::duration(std::string key, uint64_t &value) const {
  return [this, key = std::move(key), &value](const YAML::Node &node) -> Status {
    const auto ns = parse::duration(parse::scalar(node));
    if (!ns)
      return in(node, key, ns.error());
    value = ns.get();
    return {};
  };
}

YamlReader::Read YamlReader::integer(std::string key, uint64_t from, uint64_t to,
                                     uint64_t &value) const {
  return [this, key = std::move(key), from, to, &value](const YAML::Node &node) -> Status {
    const auto number = parse::integer(parse::scalar(node), from, to);
    if (!number)
      return in(node, key, number.error());
    value = number.get();
    return {};
  };
}

YamlReader::Read YamlReader::number(std::string key, unsigned from, unsigned to,
                                    unsigned &value) const {
  return [this, key = std::move(key), from, to, &value](const YAML::Node &node) -> Status {
    uint64_t wide = 0;
    Status done = integer(key, from, to, wide)(node);
    value = static_cast<unsigned>(wide);
    return done;
  };
}

YamlReader::Read YamlReader::text(std::string key, std::string &value) const {
  return [this, key = std::move(key), &value](const YAML::Node &node) -> Status {
    if (!node.IsScalar() || node.Scalar().empty())
      return in(node, key, {"a text is needed", {}});
    value = node.Scalar();
    return {};
  };
}

YamlReader::Read YamlReader::bytes(std::string key, uint64_t &value) const {
  return [this, key = std::move(key), &value](const YAML::Node &node) -> Status {
    const auto count = parse::byte_count(parse::scalar(node), 1);
    if (!count)
      return in(node, key, count.error());
    value = count.get();
    return {};
  };
}

YamlReader::Read YamlReader::truth(std::string key, bool &value) const {
  return [this, key = std::move(key), &value](const YAML::Node &node) -> Status {
    const std::string word = parse::lower(parse::scalar(node));
    if (word != "true" && word != "false")
      return in(node, key, parse::wrong(word, "true or false"));
    value = word == "true";
    return {};
  };
}

} // namespace xr::experiment
