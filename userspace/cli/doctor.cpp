// SPDX-License-Identifier: Apache-2.0
#include "host/doctor.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "report/doctor.h"

namespace xr::cli {

namespace {

void describe(CLI::App &command, host::Question &question) {
  command
      .add_option("IF", question.ifname,
                  "An interface, attached or not (default: the kernel alone, and RDMA devices)")
      ->type_name("");
  command.add_option("--root", question.root, "A tree in the place of /proc, /sys and /boot")
      ->type_name("DIR")
      ->group("");
  command.footer("Exit status 1 when a check failed. Without privilege, what cannot be told says "
                 "so.");
}

int doctor(const host::Question &asked, const Globals &globals) {
  host::Question question = asked;
  question.netns = globals.netns;
  const std::string context = "doctor" + (asked.ifname.empty() ? "" : " " + asked.ifname);
  auto checks = host::examine(question);
  if (!checks)
    return fail(context, checks.error());
  Output output(globals.json);
  output.print(
      report::doctor_report(asked.ifname.empty() ? "this machine" : asked.ifname, *checks));
  const bool failed = std::any_of(checks->begin(), checks->end(),
                                  [](const Check &c) { return c.verdict == Verdict::Fail; });
  return output.finish(failed ? 1 : 0);
}

} // namespace

void add_doctor(CLI::App &app, Run &chosen) {
  add_command<host::Question>(app, chosen, "doctor",
                              "What this kernel, driver and port can do, and what to change",
                              describe, doctor);
}

} // namespace xr::cli
