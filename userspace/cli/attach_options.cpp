// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_options.h"

#include <map>

#include "cli/commands.h"
#include "cli/options.h"
#include "roce/config.h"

namespace xr::cli {

namespace {

const std::map<std::string, Mode> &modes() {
  static const std::map<std::string, Mode> kModes = {
      {"auto", Mode::Auto}, {"native", Mode::Native}, {"skb", Mode::Skb}};
  return kModes;
}

// Options that have no effect together, or no effect alone.
Status check_together(const Command &command, const datapath::AttachOptions &options) {
  if (command.is_given("--pairs") && !options.follow && !options.latency)
    return Error{"--pairs: nothing follows or times QP pairs", "add --follow, --latency or both"};
  return datapath::check_options(options);
}

} // namespace

void add_attach_options(Command command, datapath::AttachOptions &options) {
  command
      .add_option_function<std::string>(
          "--mode", [&options](const std::string &name) { options.mode = modes().at(name); },
          "How the driver runs the program (default: auto)")
      .value_name("MODE")
      .check(one_of({"auto", "native", "skb"}));
  add_udp_port(command, options.udp_port);
  command
      .add_option("--streams", options.streams,
                  "Capacity of the stream table, at most 256 bytes each (default: 65536)")
      .value_name("N")
      .check(whole_number(1, ROCE_STREAMS_MAX));
  command.add_flag("--classes", options.classes, "Count RoCE packets by DSCP and PCP too");
  command.add_flag("--follow", options.follow,
                   "Follow the requests and answers of QP pairs: see episodes");
  command.add_flag("--latency", options.latency,
                   "Time the requests and answers of QP pairs: see latency");
  command.add_flag("--job", options.job,
                   "Keep the bursts of data between each pair of hosts, as training jobs send");
  command
      .add_option("--pairs", options.pairs,
                  "QP pairs at most that are followed (1.1 KB each) and timed (12 KB each); "
                  "default: 4096")
      .value_name("N")
      .check(whole_number(1, 1 << 20));
  command.add_flag_function(
      "--no-track", [&options] { options.track = false; },
      "Count opcodes only: no streams, no events");
  command
      .add_option_function<uint64_t>(
          "--cnp-window",
          [&options](const uint64_t &microseconds) { options.cnp_window_ns = microseconds * 1000; },
          "A CNP's cause is a CE mark or NAK at most US microseconds before it (default: 50)")
      .value_name("US")
      .check(whole_number(1, 1'000'000'000));
  command.on_parsed([command, &options]() -> std::optional<LineFault> {
    if (const Status sound = check_together(command, options); !sound)
      return LineFault{command.name(), sound.error()};
    return {};
  });
}

} // namespace xr::cli
