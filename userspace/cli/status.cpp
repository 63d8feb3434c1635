// SPDX-License-Identifier: Apache-2.0
#include "datapath/status.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "report/attachments.h"

namespace xr::cli {

namespace status_command {
namespace {

struct Args {
  std::vector<std::string> interfaces;
};

void describe(Command command, Args &args) {
  command
      .add_option("IF", args.interfaces,
                  "Interfaces to show (default: all attached ones in any network namespace, "
                  "or in --netns)")
      .value_name("");
}

int status(const Args &args, const Globals &globals) {
  int exit_status = 0;
  std::vector<PortStatus> ports;
  if (args.interfaces.empty()) {
    auto all = datapath::status(globals.netns);
    if (!all)
      return fail("status", all.error());
    ports = std::move(*all);
  }
  for (const std::string &ifname : args.interfaces) {
    auto item = datapath::status_of({ifname, globals.netns});
    if (item)
      ports.push_back(std::move(*item));
    else
      exit_status = fail("status " + ifname, item.error());
  }
  Output output(globals.json);
  if (!exit_status || !ports.empty() || globals.json)
    output.print(report::attachments_report(ports));
  for (const PortStatus &port : ports) {
    if (!globals.json && !port.alone.empty())
      note(port.ifname, datapath::alone_note(port));
    if (!globals.json && port.state == AttachState::OtherAbi) {
      const Error other = datapath::not_readable(port);
      note(port.ifname, fmt::format("{}: {}", other.message, other.hint));
    }
    if (!globals.json && port.program_id && !port.up)
      note(port.ifname,
           fmt::format("it is set down, by `ip link` or by a flap of its link (xdp-roce "
                       "link {0} show): ip {1}link set {0} up",
                       port.ifname, port.netns.empty() ? "" : "-n " + port.netns + " "));
  }
  return output.finish(exit_status);
}

} // namespace
} // namespace status_command

void add_status(Command program, Run &chosen) {
  using namespace status_command;
  add_command<Args>(program, chosen, "status", "Show what is attached where, and how", describe,
                    status);
}

} // namespace xr::cli
