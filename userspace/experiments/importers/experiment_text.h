// SPDX-License-Identifier: Apache-2.0
// For this folder only: an experiment file as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr::importers {

// In double quotes of YAML: \ and " are escaped.
std::string quoted(const std::string &text);

// What others' configurations are read into.
struct ExperimentText {
  struct Flow {
    std::string name, from, to, words;
  };

  std::vector<std::string> comments; // above it
  std::string name;
  uint64_t duration_ns = 0, sample_ns = 0;
  unsigned senders = 1;
  bool star = true;      // else a dumbbell
  std::string rate;      // of hosts
  std::string core_rate; // of a dumbbell; "": as its hosts
  std::string queue = "buffer 16M";
  std::string congestion = "none";
  std::string cnp, reliability; // keys and values, without braces; "": none
  std::vector<Flow> flows;
  std::vector<std::string> rules, captures, expect;
  bool analyze = false; // the captures, of which left and right are two

  std::string yaml() const;
};

} // namespace xr::importers
