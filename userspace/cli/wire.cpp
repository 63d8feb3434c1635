// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire.h"

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/bridge_output.h"
#include "cli/commands.h"
#include "cli/traffic_options.h"
#include "parse/value.h"
#include "report/wire.h"

namespace xr::cli {

namespace wire_command {
namespace {

struct Args {
  endpoint::WireRequest request;
  std::string memory;
  double interval = 0;
};

void describe(Command command, Args &args) {
  endpoint::WireRequest &r = args.request;
  command.add_option("IF1", r.first, "One port").required().value_name("");
  command.add_option("IF2", r.second, "The other").required().value_name("");
  command.add_flag("--fix", r.fix, "Repair settings that make the bridge lose frames");
  command.add_option("--queues", r.queues, "Queues of each port (default: all)")
      .value_name("N")
      .check(whole_number(1, ROCE_SOCKETS));
  add_steer(command, r.steer);
  add_cpus(command, r.cpus, "its threads");
  command
      .add_option("--memory", args.memory,
                  "Memory for held frames (default: what rules and links need now, at least 64M)")
      .value_name("SIZE");
  const Option copy =
      command.add_flag("--copy", r.copy, "Copy frames, even if both have zero-copy");
  command.add_flag("--zero-copy", r.zero_copy, "Fail where frames would be copied").excludes(copy);
  add_duration(command, "--for", r.duration_ns, "End after DURATION");
  add_attach_options(command, r.attach);
  add_interval(command, args.interval, "A report every S seconds, and one at the end");
  command.set_footer(
      "A bridge, and the process that holds frames: for rules with delay, accumulate, reorder or\n"
      "shape (xdp-roce impair) and for the ports' links (xdp-roce link: rate, delay, queues, AQM,\n"
      "PFC). What nothing holds stays in the kernel. Rules and links can change while it runs.\n"
      "It joins a bridge that is there and leaves it there. If the process is killed, the kernel\n"
      "forwards all frames again, and counts those that were to be held.");
}

Status read(Args &args) {
  if (Status apart = check_two_ports("wire", args.request.first, args.request.second); !apart)
    return apart;
  XR_TRY(check_steer(args.request.steer, args.request.queues));
  if (args.memory.empty())
    return {};
  args.request.memory = XR_TRY(parse::byte_count(args.memory, 1 << 20).in("--memory"));
  return {};
}

int wire(Args args, const Globals &globals) {
  const std::string context = fmt::format("wire {} {}", args.request.first, args.request.second);
  args.request.netns = globals.netns;
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the ports
  auto run = endpoint::WireRun::prepare(args.request);
  if (!run)
    return fail_of_ports("wire", args.request.first, args.request.second, run.error());
  tell_troubles("wire", args.request.first, args.request.second, globals.netns, run->troubles());
  return watch_run(*run, interrupt, context, globals.json, args.interval, report::wire_document,
                   report::wire_line,
                   [](const WireReport &) { return std::pair(uint64_t{}, uint64_t{}); });
}

} // namespace
} // namespace wire_command

void add_wire(Command program, Run &chosen) {
  using namespace wire_command;
  add_command<Args>(program, chosen, "wire",
                    "A bridge that can hold frames: delay, queues, shaping", describe, read, wire);
}

} // namespace xr::cli
