// SPDX-License-Identifier: Apache-2.0
// A port with rules on the native datapath: frames go in, and come out changed or are dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bpf/wire_checks.h"
#include "impair/rule.h"
#include "native/native_datapath.h"

namespace xr::test {

class Port {
public:
  static constexpr uint32_t kAllFeatures = ROCE_FEATURE_RULES | ROCE_FEATURE_EVENTS |
                                           ROCE_FEATURE_EDIT | ROCE_FEATURE_CNP |
                                           ROCE_FEATURE_CLONE;

  explicit Port(const std::vector<std::string> &rules, uint32_t features = kAllFeatures,
                uint32_t streams = 0)
      : accountant_(options(features, streams)) {
    std::vector<impair::Rule> parsed;
    std::map<uint32_t, std::vector<uint32_t>> points;
    for (const std::string &words : rules) {
      auto rule = impair::parse({words});
      EXPECT_TRUE(rule.ok()) << words << ": " << rule.error().message;
      if (!rule)
        continue;
      const auto slot = static_cast<uint32_t>(parsed.size());
      rule->compiled.slot = slot;
      points[slot] = rule->points;
      parsed.push_back(*rule);
    }
    accountant_.rules(impair::make_ruleset(parsed), points);
  }

  Fate impair(Bytes &bytes, uint64_t time_ns = 0) { return accountant_.impair(bytes, time_ns); }
  void count(const Bytes &bytes, uint64_t time_ns = 0) {
    const auto length = static_cast<uint32_t>(bytes.size());
    accountant_.frame({bytes.data(), length, length, time_ns});
  }

  uint64_t acted(uint32_t rule = 0) const { return accountant_.rule_count(rule).acted; }
  uint64_t matched(uint32_t rule = 0) const { return accountant_.rule_count(rule).matched; }
  roce_totals totals() const { return snapshot().totals; }
  Snapshot snapshot() const {
    Snapshot s;
    accountant_.snapshot(s);
    return s;
  }
  NativeDatapath &accountant() { return accountant_; }

private:
  static NativeDatapath::Options options(uint32_t features, uint32_t streams) {
    NativeDatapath::Options options;
    options.features = features;
    options.streams = streams;
    return options;
  }

  NativeDatapath accountant_;
};

// Where its bytes differ from those before.
inline std::vector<size_t> changed_bytes(const Bytes &before, const Bytes &after) {
  std::vector<size_t> places;
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < std::min(before.size(), after.size()); i++)
    if (before[i] != after[i])
      places.push_back(i);
  return places;
}

} // namespace xr::test
