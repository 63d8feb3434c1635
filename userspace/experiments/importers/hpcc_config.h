// SPDX-License-Identifier: Apache-2.0
// For this folder only: config.txt of HPCC's simulator and of those that were made of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

// In the order of hpcc_dialect_name().
enum class HpccDialect : uint8_t { Hpcc, Conweave, InetTub, SimAi, AstraSim };
const char *hpcc_dialect_name(HpccDialect dialect);

struct HpccConfig {
  struct Value {
    std::string text;            // of a name or file
    std::vector<double> numbers; // rates in bit/s; pairs of a map
    unsigned line = 0;
  };

  std::string name; // of the file, in errors
  HpccDialect dialect = HpccDialect::Hpcc;
  std::map<std::string, Value, std::less<>> values; // by key
  std::set<std::string, std::less<>> used;          // the keys that were asked for
  std::vector<std::string> notes;

  bool has(std::string_view key) const { return values.contains(key); }
  // The value marks its key as used; the default if it is not there.
  double number(std::string_view key, double otherwise);
  bool flag(std::string_view key, bool otherwise) { return number(key, otherwise ? 1 : 0) != 0; }
  std::string text(std::string_view key); // "": not there
  std::vector<double> numbers(std::string_view key);
  Result<double> needed(std::string_view key);
  // "FILE:LINE: KEY: what"; without a line if the key is not there.
  Error wrong(std::string_view key, const std::string &what, std::string hint) const;
};

// Word by word, as the simulator reads it: a later value of a key replaces the one before, and a
// key within a {comment} is read. An unknown key is an error.
Result<HpccConfig> read_hpcc_config(std::string_view text, const std::string &name);

} // namespace xr::importers
