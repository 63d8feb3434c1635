// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <chrono>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/lock.h"
#include "datapath/status.h"
#include "host/privilege.h"
#include "metrics/server.h"

namespace xr::cli {

namespace {

// A scrape has ten seconds as a rule.
constexpr auto kPatience = std::chrono::seconds(2);

struct Args {
  std::vector<std::string> interfaces;
  report::StreamOptions streams{"gaps", 10};
  std::string listen = "127.0.0.1:9479";
  bool once = false;
};

CLI::Validator address_and_port() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        const auto listen = metrics::parse_listen(text);
        return listen ? "" : listen.error().message + "; it is " + listen.error().hint;
      },
      "");
}

void describe(CLI::App &command, Args &args) {
  command
      .add_option("IF", args.interfaces,
                  "Interfaces; those that are not attached have their metrics once they are "
                  "(default: all that are attached)")
      ->type_name("");
  command
      .add_option("--top-streams", args.streams.top,
                  "Metrics of their own for N streams of each port at most (default: 10)")
      ->type_name("N")
      ->check(whole_number(0, 10'000));
  add_sort(command, args.streams.sort,
           "Which streams those are: the largest by this column's JSON "
           "key, then by packets (default: gaps)");
  command
      .add_option("--listen", args.listen,
                  "Where to answer GET /metrics (default: 127.0.0.1:9479); there is no password")
      ->type_name("ADDR:PORT")
      ->check(address_and_port());
  command.add_flag("--once", args.once,
                   "Print the metrics and end: for promtool and for node_exporter's text files");
  command.footer("Ports are read when they are asked for. One that is detached, or gone, has "
                 "xdp_roce_port_attached 0 until it is there\nagain. Streams with metrics of their "
                 "own change: "
                 "one that others overtake has none any more. Sums over all "
                 "streams\n(xdp_roce_gaps_total) have "
                 "every stream, also those that were forgotten since the exporter began.");
}

void tell(const std::string &ifname, const Error *error) {
  const std::string context = ifname.empty() ? "export" : "export " + ifname;
  if (error)
    warn(context, error->message);
  else
    note(context, "there again");
}

int print_once(const metrics::Exporter &exporter) {
  std::string text = metrics::exposition(exporter.Collect());
  if (text.empty())
    return 1;      // and told
  text.pop_back(); // print_line ends the last line
  Output output(false);
  output.print_line(text);
  return output.finish();
}

int serve(const std::string &listen, const std::shared_ptr<metrics::Exporter> &exporter) {
  const Interrupt interrupt;
  (void)exporter->Collect(); // tells now what is not attached
  auto where = metrics::parse_listen(listen);
  if (!where)
    return fail("export", where.error());
  auto server = metrics::Server::start(*where, exporter);
  if (!server)
    return fail("export", server.error());
  note("export", "http://" + server->listen().text() + "/metrics");
  // In slices: a signal may come to a thread that serves.
  while (interrupt.sleep_until(Interrupt::Clock::now() + std::chrono::milliseconds(200)))
    ;
  return 0;
}

int export_metrics(const Args &args, const Globals &globals) {
  if (globals.json)
    return refuse("export", {"metrics are text for Prometheus, not JSON",
                             "xdp-roce --json counters IF, or export without --json"});
  datapath::Lock::patience() = kPatience;
  if (auto allowed = host::check_privilege(host::Privilege::Read); !allowed)
    return fail("export", allowed.error());
  const auto exporter = std::make_shared<metrics::Exporter>(
      metrics::Exporter::Settings{args.interfaces, args.streams, XR_VERSION, !args.once},
      [&globals](const std::string &ifname) { return metrics::read_port(ifname, globals.netns); },
      tell,
      [&globals] {
        const auto names = datapath::pinned_interfaces(globals.netns);
        return names ? names.get() : std::vector<std::string>();
      });
  return args.once ? print_once(*exporter) : serve(args.listen, exporter);
}

} // namespace

void add_export(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "export", "Metrics for Prometheus", describe, export_metrics);
}

} // namespace xr::cli
