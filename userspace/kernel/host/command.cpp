// SPDX-License-Identifier: Apache-2.0
#include "host/command.h"

#include <array>

namespace xr::host {

namespace {

// Programs that take a namespace themselves.
struct Program {
  const char *name;
  const char *option;
};
constexpr std::array<Program, 3> kPrograms = {
    {{"ip", " -n "}, {"dcb", " -n "}, {"xdp-roce", " --netns "}}};

} // namespace

std::string command_in(const std::string &netns, const std::string &line) {
  if (netns.empty())
    return line;
  const size_t end = line.find(' ');
  for (const Program &program : kPrograms)
    if (line.substr(0, end) == program.name && end != std::string::npos)
      return program.name + (program.option + netns) + line.substr(end);
  return "nsenter --net=/run/netns/" + netns + " " + line;
}

} // namespace xr::host
