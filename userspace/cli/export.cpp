// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <atomic>
#include <chrono>
#include <map>
#include <optional>

#include "checks/setup.h"
#include "cli/commands.h"
#include "cli/export_rows.h"
#include "cli/interrupt.h"
#include "cli/live_job.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/web_options.h"
#include "datapath/attached_port.h"
#include "datapath/lock.h"
#include "datapath/rates_file.h"
#include "datapath/rules.h"
#include "datapath/status.h"
#include "datapath/wire_ports.h"
#include "host/privilege.h"

namespace xr::cli {

namespace export_command {
namespace {

// The checks by what the port has counted, and found if it follows QP pairs.
void add_checks(const datapath::AttachedPort &port, metrics::PortReading &reading) {
  std::optional<Episodes> episodes;
  if (reading.status.features & ROCE_FEATURE_FOLLOW) {
    datapath::AttachedPort::Found all;
    auto found = port.episodes(all);
    if (found)
      episodes = std::move(*found);
    else
      reading.failures.push_back(found.error());
  }
  reading.checks = checks::check_setup(
      {*reading.snapshot, episodes ? &*episodes : nullptr, reading.latency.get()});
}

// How far the episodes of a port have been read.
struct EpisodesRead {
  uint64_t since_ns = 0; // the attachment
  datapath::AttachedPort::Found newest;
};

void add_ended(const datapath::AttachedPort &port, EpisodesRead &read,
               metrics::PortReading &reading) {
  if (read.since_ns != reading.status.since_ns)
    read = {reading.status.since_ns, {}};
  auto ended = port.ended_episodes(read.newest);
  if (ended)
    reading.ended = std::make_shared<const Episodes>(std::move(*ended));
  else
    reading.failures.push_back(ended.error());
}

// What is kept of a port between two readings.
struct PortMemory {
  EpisodesRead episodes;
  uint64_t since_ns = 0; // the attachment that `job` follows
  std::optional<LiveJobReader> job;
};

Result<metrics::PortReading> read_port(const PortName &name, PortMemory &memory) {
  metrics::PortReading reading;
  // Held until the end, so that a concurrent attach or detach causes no read errors.
  const auto lock = datapath::Lock::take(datapath::Lock::Kind::Shared);
  if (!lock) {
    reading.known = false;
    reading.failures.push_back(lock.error());
    return reading;
  }
  auto port = XR_TRY(datapath::AttachedPort::open(name));
  reading.status = port.status();
  auto snapshot = port.snapshot(reading.status.track);
  if (snapshot)
    reading.snapshot = std::move(*snapshot);
  else
    reading.failures.push_back(snapshot.error());
  if (reading.status.features & ROCE_FEATURE_HOLD) {
    auto wire = datapath::read_wire(name);
    if (wire) {
      reading.wire = std::move(wire->counts);
      reading.wire_running = wire->running;
    } else {
      reading.failures.push_back(wire.error());
    }
  }
  if (reading.status.features & ROCE_FEATURE_TIME) {
    auto latency = port.latency();
    if (latency)
      reading.latency = std::make_shared<const PassiveLatency>(std::move(*latency));
    else
      reading.failures.push_back(latency.error());
  }
  if (reading.status.features & ROCE_FEATURE_FOLLOW)
    add_ended(port, memory.episodes, reading);
  if (reading.status.features & ROCE_FEATURE_JOB) {
    if (!memory.job || memory.since_ns != reading.status.since_ns)
      memory.job.emplace(reading.status);
    memory.since_ns = reading.status.since_ns;
    auto job = memory.job->read(port);
    if (job)
      reading.job = std::move(*job);
    else
      reading.failures.push_back(job.error());
  }
  if (reading.snapshot)
    add_checks(port, reading);
  reading.rates = datapath::read_rates(reading.status.netns_inode, reading.status.ifindex);
  // Rules can only be read through their pins.
  if (reading.status.state != AttachState::Attached ||
      !(reading.status.features & ROCE_FEATURE_RULES))
    return reading;
  auto list = datapath::list_rules(name);
  if (list)
    reading.rules = std::move(list->rules);
  else
    reading.failures.push_back(list.error());
  return reading;
}

// Limit for the lock: a scrape times out after ten seconds by default.
constexpr auto kLockPatience = std::chrono::seconds(2);

struct Args {
  std::vector<std::string> interfaces;
  report::StreamOptions streams{"gaps", 10};
  WebOptions web{"127.0.0.1:9479"};
  bool once = false;
  RowsOptions rows;
};

void describe(Command command, Args &args) {
  command
      .add_option("IF", args.interfaces,
                  "Interfaces; one that is not attached gets its metrics when it is attached "
                  "(default: all attached ones)")
      .value_name("");
  command
      .add_option("--top-streams", args.streams.top,
                  "Per-stream metrics for at most N streams of each port (default: 10)")
      .value_name("N")
      .check(whole_number(0, 10'000));
  add_sort(command, args.streams.sort,
           "Which streams: the largest by this column's JSON "
           "key, then by packets (default: gaps)");
  add_web_options(command, args.web);
  command.add_flag("--once", args.once,
                   "Print the metrics, or one round of rows, and end: for promtool and for "
                   "node_exporter's text files");
  add_rows_options(command, args.rows);
  command.set_footer(
      "Each scrape reads the ports. A port that is detached or deleted has "
      "xdp_roce_port_attached 0 until it is\nattached again. The streams with per-stream "
      "metrics change: a stream that is no longer among the largest\nhas none. Sums over "
      "all streams (xdp_roce_gaps_total) include every stream, also those removed from "
      "the\ntable since the exporter began.");
}

void tell(const std::string &ifname, const Error *error) {
  const std::string context = ifname.empty() ? "export" : "export " + ifname;
  if (error)
    warn(context, error->message);
  else
    note(context, "attached again");
}

int print_once(const metrics::Exporter &exporter) {
  std::string text = metrics::exposition(exporter.collect());
  if (text.empty())
    return 1;      // tell() has printed why
  text.pop_back(); // print_line ends the last line
  Output output(false);
  output.print_line(text);
  return output.finish();
}

constexpr size_t kThreads = 32; // for scrapers, browsers, and some that hang

http::Answer plain(int status, const std::string &text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

http::Answer answer(const metrics::Exporter &exporter, const http::Request &request) {
  if (request.path == "/")
    return {200, "text/html; charset=utf-8",
            "<!DOCTYPE html><title>xdp-roce</title><h1>xdp-roce</h1>"
            "<a href=\"/metrics\">metrics</a>"
            "<p>A page with live plots: <code>xdp-roce watch IF --web</code></p>\n"};
  if (request.path != "/metrics")
    return plain(404, "there is /metrics only");
  const std::string text = metrics::exposition(exporter.collect());
  if (text.empty())
    return plain(500, "the metrics cannot be read; the exporter's messages say why");
  return {200, "text/plain; version=0.0.4; charset=utf-8", text};
}

Status collect(Args &args) { return check_web_options(args.web); }

int export_metrics(const Args &args, const Globals &globals) {
  if (args.rows.wanted)
    return export_rows(args.interfaces, args.rows, args.once, globals);
  if (globals.json)
    return refuse("export", {"metrics are text for Prometheus, not JSON",
                             "xdp-roce --json counters IF, or export without --json"});
  datapath::Lock::patience() = kLockPatience;
  http::ServerOptions http;
  http.listen = args.web.listen;
  http.methods = {"GET"};
  http.most_body = 0;
  http.threads = kThreads;
  if (!args.once) {
    auto access = read_access(args.web);
    if (!access)
      return fail("export", access.error());
    http.access = *access;
  }
  if (auto allowed = host::check_privilege(host::Privilege::Read); !allowed)
    return fail("export", allowed.error());
  std::atomic<const http::Server *> listening = nullptr;
  metrics::Exporter::Settings settings{args.interfaces, args.streams, XR_VERSION, !args.once, {}};
  if (!args.once)
    settings.refused = [&listening] {
      const http::Server *server = listening;
      return server ? server->refused() : std::map<std::string, uint64_t>();
    };
  const metrics::Exporter exporter(
      std::move(settings),
      [&globals, memory = std::map<std::string, PortMemory>()](const std::string &ifname) mutable {
        return read_port({ifname, globals.netns}, memory[ifname]);
      },
      tell,
      [&globals] {
        const auto names = datapath::pinned_interfaces(globals.netns);
        return names ? names.get() : std::vector<std::string>();
      });
  if (args.once)
    return print_once(exporter);
  const Interrupt interrupt(Interrupt::For::Server);
  (void)exporter.collect(); // reports now which ports are not attached
  auto server = http::Server::start(
      http, [&exporter](const http::Request &request) { return answer(exporter, request); }, plain);
  if (!server)
    return fail("export", server.error());
  listening = &*server;
  return run_server("export", args.web, interrupt, *server, "/metrics");
}

} // namespace
} // namespace export_command

void add_export(Command program, Run &chosen) {
  using namespace export_command;
  add_command<Args>(program, chosen, "export", "Metrics for Prometheus", describe, collect,
                    export_metrics);
}

} // namespace xr::cli
