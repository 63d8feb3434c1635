// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/live_job.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "datapath/attached_port.h"
#include "report/found_event.h"
#include "report/live_job.h"
#include "roce/found.h"

namespace xr::cli {

namespace events_command {
namespace {

constexpr int kPollMs = 200;

struct Args {
  std::string ifname;
  uint64_t count = 0;
  bool backlog = false;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname);
  add_count(command, args.count, "End after N events (default: when interrupted)");
  command.add_flag("--backlog", args.backlog,
                   "Begin with the events since the last reader, as far as the ring has them");
  command.set_footer(
      "gap, rewind, NAK, RNR NAK, CNP, CE run, new stream: one line each, at most 20 per "
      "second and stream.\nOn a port that was attached with --follow, also each episode when it "
      "has ended, and each finding; with --job, each step of a training job that is late, and "
      "who was.\nA port has one reader at a time.");
}

// The time of day (ns) of an event, which the kernel stamps with CLOCK_MONOTONIC.
uint64_t time_of(const roce_event &event) { return realtime_ns() - monotonic_ns() + event.time_ns; }

// Reports the events that were dropped or rate-limited since the last report.
class Losses {
public:
  explicit Losses(const datapath::AttachedPort &port) : port_(port) { read(); }

  // `found`: episodes and findings; `bursts`: of a job.
  void tell(const std::string &ifname, uint64_t found, uint64_t bursts) {
    const uint64_t dropped = dropped_, limited = limited_;
    read();
    if (dropped_ > dropped)
      warn("events " + ifname, counted(dropped_ - dropped, "event") +
                                   " lost: events arrived faster than they were read");
    if (found)
      warn("events " + ifname,
           fmt::format("{} lost: more than {} since they were read",
                       counted(found, "episode or finding", "episodes or findings"),
                       ROCE_FOUND_KEPT));
    if (bursts)
      warn("events " + ifname,
           counted(bursts, "burst") + " of the job were overwritten before they were read");
    if (limited_ > limited)
      note(ifname, fmt::format("{} suppressed: more than {} per second of one stream",
                               counted(limited_ - limited, "event"), ROCE_EVENTS_PER_WINDOW));
  }

private:
  void read() {
    if (auto now = port_.snapshot(false)) {
      dropped_ = now->totals.events_dropped;
      limited_ = now->totals.events_limited;
    }
  }

  const datapath::AttachedPort &port_;
  uint64_t dropped_ = 0, limited_ = 0;
};

// What following found on the port, which keeps the newest: read again and again.
class FoundEvents {
public:
  FoundEvents(const datapath::AttachedPort &port, bool backlog)
      : port_(port), follows_(port.status().features & ROCE_FEATURE_FOLLOW) {
    if (follows_ && !backlog)
      since_ = port_.newest_found();
  }

  // Gives the new ones to `print` in order of time, if a while has passed since the last call.
  Status read(bool at_once, const std::function<void(const report::Document &)> &print) {
    const uint64_t now = monotonic_ns();
    if (!follows_ || (!at_once && now - read_ns_ < uint64_t{kPollMs} * 1'000'000))
      return {};
    read_ns_ = now;
    auto found = XR_TRY(port_.ended_episodes(since_));
    lost_ += found.episodes_dropped + found.findings_dropped;
    const uint64_t offset = realtime_ns() - monotonic_ns();
    std::vector<std::pair<uint64_t, report::Document>> events;
    for (const EpisodeRow &row : found.episodes)
      events.emplace_back(episode_end(row.episode), report::episode_event(row, offset));
    for (const FindingRow &row : found.findings)
      events.emplace_back(row.finding.time_ns, report::finding_event(row, offset));
    std::ranges::stable_sort(events, {}, &std::pair<uint64_t, report::Document>::first);
    for (const auto &[ns, event] : events)
      print(event);
    return {};
  }

