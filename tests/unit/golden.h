// SPDX-License-Identifier: Apache-2.0
// Compares text with golden files. XR_UPDATE_GOLDENS=1 rewrites them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

inline void expect_golden(const std::string &name, const std::string &text) {
  const std::string path = std::string(XR_TEST_DATA "/golden/") + name;
  const char *update = getenv("XR_UPDATE_GOLDENS");
  if (update && *update == '1')
    std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), text) << path;
}
