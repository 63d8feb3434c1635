// SPDX-License-Identifier: Apache-2.0
// Reads maps of a YAML file by a table of keys. Errors name the line, or the --set that the value
// came from, and the variables in the value.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "parse/yaml.h"

namespace xr::experiment {

// With this begin errors of a value that was set, and its key follows.
inline constexpr std::string_view kOfSetting = " --set ";

// Values that were set on the command line, with their keys.
using SetValues = std::vector<std::pair<YAML::Node, std::string>>;

// A text of the file in which variables were replaced.
struct ReplacedText {
  struct Variable {
    std::string text;   // its value
    std::string origin; // "--set rate=fast" or "vars: rate=fast"
  };
  YAML::Node node;
  bool whole = false; // nothing but variables
  std::vector<Variable> variables;
};

// Where the values of a file come from, if not from its own lines.
struct ValueOrigins {
  SetValues set;
  std::vector<ReplacedText> replaced;
};

// Whether `node` is a part of `value`.
bool is_part(const YAML::Node &value, const YAML::Node &node);

class YamlReader {
public:
  using Read = std::function<Status(const YAML::Node &)>;
  struct Key {
    std::string_view name;
    Read read;
  };

  explicit YamlReader(const ValueOrigins &origins) : origins_(origins) {}

  Error at(const YAML::Node &node, const Error &error) const;
  // Reads the keys in the order of the table, not of the file. `what`: "a key of topology".
  Status map(const YAML::Node &node, std::string_view what, const std::vector<Key> &keys) const;

  // Scalars. Errors begin with the key.
  Read duration(std::string key, uint64_t &value) const;
  Read integer(std::string key, uint64_t from, uint64_t to, uint64_t &value) const;
  Read number(std::string key, unsigned from, unsigned to, unsigned &value) const;
  Read text(std::string key, std::string &value) const;
  Read bytes(std::string key, uint64_t &value) const; // at least 1
  Read truth(std::string key, bool &value) const;     // true or false

  // Adds the key in front and the line.
  Error in(const YAML::Node &node, const std::string &key, const Error &error) const;
  // Whether the value was set on the command line.
  bool is_set(const YAML::Node &node) const;

private:
  std::string variables_in(const YAML::Node &node, const std::string &message) const;

  const ValueOrigins &origins_;
};

} // namespace xr::experiment
