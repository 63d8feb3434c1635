// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/reading.h"

namespace xr::cli {

namespace counters_command {
namespace {

struct Args {
  std::string ifname;
  Repeat repeat;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname);
  add_repeat(command, args.repeat);
}

int counters(const Args &args, const Globals &globals) {
  return read_port({"counters", args.ifname, args.repeat,
                    [](const report::Moment &moment) { return counters_report(moment); }},
                   globals);
}

} // namespace
} // namespace counters_command

void add_counters(Command program, Run &chosen) {
  using namespace counters_command;
  add_command<Args>(program, chosen, "counters",
                    "Packets and bytes by opcode, transport, ECN codepoint, AETH syndrome",
                    describe, counters);
}

} // namespace xr::cli
