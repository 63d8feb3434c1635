// SPDX-License-Identifier: Apache-2.0
#include "report/episodes.h"

#include "cli/commands.h"
#include "cli/reading.h"

namespace xr::cli {

namespace episodes_command {
namespace {

struct Args {
  std::string ifname;
  Repeat repeat;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname, "An interface that was attached with --follow");
  add_repeat(command, args.repeat);
  command.set_footer(
      "An episode: a requester went back once. cause: nak, read (a READ response was missing), "
      "timeout, rnr,\nduplicate (packets passed twice). The port must see both directions: a "
      "bridge, two taps attached with --one,\nor a mirror of both. The newest 4,096 are kept; "
      "reading takes nothing out. With --interval, each report has\nwhat is new, and the pairs. "
      "Captures: analyze FILE --episodes.");
}

int episodes(const Args &args, const Globals &globals) {
  const std::string context = "episodes " + args.ifname;
  auto port = datapath::AttachedPort::open({args.ifname, globals.netns});
  if (!port)
    return fail(context, port.error());
  Output output(globals.json);
  datapath::AttachedPort::Found since;
  const auto report = [&]() -> Result<bool> {
    const auto found = XR_TRY(port->episodes(since));
    return output.print_next(report::episodes_report(args.ifname, found));
  };
  if (args.repeat.interval > 0)
    return every_interval(context, args.repeat, Interrupt(), *port, output, report);
  const auto found = port->episodes(since);
  if (!found)
    return fail(context, found.error());
  output.print(report::episodes_report(args.ifname, found.get()));
  return output.finish();
}

} // namespace
} // namespace episodes_command

void add_episodes(Command program, Run &chosen) {
  using namespace episodes_command;
  add_command<Args>(program, chosen, "episodes",
                    "What losses cost: each time that a requester went back", describe, episodes);
}

} // namespace xr::cli
