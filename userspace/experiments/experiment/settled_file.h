// SPDX-License-Identifier: Apache-2.0
// The nodes of an experiment file with variables and settings in place.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/settings.h"
#include "experiment/variables.h"
#include "experiment/yaml_map.h"

namespace xr::experiment {

struct SettledFile {
  ValueOrigins origins;
  Variables variables;
  std::set<std::string> used;       // variables that texts use, of the file and of settings
  std::set<std::string> sweep_used; // variables that the values of `sweep` use
};

// Settings of variables, the values of variables, congestion control as words, and then settings
// of keys, in `root`. `parts`: keys of the file.
Status settle(YAML::Node root, const Settings &settings, const std::vector<std::string_view> &parts,
              SettledFile &file);

// {dcqcn: {preset: paper, rai: 40mbit}} as "dcqcn preset paper rai=40mbit"; a text as it is.
Result<std::string> congestion_words(const YAML::Node &node);
// Sets one word of congestion control. `path`: ALGORITHM and PARAMETER, or PARAMETER.
Result<std::string> with_parameter(const std::string &words, const std::vector<std::string> &path,
                                   const std::string &value);

} // namespace xr::experiment
