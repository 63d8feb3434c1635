// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/live_job.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/watch_web.h"
#include "datapath/attached_port.h"
#include "datapath/rates_file.h"
#include "datapath/rules.h"
#include "datapath/wire_ports.h"
#include "terminal/terminal.h"
#include "watch/model.h"

namespace xr::cli {

namespace watch_command {
namespace {

constexpr auto kNap = std::chrono::milliseconds(100); // longest delay for keys, events, a new size

struct Args {
  std::vector<std::string> ifnames;
  double interval = 0.5;
  bool once = false;
  std::string sort = report::kTrouble;
  std::string filter;
  LivePage page;
};

void describe(Command command, Args &args) {
  command.add_option("IF", args.ifnames, "Interfaces that are attached").required().value_name("");
  add_interval(command, args.interval, "Read every S seconds (default: 0.5)");
  command.add_flag("--once", args.once,
                   "Print the screen once as text, with the rates of one interval; its size is "
                   "COLUMNS (80) by LINES (24)");
  add_sort(command, args.sort,
           "Streams by this key, largest first (default: trouble: losses, then rewinds, then CE)",
           watch::sort_keys());
  command.add_option("--filter", args.filter, "Only streams that have all these words")
      .value_name("WORDS");
  add_live_page(command, args.page);
  command.set_footer(
      "Keys: ? lists them, q quits. While watch runs, it is the port's only reader of "
      "events.\nThe terminal is restored at the end, except after kill -9: then use "
      "reset(1).\n--web: a page at http://127.0.0.1:9480/ instead, which reads no events. The "
      "ports "
      "are read once a second while a\nbrowser shows it; it has 50 streams, those with most of "
      "--sort.");
}

std::string context(const Args &args) {
  return "watch " + fmt::format("{}", fmt::join(args.ifnames, " "));
}

// A port with the events since its last read().
class Watched {
public:
  Watched(datapath::AttachedPort port, std::string netns)
      : port_(std::move(port)), status_(port_->status()), netns_(std::move(netns)), job_(status_) {}
  Watched(const Watched &) = delete; // the event callback refers to this object
  Watched &operator=(const Watched &) = delete;

  // Starts to read events; returns why there are none, or "".
  std::string listen() {
    if (!status_.track)
      return "attached with --no-track";
    auto events = port_->events([this](const roce_event &event) { new_events_.push_back(event); });
    if (!events)
      return events.error().message;
    events_.emplace(std::move(*events));
    return "";
  }

  const PortStatus &status() const { return status_; }

  // Closes the port.
  void leave() {
    events_.reset();
    port_.reset();
  }
  bool gone() const { return !port_; }

  Status poll() {
    if (!events_)
      return {};
    auto got = events_->poll(0);
    return got ? Status() : Status(got.error());
  }

