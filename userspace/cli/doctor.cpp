// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/shell.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "host/roce_mode.h"
#include "report/doctor.h"

namespace xr::cli {

namespace doctor_command {
namespace {

struct Args {
  doctor::Question question;
  std::string set_mode, device, port;
  std::optional<uint16_t> set_tos;
};

void describe(Command command, Args &args) {
  doctor::Question &question = args.question;
  command
      .add_option("IF", question.ifname,
                  "An interface, attached or not (default: only the kernel and RDMA devices)")
      .value_name("");
  command
      .add_option("--peer-mode", question.peer_mode,
                  "The RoCE mode of the peer's RDMA-CM: check whether it matches")
      .value_name("MODE")
      .check(one_of({"v1", "v2"}));
  command.add_flag("--try", question.try_port,
                   "Try zero-copy on the port: the driver restarts a queue, so that frames of the "
                   "port's traffic may be lost; and a flow rule, which is removed");
  command.add_flag(
      "--fix", question.fix,
      "Change what hides frames from XDP: LRO, stripped VLAN tags; nothing that resets "
      "the port");
  command
      .add_option(
          "--pfc-from", question.pfc_from,
          "The port at the other end of the link: send a PFC frame that pauses nothing from "
          "it, and check whether XDP sees it here")
      .value_name("IF2");
  command.add_option("--set-roce-mode", args.set_mode, "Only set the default RoCE mode of RDMA-CM")
      .value_name("MODE")
      .check(one_of({"v1", "v2"}));
  command
      .add_option("--set-roce-tos", args.set_tos,
                  "Only set the default type of service of RDMA-CM (DSCP * 4 + ECN)")
      .value_name("TOS")
      .check(whole_number(0, 255));
  command
      .add_option("--rdma-dev", args.device,
                  "With --set-roce-mode or --set-roce-tos: the RDMA device")
      .value_name("DEV");
  command
      .add_option("--rdma-port", args.port,
                  "With --set-roce-mode or --set-roce-tos: the port of the device")
      .value_name("N")
      .check(whole_number(1, 255));
  for (const char *name : {"--set-roce-mode", "--set-roce-tos"}) {
    command.option(name).needs("--rdma-dev").needs("--rdma-port");
    command.option(name).excludes("IF").excludes("--peer-mode");
  }
  command.option("--peer-mode").needs("IF");
  command.option("--try").needs("IF");
  command.option("--fix").needs("IF");
  command.option("--pfc-from").needs("IF");
  command.add_option("--root", question.root, "A directory tree instead of /proc, /sys and /boot")
      .value_name("DIR")
      .hidden();
  command.set_footer("Exit status 1 if a check failed. A check that lacks a privilege reports "
                     "unknown.");
}

Status check_words(const Args &args) {
  if ((!args.device.empty() || !args.port.empty()) && args.set_mode.empty() && !args.set_tos)
    return Error{"with --rdma-dev and --rdma-port: --set-roce-mode or --set-roce-tos is required",
                 "xdp-roce doctor --help"};
  return {};
}

int set_defaults(const Args &args) {
  const std::string context = "doctor " + args.device + "/" + args.port;
  const host::Files files(args.question.root);
  if (!args.set_mode.empty()) {
    if (auto done = host::set_roce_mode(files, args.device, args.port, args.set_mode); !done)
      return fail(context, done.error());
    note(context, "RDMA-CM uses RoCE " + args.set_mode + " by default from now on");
  }
  if (args.set_tos) {
    const auto tos = static_cast<uint8_t>(*args.set_tos);
    if (auto done = host::set_roce_tos(files, args.device, args.port, tos); !done)
      return fail(context, done.error());
    note(context,
         fmt::format("RDMA-CM uses TOS {} (DSCP {}) by default from now on", tos, tos >> 2));
  }
  return 0;
}

int doctor(const Args &args, const Globals &globals) {
  if (!args.set_mode.empty() || args.set_tos)
    return set_defaults(args);
  doctor::Question question = args.question;
  question.netns = globals.netns;
  if (!globals.words.empty()) {
    question.program = shell_word(globals.words.front());
    question.command = question.program;
    for (size_t i = 1; i < globals.words.size(); i++)
      question.command += " " + shell_word(globals.words[i]);
  }
  const std::string &ifname = question.ifname;
  auto checks = doctor::examine(question);
  if (!checks)
    return fail(ifname.empty() ? "doctor" : "doctor " + ifname, checks.error());
  if (question.fix)
    note("doctor " + ifname,
         fmt::format(
             "{} changed; the commands of the other rows are for you to run: some reset the "
             "port",
             counted(static_cast<uint64_t>(std::ranges::count(*checks, "fixed", &Check::name)),
                     "setting")));
  Output output(globals.json);
  output.print(report::doctor_report(ifname.empty() ? "this machine" : ifname, *checks));
  const bool failed = std::any_of(checks->begin(), checks->end(),
                                  [](const Check &c) { return c.verdict == CheckVerdict::Fail; });
  return output.finish(failed ? 1 : 0);
}

} // namespace
} // namespace doctor_command

void add_doctor(Command program, Run &chosen) {
  using namespace doctor_command;
  add_command<Args>(program, chosen, "doctor",
                    "What this kernel, driver and port can do, and what to change", describe,
                    check_words, doctor);
}

} // namespace xr::cli
