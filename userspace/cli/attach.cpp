// SPDX-License-Identifier: Apache-2.0
#include "datapath/attach.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/status.h"
#include "report/attachments.h"
#include "roce/config.h"

namespace xr::cli {

namespace attach_command {
namespace {

struct Args {
  std::vector<std::string> interfaces;
  datapath::AttachOptions options;
  bool one = false;
  bool ensure = false;
};

void describe(Command command, Args &args) {
  command.add_option("IF", args.interfaces, "Interfaces to attach to").required().value_name("");
  command
      .add_option("--priority", args.options.priority,
                  "Place among the programs of libxdp's dispatcher, lower first (default: 50)")
      .value_name("N")
      .check(whole_number(0, 1'000'000));
  add_attach_options(command, args.options);
  add_decap(command, args.options.decap);
  command.add_flag(
      "--one", args.one,
      "Count the interfaces as one: a tap of both directions, one on each; counters and "
      "streams of any of them are those of all");
  command.add_flag(
      "--ensure", args.ensure,
      "For scripts: success for an interface that this version attached already, which "
      "stays as it is; what another version attached is replaced");
  command.add_flag(
      "--rules", args.options.rules,
      "Load the program with rules; needed only if another XDP program shares the hook");
  command.set_footer(
      "Where: the ports of a bridge, a tap, or the netdev below an rxe device. XDP on an "
      "RNIC's own port\ndoes not see the packets of its queue pairs. The program stays "
      "attached after the command ends, until detach.");
}

Status read(const Args &args) {
  if (args.one && args.interfaces.size() < 2)
    return Error{"--one counts several interfaces as one, and one is named",
                 fmt::format("xdp-roce attach {} IF2 --one", args.interfaces.front())};
  return {};
}

Result<datapath::AttachReport> attach_or_keep(const PortName &name,
                                              const datapath::AttachOptions &options) {
  PortStatus port = XR_TRY(datapath::status_of(name));
  // A capture or an endpoint takes its program off when it ends: attach() refuses that.
  if (port.state == AttachState::Attached && !(port.features & ROCE_FEATURE_PASSING)) {
    std::vector<std::string> notes{
        fmt::format("attached since {}; it stays as it is, with the options of then",
                    local_date_time(port.since_ns))};
    return datapath::AttachReport{.port = std::move(port), .notes = std::move(notes)};
  }
  if (port.state == AttachState::OtherAbi) {
    // Without the other port nothing would be forwarded.
    if (!port.peer.empty())
      return datapath::not_readable(port);
    XR_TRY(datapath::detach(name));
  }
  return datapath::attach(name, options);
}

int attach(const Args &args, const Globals &globals) {
  int status = 0;
  std::vector<PortStatus> ports;
  for (const std::string &ifname : args.interfaces) {
    datapath::AttachOptions options = args.options;
    if (args.one && &ifname != &args.interfaces.front())
      options.one_with = args.interfaces.front();
    auto done = args.ensure ? attach_or_keep({ifname, globals.netns}, options)
                            : datapath::attach({ifname, globals.netns}, options);
    if (!done) {
      status = fail("attach " + ifname, done.error());
      continue;
    }
    for (const std::string &text : done->notes)
      note(ifname, text);
    ports.push_back(std::move(done->port));
  }
  Output output(globals.json);
  if (!ports.empty() || globals.json)
    output.print(report::attachments_report(ports));
  return output.finish(status);
}

} // namespace
} // namespace attach_command

void add_attach(Command program, Run &chosen) {
  using namespace attach_command;
  add_command<Args>(program, chosen, "attach", "Count the RoCE packets that arrive at interfaces",
                    describe, read, attach);
}

} // namespace xr::cli
