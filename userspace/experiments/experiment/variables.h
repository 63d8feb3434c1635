// SPDX-License-Identifier: Apache-2.0
// `vars` of an experiment file, and their values in its texts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/yaml_map.h"
#include "parse/quantity.h"

namespace xr::experiment {

class Variables {
public:
  // `reserved`: names that a variable cannot have. A variable may use those before it.
  Status read(const YamlReader &reader, const YAML::Node &vars,
              const std::vector<std::string_view> &reserved);
  bool empty() const { return all_.empty(); }
  bool contains(const std::string &name) const { return all_.contains(name); }
  std::vector<std::string_view> names() const; // in the order of the file

  // Replaces {NAME} and arithmetic in all texts of `node`, in place. Adds what it used, also by
  // other variables, to `used`, and the texts to `replaced`. Braces without a name in them stay.
  Status substitute(const YamlReader &reader, YAML::Node node, std::set<std::string> &used,
                    std::vector<ReplacedText> &replaced) const;

private:
  struct Variable {
    std::string text;
    std::set<std::string> uses; // itself, and variables that its value needs
    bool set = false;           // on the command line
  };
  Status read_value(const YamlReader &reader, const YAML::Node &node, const std::string &name);
  Result<std::string> substituted(const std::string &text, std::set<std::string> &used) const;
  Result<std::string> value_of(const parse::Expression &expression,
                               std::set<std::string> &used) const;
  Result<parse::Quantity> quantity_of(const std::string &name) const;
  ReplacedText::Variable origin_of(const std::string &name) const;

  std::map<std::string, Variable> all_;
  std::vector<std::string> order_;
};

} // namespace xr::experiment
