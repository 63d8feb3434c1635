// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/privilege.h"

namespace xr::cli {

namespace {

struct Args {
  std::vector<std::string> interfaces;
  report::StreamOptions streams{"gaps", 10};
  bool once = false;
};

void describe(CLI::App &command, Args &args) {
  command
      .add_option("IF", args.interfaces,
                  "Interfaces; those that are not attached have their metrics once they are")
      ->required()
      ->type_name("");
  command
      .add_option("--top-streams", args.streams.top,
                  "Metrics of their own for N streams of each port at most (default: 10)")
      ->type_name("N")
      ->check(whole_number(0, 10'000));
  add_sort(command, args.streams.sort,
           "Which streams those are: the largest by this column's JSON "
           "key, then by packets (default: gaps)");
  command.add_flag("--once", args.once,
                   "Print the metrics and end: for promtool and for node_exporter's text files");
}

void tell(const std::string &ifname, const Error *error) {
  if (error)
    warn("export " + ifname, error->message);
  else
    note("export " + ifname, "there again");
}

int export_metrics(const Args &args, const Globals &globals) {
  if (auto allowed = datapath::check_privilege(); !allowed)
    return fail("export", allowed.error());
  const metrics::Exporter exporter(
      {args.interfaces, args.streams, XR_VERSION},
      [&globals](const std::string &ifname) { return metrics::read_port(ifname, globals.netns); },
      tell);
  Output output(false);
  std::string text = metrics::exposition(exporter.Collect());
  text.pop_back(); // the last line ends with print_line
  output.print_line(text);
  return output.finish();
}

} // namespace

void add_export(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "export", "Metrics for Prometheus", describe, export_metrics);
}

} // namespace xr::cli
