// SPDX-License-Identifier: Apache-2.0
#include "cli/export_rows.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/traffic_options.h"
#include "datapath/attached_port.h"
#include "datapath/lock.h"
#include "datapath/status.h"
#include "host/privilege.h"
#include "names/names.h"
#include "report/reports.h"
#include "report/rows.h"

namespace xr::cli {

namespace {

constexpr auto kReaderChecks = std::chrono::milliseconds(200);

std::string host_name() {
  char host[256] = "";
  (void)gethostname(host, sizeof(host) - 1);
  return host;
}

class Rows {
public:
  Rows(const std::vector<std::string> &interfaces, const std::string &netns)
      : netns_(netns), host_(host_name()) {
    for (const std::string &ifname : interfaces)
      if (std::ranges::find(interfaces_, ifname) == interfaces_.end())
        interfaces_.push_back(ifname);
  }

  // One round. Returns whether all ports could be read.
  bool print();
  bool reader_gone() const { return output_.reader_gone(); }
  int finish(int status) const { return output_.finish(status); }

private:
  std::vector<std::string> ports() const;
  Status print_port(const std::string &ifname);
  // Once for each change.
  void tell(const std::string &ifname, const Status &status);

  std::vector<std::string> interfaces_; // empty: all that are attached
  std::string netns_, host_;
  Output output_{false};
  std::map<std::string, std::string> told_; // the last error of each port; "": none
};

std::vector<std::string> Rows::ports() const {
  if (!interfaces_.empty())
    return interfaces_;
  auto names = datapath::pinned_interfaces(netns_);
  return names ? std::move(names).get() : std::vector<std::string>();
}

Status Rows::print_port(const std::string &ifname) {
  // Held while the port is read, so that it is not detached meanwhile.
  const auto lock = XR_TRY(datapath::Lock::take(datapath::Lock::Kind::Shared));
  const auto port = XR_TRY(datapath::AttachedPort::open({ifname, netns_}));
  if (!port.status().track)
    return Error{"it counts no streams: it was attached with --no-track"};
  const Snapshot now = XR_TRY(port.snapshot());
  const report::Group same = {{{"time", ""}, names::utc_time(realtime_ns())},
                              {{"host", ""}, host_},
                              {{"port", ""}, ifname},
                              {{"netns", ""}, netns_}};
  report::write_rows(report::streams_report({now}), "streams", report::RowFormat::Ndjson, same,
                     [this](std::string_view text) { return output_.print_text(text); });
  return {};
}

void Rows::tell(const std::string &ifname, const Status &status) {
  std::string &before = told_[ifname];
  const std::string now = status ? "" : status.error().message;
  if (now == before)
    return;
  const std::string context = ifname.empty() ? "export" : "export " + ifname;
  if (!status)
    (void)fail(context, status.error());
  else
    note(context, ifname.empty() ? "a port is attached" : "can be read again");
  before = now;
}

bool Rows::print() {
  const std::vector<std::string> names = ports();
  bool all = !names.empty();
  tell("", names.empty() ? Status(Error{"no port is attached", "xdp-roce attach IF"}) : Status());
  for (const std::string &ifname : names) {
    if (reader_gone())
      return all;
    const Status done = print_port(ifname);
    all = all && done;
    tell(ifname, done);
  }
  return all;
}

} // namespace

void add_rows_options(Command command, RowsOptions &options) {
  Option rows = command.add_flag(
      "--rows", options.wanted,
      "Instead of metrics: all streams as NDJSON on standard output, every interval; does not "
      "listen");
  for (const char *other : {"--listen", "--top-streams", "--sort", "--web.config.file", "--tls",
                            "--token", "--insecure"})
    rows.excludes(other);
  add_duration(command, "--interval", options.interval_ns,
               "With --rows: time between two rounds (default: 10s)");
  command.option("--interval").needs("--rows");
}

int export_rows(const std::vector<std::string> &interfaces, const RowsOptions &options, bool once,
                const Globals &globals) {
  if (auto allowed = host::check_privilege(host::Privilege::Read); !allowed)
    return fail("export", allowed.error());
  using Clock = Interrupt::Clock;
  const Interrupt interrupt;
  Rows rows(interfaces, globals.netns);
  const std::chrono::nanoseconds interval(options.interval_ns);
  for (auto due = Clock::now();;) {
    const bool all = rows.print();
    if (once)
      return rows.finish(all ? 0 : 1);
    // No burst of rounds after a pause.
    due = std::max(due + std::chrono::duration_cast<Clock::duration>(interval), Clock::now());
    do {
      if (rows.reader_gone() || !interrupt.sleep_until(std::min(due, Clock::now() + kReaderChecks)))
        return rows.finish(0);
    } while (Clock::now() < due);
  }
}

} // namespace xr::cli