  Result<watch::Reading> read() {
    watch::Reading reading;
    auto alive = XR_TRY(port_->alive());
    if (!alive)
      return Error{"it was detached, or the interface is gone"};
    reading.snapshot = XR_TRY(port_->snapshot());
    reading.realtime_ns = realtime_ns() - monotonic_ns() + reading.snapshot.time_ns;
    // If another process is changing the rules, show the previous ones.
    if (auto rules = datapath::list_rules_now({status().ifname, netns_}))
      rules_ = std::move(rules->rules);
    reading.rules = rules_;
    if (status().features & ROCE_FEATURE_FORWARD)
      if (auto wire = datapath::read_wire({status().ifname, netns_})) {
        reading.wire = std::move(wire->counts);
        reading.wire_running = wire->running;
      }
    reading.rates = datapath::read_rates(status().netns_inode, status().ifindex);
    reading.job = XR_TRY(job_.read(*port_));
    XR_TRY(poll());
    reading.events.swap(new_events_);
    return reading;
  }

private:
  std::optional<datapath::AttachedPort> port_;
  PortStatus status_;
  std::string netns_;
  LiveJobReader job_;
  std::optional<datapath::Events> events_;
  std::vector<roce_event> new_events_;
  std::vector<RuleRow> rules_;
};

using Ports = std::deque<Watched>;

std::string about(const PortStatus &port) {
  std::string text = mode_name(port.mode);
  if (port.peer_ifindex)
    text += ", bridge to " + (port.peer.empty() ? "a port that is gone" : port.peer);
  return text;
}

int fail_port(const Watched &port, const Error &error) {
  return fail("watch " + port.status().ifname, error);
}

int open_ports(const Args &args, const Globals &globals, Ports &ports, watch::Model &model) {
  for (const std::string &ifname : args.ifnames) {
    auto port = datapath::AttachedPort::open({ifname, globals.netns});
    if (!port)
      return fail("watch " + ifname, port.error());
    ports.emplace_back(std::move(*port), globals.netns);
    // --once shows no events: leave them for the next reader.
    model.add_port(ifname, about(ports.back().status()), args.once ? "" : ports.back().listen());
  }
  model.sort_by(args.sort);
  model.set_filter(args.filter);
  return 0;
}

// Reads a port and updates the model.
Status read_port(Ports &ports, watch::Model &model, size_t at) {
  auto reading = XR_TRY(ports[at].read());
  model.update(at, std::move(reading));
  return {};
}

// If reading a port failed, closes it; returns the error only if it was the last open port.
Status go_on(Ports &ports, watch::Model &model, size_t at, const Status &done) {
  if (done)
    return done;
  ports[at].leave();
  model.mark_gone(at, done.error().message);
  return std::all_of(ports.begin(), ports.end(), [](const Watched &port) { return port.gone(); })
             ? done
             : Status();
}

Interrupt::Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Interrupt::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

int print_once(const Args &args, Ports &ports, watch::Model &model) {
  const Interrupt interrupt;
  for (const bool first : {true, false}) {
    for (size_t at = 0; at < ports.size(); at++)
      if (auto done = read_port(ports, model, at); !done)
        return fail_port(ports[at], done.error());
    if (first)
      interrupt.sleep_until(Interrupt::Clock::now() + duration_of(args.interval));
  }
  Output output(false);
  const watch::Size size{number_in("COLUMNS", 80), number_in("LINES", 24)};
  for (size_t i = 0; i < ports.size(); i++) {
    model.show_port(i);
    std::string text = to_text(model.screen(size));
    text.pop_back(); // its last newline
    if (!output.print_line((i ? "\n" : "") + text))
      break;
  }
  return output.finish();
}

// Runs the screen until a key or a signal ends it or the last port is gone. Restores the terminal
// before it returns.
Status follow(const Args &args, Ports &ports, watch::Model &model, size_t &at,
              const Interrupt &interrupt) {
  auto terminal = XR_TRY(terminal::Terminal::open(colour_wanted()));
  const auto interval = duration_of(args.interval);
  auto due = Interrupt::Clock::now();
  watch::Size drawn{0, 0};
  bool changed = true;
  while (!model.quit() && !terminal.gone()) {
    if (const auto now = Interrupt::Clock::now(); now >= due) {
      for (at = 0; at < ports.size(); at++)
        if (!ports[at].gone())
          if (auto done = go_on(ports, model, at, read_port(ports, model, at)); !done)
            return done;
      due = std::max(due + interval, now); // no burst of readings after a pause
      changed = true;
    }
    if (changed || terminal.size() != drawn)
      terminal.draw(model.screen(drawn = terminal.size()));
    changed = false;
    const auto nap = std::min(due, Interrupt::Clock::now() + kNap);
    if (!interrupt.sleep_until(nap, STDIN_FILENO))
      break;
    for (auto press = terminal.key(); press; press = terminal.key(), changed = true)
      model.press(*press);
    for (at = 0; at < ports.size(); at++)
      if (auto done = go_on(ports, model, at, ports[at].poll()); !done)
        return done;
  }
  return {};
}

Status collect(Args &args) { return check_web_options(args.page.web); }

int watch(const Args &args, const Globals &globals) {
  if (globals.json)
    return refuse(context(args), {"watch has no JSON output",
                                  fmt::format("xdp-roce --json counters {} --interval {}",
                                              args.ifnames.front(), args.interval)});
  if (args.page.wanted)
    return serve_live_page(args.page, args.ifnames, args.sort, globals);
  watch::Options options;
  options.unicode = terminal::utf8_locale();
  options.interactive = !args.once;
  options.interval = args.interval;
  watch::Model model(options);
  Ports ports;
  if (!args.once)
    if (auto usable = terminal::Terminal::check(); !usable)
      return fail(context(args), usable.error());
  if (int status = open_ports(args, globals, ports, model))
    return status;
  if (args.once)
    return print_once(args, ports, model);
  const Interrupt interrupt(Interrupt::For::Screen);
  size_t at = 0;
  const Status status = follow(args, ports, model, at, interrupt);
  if (status)
    return 0;
  return at < ports.size() ? fail_port(ports[at], status.error())
                           : fail(context(args), status.error());
}

} // namespace
} // namespace watch_command

void add_watch(Command program, Run &chosen) {
  using namespace watch_command;
  add_command<Args>(program, chosen, "watch",
                    "Rates, streams, rules and events, live on one screen", describe, collect,
                    watch);
}

} // namespace xr::cli
