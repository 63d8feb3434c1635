// SPDX-License-Identifier: Apache-2.0
// A configuration of the Open Traffic Generator as a test reads it.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "otg/config.h"

namespace xr::test {

// One without errors.
inline otg::Config read_valid(otg::Json &json) {
  otg::Findings findings;
  otg::Config config = otg::read_config(json, findings);
  EXPECT_TRUE(findings.ok()) << fmt::format("{}", fmt::join(findings.all_errors(), "\n"));
  return config;
}

inline std::vector<std::string> errors_of(otg::Json json) {
  otg::Findings findings;
  (void)otg::read_config(json, findings);
  return findings.all_errors();
}

// Warnings of one without errors.
inline std::vector<std::string> warnings_of(otg::Json json) {
  otg::Findings findings;
  (void)otg::read_config(json, findings);
  EXPECT_TRUE(findings.ok()) << fmt::format("{}", fmt::join(findings.all_errors(), "\n"));
  return findings.all_warnings();
}

} // namespace xr::test
