// SPDX-License-Identifier: Apache-2.0
#include "datapath/attach.h"

#include "cli/attachments.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "roce/config.h"

namespace xr::cli {

namespace {

struct Args {
  std::vector<std::string> interfaces;
  datapath::AttachOptions options;
  bool no_track = false;
};

void describe(CLI::App &command, Args &args) {
  using datapath::Mode;
  static const std::map<std::string, Mode> kModes = {
      {"auto", Mode::Auto}, {"native", Mode::Native}, {"skb", Mode::Skb}};
  command.add_option("IF", args.interfaces, "Interfaces to count on")->required()->type_name("");
  command
      .add_option_function<std::string>(
          "--mode", [&args](const std::string &name) { args.options.mode = kModes.at(name); },
          "auto, native or skb (default: auto: native, else skb with a note)")
      ->type_name("MODE")
      ->check(CLI::Validator(
          [](std::string &text) {
            return kModes.count(text) ? "" : "'" + text + "' is none of auto, native, skb";
          },
          ""));
  command
      .add_option("--priority", args.options.priority,
                  "Place among the programs of libxdp's dispatcher, lower first (default: 50)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000));
  add_udp_port(command, args.options.udp_port);
  command
      .add_option("--streams", args.options.streams,
                  "Room for N streams, 256 bytes each at most (default: 65536)")
      ->type_name("N")
      ->check(whole_number(1, ROCE_STREAMS_MAX));
  command.add_flag("--no-track", args.no_track, "Count opcodes only: no streams, no events");
  command.footer("Place: a bridge's ports, a tap, or the netdev below an rxe device. An RNIC's own "
                 "port does not\nshow the traffic of its queue pairs. The counter stays when the "
                 "command ends, until detach.");
}

int attach(const Args &args, const Globals &globals) {
  datapath::AttachOptions options = args.options;
  options.track = !args.no_track;
  int status = 0;
  std::vector<datapath::PortStatus> ports;
  for (const std::string &ifname : args.interfaces) {
    auto done = datapath::attach(ifname, globals.netns, options);
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
    output.print(attachments_report(ports));
  return output.finish(status);
}

} // namespace

void add_attach(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "attach", "Count the RoCE packets that arrive at interfaces",
                    describe, attach);
}

} // namespace xr::cli
