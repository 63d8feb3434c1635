// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "datapath/attach.h"
#include "report/attachments.h"

namespace xr::cli {

namespace detach_command {
namespace {

struct Args {
  std::vector<std::string> interfaces;
  bool all = false;
};

void describe(Command command, Args &args) {
  Option some =
      command.add_option("IF", args.interfaces, "Interfaces to detach from").value_name("");
  command.add_flag("--all", args.all, "Every interface of every network namespace").excludes(some);
  command.set_footer(
      "Takes the program off and removes its pins and maps; the counts are lost. Also "
      "cleans up\nafter a deleted interface or a killed attach.");
}

Status check_words(const Args &args) {
  if (args.interfaces.empty() && !args.all)
    return Error{"IF or --all is required", "xdp-roce detach --help"};
  return {};
}

int detach(const Args &args, const Globals &globals) {
  int status = 0;
  std::vector<DetachReport> reports;
  if (args.all) {
    auto done = datapath::detach_all(globals.netns);
    if (!done)
      return fail("detach", done.error());
    reports = std::move(*done);
  }
  for (const std::string &ifname : args.interfaces) {
    if (std::any_of(reports.begin(), reports.end(), [&](const DetachReport &detach_report) {
          return detach_report.other == ifname;
        }))
      continue;
    auto done = datapath::detach({ifname, globals.netns});
    if (done)
      reports.push_back(std::move(*done));
    else
      status = fail("detach " + ifname, done.error());
  }
  for (const DetachReport &item : reports)
    for (const std::string &text : item.notes)
      note(item.ifname, text);
  Output output(globals.json);
  if (!reports.empty() || args.all || globals.json)
    output.print(report::detached_report(reports));
  return output.finish(status);
}

} // namespace
} // namespace detach_command

void add_detach(Command program, Run &chosen) {
  using namespace detach_command;
  add_command<Args>(program, chosen, "detach", "Take the program off interfaces", describe,
                    check_words, detach);
}

} // namespace xr::cli
