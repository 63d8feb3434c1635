// SPDX-License-Identifier: Apache-2.0
// Reads YAML files and adds the line number to errors.
#pragma once

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/result.h"

namespace xr::parse {

// Prefixes an error with the line of `node`: "3: ...".
Error at_line(const YAML::Node &node, const Error &error);

// The text of a scalar node, "" for any other node.
inline std::string scalar(const YAML::Node &node) { return node.IsScalar() ? node.Scalar() : ""; }

// Reads a whole file. "-" is standard input.
Result<std::string> read_file(const std::string &path);
// The name of `path` for error messages.
std::string file_name(const std::string &path);

// Parses `text` and calls `read` with the root node. `read` returns a Result whose error starts
// with a line number; `name` is prefixed to it.
template <typename Read>
auto with_yaml(const std::string &text, const std::string &name, Read read)
    -> decltype(read(YAML::Node())) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    for (size_t i = 1; i < documents.size(); i++)
      if (!documents[i].IsNull())
        return Error{
            fmt::format("{}:{}: a second document begins", name, documents[i].Mark().line + 1),
            "one document a file, without ---"};
    auto result = read(documents.empty() ? YAML::Node() : documents.front());
    if (!result)
      return Error{fmt::format("{}:{}", name, result.error().message), result.error().hint,
                   result.error().kind, name};
    return result;
  } catch (const YAML::Exception &e) {
    return Error{fmt::format("{}:{}: {}", name, e.mark.line + 1, e.msg), "the file must be YAML"};
  }
}

} // namespace xr::parse
