// SPDX-License-Identifier: Apache-2.0
// `find` of an experiment file: the search for the value of a key at which expectations still hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "expect/expectation.h"
#include "experiment/settings.h"
#include "experiment/yaml_map.h"
#include "find/search.h"
#include "parse/quantity.h"

namespace xr::experiment {

// What has to hold besides the file's expectations. All goals share the trials.
struct FindGoal {
  std::string name; // "without loss"; "": the file's expectations alone
  std::vector<Expectation> expectations;
};

struct Find {
  std::string key; // as in --set
  parse::Quantity low, high;
  find::Grid::Options grid;      // its ends are those of the quantities
  unsigned trials = 0, hold = 0; // 0: not given
  uint64_t confirm_ns = 0;       // duration of confirming trials; 0: there are none
  std::vector<std::string> at;   // shares of the value found, for further runs: 10%, 50%
  std::vector<FindGoal> goals;   // at least one

  // A value of the grid as the text of a setting.
  std::string text(double value) const {
    return parse::Quantity{value, low.kind, unit(value)}.text();
  }
  // Finds the largest rate, of bits or packets.
  bool of_rate() const;

private:
  std::string unit(double value) const;
};

// A map, or a list of maps: {KEY: LOW..HIGH, ...}; empty: no search. `expects`: the file has
// expectations.
Result<std::vector<Find>> read_find(const YamlReader &reader, const YAML::Node &node,
                                    const Subject &subject, bool expects);

// `run --find KEY=LOW..HIGH` and its options, as settings of the file.
struct FindWords {
  std::string range; // KEY=LOW..HIGH
  bool least = false;
  std::string resolution, trials, confirm; // "": not given
};
Result<Settings> find_settings(const FindWords &words);

} // namespace xr::experiment
