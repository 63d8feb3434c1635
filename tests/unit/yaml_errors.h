// SPDX-License-Identifier: Apache-2.0
// Errors of wrong YAML files: each has the line number, names the mistake, and has a hint.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/result.h"

namespace xr {

struct WrongFile {
  const char *text;
  const char *at;    // how its error begins
  const char *named; // what is in it
};

template <typename T> void expect_refused(const WrongFile &wrong, const Result<T> &result) {
  ASSERT_FALSE(result.ok()) << wrong.text;
  const std::string &message = result.error().message;
  EXPECT_TRUE(message.starts_with(wrong.at)) << wrong.text << message;
  EXPECT_NE(message.find(wrong.named), std::string::npos) << wrong.text << message;
  EXPECT_FALSE(result.error().hint.empty()) << wrong.text;
}

} // namespace xr