  // Since the last call.
  uint64_t lost() { return std::exchange(lost_, 0); }

private:
  const datapath::AttachedPort &port_;
  bool follows_;
  datapath::AttachedPort::Found since_;
  uint64_t read_ns_ = 0, lost_ = 0;
};

// Late steps of a training job, once each.
class LateSteps {
public:
  explicit LateSteps(const datapath::AttachedPort &port) : port_(port), reader_(port.status()) {}

  Status read(bool at_once, const std::function<void(const report::Document &)> &print) {
    const uint64_t now = monotonic_ns();
    if (!reader_.on() || (!at_once && now - read_ns_ < uint64_t{kPollMs} * 1'000'000))
      return {};
    read_ns_ = now;
    const auto live = XR_TRY(reader_.read(port_));
    std::vector<uint64_t> times = report::live_step_times(*live);
    if (!live->job.is_job() || !live->settled)
      return {};
    std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
    const uint64_t median = times[times.size() / 2], offset = realtime_ns() - monotonic_ns();
    for (size_t i = 0; i < times.size(); i++) {
      const JobStep &step = live->job.steps[i];
      if (step.first_ns <= newest_ns_)
        continue;
      newest_ns_ = step.first_ns;
      if (report::is_late(step, median))
        print(report::late_step_event(*live, i, median, offset));
    }
    lost_ += live->missed - std::min(live->missed, missed_);
    missed_ = live->missed;
    return {};
  }

  // Bursts that were overwritten since the last call.
  uint64_t lost() { return std::exchange(lost_, 0); }

private:
  const datapath::AttachedPort &port_;
  LiveJobReader reader_;
  uint64_t read_ns_ = 0, newest_ns_ = 0, lost_ = 0, missed_ = 0;
};

int follow(const Args &args, const datapath::AttachedPort &port, Output &output) {
  uint64_t printed = 0;
  bool more = true;
  const auto enough = [&] { return args.count && printed >= args.count; };
  const auto print = [&](const report::Document &event) {
    if (!more || enough())
      return;
    printed++;
    more = output.print(event, report::JsonStyle::Line);
  };
  FoundEvents found_events(port, args.backlog);
  LateSteps late_steps(port);
  auto events = port.events(
      [&](const roce_event &event) { print(report::event_report(event, time_of(event))); });
  const std::string context = "events " + args.ifname;
  if (!events)
    return fail(context, events.error());
  if (!args.backlog)
    events->skip();
  Losses losses(port);
  const Interrupt interrupt;
  while (more && !enough()) {
    const bool last = interrupt.asked();
    auto got = events->poll(last ? 0 : kPollMs);
    if (!got)
      return fail(context, got.error());
    if (auto done = found_events.read(last, print); !done)
      return fail(context, done.error());
    if (auto done = late_steps.read(last, print); !done)
      return fail(context, done.error());
    if (last || output.reader_gone())
      break;
    if (*got > 0)
      continue;
    // No events at the moment.
    losses.tell(args.ifname, found_events.lost(), late_steps.lost());
    if (auto alive = port.alive(); alive.ok() && !*alive)
      return fail(context, {"it was detached, or the interface is gone"});
  }
  if (more && !output.reader_gone())
    losses.tell(args.ifname, found_events.lost(), late_steps.lost());
  return output.finish();
}

int events(const Args &args, const Globals &globals) {
  auto port = datapath::AttachedPort::open({args.ifname, globals.netns});
  if (!port)
    return fail("events " + args.ifname, port.error());
  if (!port->status().track)
    return fail("events " + args.ifname, {"attached with --no-track, so there are no events"});
  Output output(globals.json);
  return follow(args, *port, output);
}

} // namespace
} // namespace events_command

void add_events(Command program, Run &chosen) {
  using namespace events_command;
  add_command<Args>(program, chosen, "events",
                    "Gaps, rewinds, NAKs, CNPs as they happen, a line each", describe, events);
}

} // namespace xr::cli
