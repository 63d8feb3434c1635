// SPDX-License-Identifier: Apache-2.0
// Files of YAML that people write: where in them an error is, and how they are read.
#pragma once

#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/result.h"

namespace xr::parse {

// An error with the line of `node` before it: "3: ...".
Error at_line(const YAML::Node &node, const Error &error);

// A scalar's text, "" for anything else.
inline std::string scalar(const YAML::Node &node) { return node.IsScalar() ? node.Scalar() : ""; }

// All of a file; "-" is the standard input.
Result<std::string> read_file(const std::string &path);
// What errors call it.
std::string file_name(const std::string &path);

// Loads `text` and hands the root to `read`, which gives a Result whose error begins with a line;
// the errors then begin with `name`.
template <typename Read>
auto with_yaml(const std::string &text, const std::string &name, Read read)
    -> decltype(read(YAML::Node())) {
  try {
    auto result = read(YAML::Load(text));
    if (!result)
      return Error{fmt::format("{}:{}", name, result.error().message), result.error().hint};
    return result;
  } catch (const YAML::Exception &e) {
    return Error{fmt::format("{}:{}: {}", name, e.mark.line + 1, e.msg), "the file is to be YAML"};
  }
}

} // namespace xr::parse
