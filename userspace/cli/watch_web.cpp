// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_web.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/live_job.h"
#include "cli/output.h"
#include "datapath/attached_port.h"
#include "datapath/wire_ports.h"
#include "http/event_feed.h"
#include "live/event.h"
#include "live/page.h"

namespace xr::cli {

namespace watch_web_command {
namespace {

using Clock = Interrupt::Clock;

constexpr auto kPace = std::chrono::seconds(1);
constexpr size_t kRows = 50;    // streams of an event
constexpr size_t kThreads = 32; // for pages, those that listen, and some that hang

// A port that is attached, and what was read of its job.
struct OpenPort {
  explicit OpenPort(datapath::AttachedPort attached)
      : port(std::move(attached)), job(port.status()) {}

  datapath::AttachedPort port;
  LiveJobReader job;
};

Result<live::Reading> read(OpenPort &open, const PortName &name) {
  const datapath::AttachedPort &port = open.port;
  if (!XR_TRY(port.alive()))
    return Error{"it was detached, or the interface is gone"};
  live::Reading reading;
  reading.snapshot = XR_TRY(port.snapshot());
  reading.realtime_ns = realtime_ns() - monotonic_ns() + reading.snapshot.time_ns;
  const uint32_t features = port.status().features;
  if (features & ROCE_FEATURE_FORWARD)
    if (auto wire = datapath::read_wire(name)) {
      reading.wire = std::move(wire->counts);
      reading.wire_running = wire->running;
    }
  if (features & ROCE_FEATURE_TIME)
    reading.latency = std::make_shared<const PassiveLatency>(XR_TRY(port.latency()));
  reading.job = XR_TRY(open.job.read(port));
  return reading;
}

// The ports, read once a second while a page is open.
class LivePorts {
public:
  LivePorts(const std::vector<std::string> &ifnames, std::string sort, std::string netns)
      : options_{std::move(sort), kRows}, netns_(std::move(netns)), open_(ifnames.size()) {
    for (const std::string &ifname : ifnames)
      ports_.push_back({ifname});
  }

  // The first that is not attached is an error.
  Status open() {
    for (size_t i = 0; i < ports_.size(); i++)
      open_[i].emplace(XR_TRY(datapath::AttachedPort::open({ports_[i].name, netns_})));
    return {};
  }

  void refresh(http::EventFeed &feed) {
    const auto now = Clock::now();
    if (now < due_ || feed.listeners() == 0)
      return;
    const bool rested = now > due_ + 2 * kPace; // no page was open: there are no rates yet
    due_ = rested ? now + kPace : due_ + kPace;
    for (size_t i = 0; i < ports_.size(); i++)
      refresh(i, rested);
    feed.publish(live::event(ports_, options_));
  }

private:
  void refresh(size_t i, bool rested) {
    live::Port &port = ports_[i];
    auto got = read(i);
    if (rested)
      port.now.reset();
    port.lost = got ? "" : got.error().message;
    if (!got) {
      open_[i].reset();
      return;
    }
    port.before = std::exchange(port.now, std::move(*got));
  }

  // Opens the port again after it was lost.
  Result<live::Reading> read(size_t i) {
    const PortName name{ports_[i].name, netns_};
    if (!open_[i]) {
      open_[i].emplace(XR_TRY(datapath::AttachedPort::open(name)));
      ports_[i].now.reset(); // another attachment counts from 0
    }
    return watch_web_command::read(*open_[i], name);
  }

  report::StreamOptions options_;
  std::string netns_;
  std::vector<live::Port> ports_;
  std::vector<std::optional<OpenPort>> open_;
  Clock::time_point due_;
};

http::Answer plain_text(int status, const std::string &text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

} // namespace
} // namespace watch_web_command

void add_live_page(Command command, LivePage &page) {
  command.add_flag("--web", page.wanted, "Serve a page that a browser keeps up to date, instead")
      .excludes("--once")
      .excludes("--filter")
      .excludes("--interval");
  add_web_options(command, page.web);
  for (const char *name : {"--listen", "--web.config.file", "--tls", "--token", "--insecure"})
    command.option(name).needs("--web");
}

int serve_live_page(const LivePage &page, const std::vector<std::string> &ifnames,
                    const std::string &sort, const Globals &globals) {
  using namespace watch_web_command;
  const std::string context = "watch --web";
  http::ServerOptions http;
  http.listen = page.web.listen;
  http.methods = {"GET"};
  http.most_body = 0;
  http.threads = kThreads;
  auto access = read_access(page.web);
  if (!access)
    return fail(context, access.error());
  http.access = *access;
  LivePorts ports(ifnames, sort, globals.netns);
  if (auto done = ports.open(); !done)
    return fail(fmt::format("watch {}", fmt::join(ifnames, " ")), done.error());
  const Interrupt interrupt(Interrupt::For::Server);
  http::EventFeed feed;
  const std::string text = live::page();
  auto server = http::Server::start(
      http,
      [&feed, &text](const http::Request &request) -> http::Answer {
        if (request.path == "/")
          return {200, "text/html; charset=utf-8", text};
        if (request.path == "/events")
          return feed.listen();
        return plain_text(404, "there are / and /events only");
      },
      plain_text);
  if (!server)
    return fail(context, server.error());
  return run_server(context, page.web, interrupt, *server, "/", [&] { ports.refresh(feed); });
}

} // namespace xr::cli
