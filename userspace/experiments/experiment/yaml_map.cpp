// SPDX-License-Identifier: Apache-2.0
#include "experiment/yaml_map.h"

#include <map>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

// Whether `node` is a part of `value`.
bool contains(const YAML::Node &value, const YAML::Node &node) {
  if (node.is(value))
    return true;
  if (value.IsSequence())
    for (const YAML::Node &item : value)
      if (contains(item, node))
        return true;
  if (value.IsMap())
    for (const auto &pair : value)
      if (pair.first.is(node) || contains(pair.second, node))
        return true;
  return false;
}

} // namespace

// The lines of a value that was set are not the file's.
Error YamlReader::at(const YAML::Node &node, const Error &error) const {
  for (const auto &[value, key] : set_)
    if (contains(value, node))
      return error.in(std::string(kOfSetting) + key).as_usage();
  return parse::at_line(node, error);
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
