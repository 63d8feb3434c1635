// SPDX-License-Identifier: Apache-2.0
#include "cli/bridge_output.h"

#include <fmt/format.h>

#include "cli/output.h"

namespace xr::cli {

Status check_two_ports(const std::string &command, const std::string &first,
                       const std::string &second) {
  if (first == second)
    return Error{fmt::format("a {} needs two ports, and both are {}", command, first),
                 fmt::format("xdp-roce {} {} IF2", command, first)};
  return {};
}

void tell_troubles(const std::string &command, const std::string &first, const std::string &second,
                   const std::string &netns, const std::vector<datapath::Trouble> &troubles) {
  const std::string repair =
      fmt::format("xdp-roce {}{} {} {} --fix",
                  netns.empty() ? "" : fmt::format("--netns {} ", netns), command, first, second);
  for (const datapath::Trouble &trouble : troubles) {
    if (trouble.fixed)
      note(trouble.ifname, "fixed: " + trouble.text);
    else
      warn(trouble.ifname, trouble.text);
    if (!trouble.fixed && !trouble.hint.empty())
      fmt::print(stderr, "hint: {}{}\n", trouble.hint,
                 trouble.fixable ? fmt::format(" (or: {})", repair) : "");
  }
}

int fail_of_ports(const std::string &command, const std::string &first, const std::string &second,
                  const Error &error) {
  for (const std::string &ifname : {first, second})
    if (error.message.starts_with(ifname + ": "))
      return fail("", {command + " " + error.message, error.hint});
  return fail(fmt::format("{} {} {}", command, first, second), error);
}

} // namespace xr::cli
