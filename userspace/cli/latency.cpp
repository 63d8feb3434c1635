// SPDX-License-Identifier: Apache-2.0
#include "report/passive_latency.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/attached_port.h"

namespace xr::cli {

namespace latency_command {
namespace {

struct Args {
  std::string ifname;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname, "An interface that was attached with --latency");
  command.set_footer(
      "Times without probes, since the port was attached, from the port to the responder and back: "
      "AckReq to ACK,\nREAD to its first and last response, atomics, whole messages, CE mark to "
      "CNP. upper: no longer than this.\nThe port must see both directions, as for episodes. Of a "
      "stream, p50 and p99 are at most 25 % too high, of\nall streams 6 %. Captures: analyze FILE "
      "--latency.");
}

int latency(const Args &args, const Globals &globals) {
  const std::string context = "latency " + args.ifname;
  auto port = datapath::AttachedPort::open({args.ifname, globals.netns});
  if (!port)
    return fail(context, port.error());
  const auto found = port->latency();
  if (!found)
    return fail(context, found.error());
  Output output(globals.json);
  output.print(report::passive_latency_report(args.ifname, found.get()));
  return output.finish();
}

} // namespace
} // namespace latency_command

void add_latency(Command program, Run &chosen) {
  using namespace latency_command;
  add_command<Args>(program, chosen, "latency", "Round trips and completion times, without probes",
                    describe, latency);
}

} // namespace xr::cli
