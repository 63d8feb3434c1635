// SPDX-License-Identifier: Apache-2.0
#include "datapath/bridge.h"

#include <thread>

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/bridge_output.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "report/attachments.h"

namespace xr::cli {

namespace bridge_command {
namespace {

struct Args {
  std::string first, second;
  datapath::AttachOptions options;
  bool fix = false;
  bool foreground = false;
};

void describe(Command command, Args &args) {
  command.add_option("IF1", args.first, "One port").required().value_name("");
  command.add_option("IF2", args.second, "The other").required().value_name("");
  command.add_flag(
      "--fix", args.fix,
      "Repair settings that make the bridge lose frames, also of a bridge that is there");
  command.add_flag("--foreground", args.foreground, "Keep running; detach the bridge at the end");
  add_attach_options(command, args.options);
  command.set_footer(
      "Every frame that enters one port leaves by the other, in the kernel: RoCE or not. It is "
      "counted and\ntracked as by attach, and the rules of the port that it enters apply to it "
      "(xdp-roce impair).\nThe bridge stays after the command ends, until detach; "
      "detaching one port detaches both.");
}

Status read(const Args &args) { return check_two_ports("bridge", args.first, args.second); }

int stay(const Args &args, const Globals &globals) {
  Interrupt interrupt;
  while (interrupt.sleep_until(Interrupt::Clock::now() + std::chrono::hours(1)))
    ;
  auto done = datapath::detach({args.first, globals.netns});
  return done ? 0 : cli::fail("bridge " + args.first, done.error());
}

int bridge(const Args &args, const Globals &globals) {
  auto done = datapath::bridge(args.first, args.second, globals.netns, args.options, args.fix);
  if (!done)
    return fail_of_ports("bridge", args.first, args.second, done.error());
  for (const std::string &text : done->notes)
    note(fmt::format("bridge {} {}", args.first, args.second), text);
  tell_troubles("bridge", args.first, args.second, globals.netns, done->troubles);
  Output output(globals.json);
  output.print(report::attachments_report(done->ports));
  const int status = output.finish();
  return args.foreground ? stay(args, globals) : status;
}

} // namespace
} // namespace bridge_command

void add_bridge(Command program, Run &chosen) {
  using namespace bridge_command;
  add_command<Args>(program, chosen, "bridge", "In-line: each port's frames leave by the other",
                    describe, read, bridge);
}

} // namespace xr::cli
