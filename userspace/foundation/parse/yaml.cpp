// SPDX-License-Identifier: Apache-2.0
#include "parse/yaml.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

namespace xr::parse {

Error at_line(const YAML::Node &node, const Error &error) {
  return {fmt::format("{}: {}", std::max(node.Mark().line, 0) + 1, error.message), error.hint};
}

std::string file_name(const std::string &path) { return path == "-" ? "standard input" : path; }

Result<std::string> read_file(const std::string &path) {
  std::ifstream file;
  if (path != "-") {
    errno = 0;
    file.open(path);
    if (!file)
      return errno_error(errno, fmt::format("cannot open {}", path));
  }
  std::istream &stream = path == "-" ? std::cin : file;
  std::ostringstream text;
  errno = 0;
  if (stream.peek() != std::istream::traits_type::eof())
    text << stream.rdbuf();
  if (stream.bad())
    return errno_error(errno, fmt::format("cannot read {}", file_name(path)));
  return text.str();
}

} // namespace xr::parse
