// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>

#include "checks/setup.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/traffic_options.h"
#include "datapath/attached_port.h"
#include "report/checks.h"
#include "watch/baseline.h"

namespace xr::cli {

namespace check_command {
namespace {

struct Args {
  std::string ifname;
  uint64_t for_ns = 10'000'000'000;
  std::string dscp_map;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname);
  add_duration(command, "--for", args.for_ns, "How long to look (default: 10s)");
  add_dscp_map(command, args.dscp_map);
  command.set_footer("What passes in that time; a port attached with --follow has episodes as "
                     "well, with --latency round trips\n(since it was attached). What a port does "
                     "not know is unknown: analyze --check of a capture knows more.\nExit status "
                     "3 where a check fails.");
}

// What passed between the two. Streams without a packet in that time say nothing of it.
Snapshot passed_between(const Snapshot &now, const Snapshot &before) {
  Snapshot passed = watch::difference_since(now, before);
  std::erase_if(passed.streams,
                [](const roce_stream &stream) { return !roce_stream_packets(&stream); });
  passed.qp_numbers.clear(); // these two are by stream
  passed.mirrored.clear();
  return passed;
}

Result<std::vector<SetupCheck>> look(const datapath::AttachedPort &port, const Args &args) {
  const checks::DscpMap map = args.dscp_map.empty() ? checks::DscpMap::unknown()
                                                    : XR_TRY(checks::read_dscp_map(args.dscp_map));
  const Interrupt interrupt;
  const Snapshot before = XR_TRY(port.snapshot(true));
  datapath::AttachedPort::Found since = port.newest_found();
  interrupt.sleep_until(Interrupt::Clock::now() + std::chrono::nanoseconds(args.for_ns));
  const Snapshot passed = passed_between(XR_TRY(port.snapshot(true)), before);
  // A port that does not follow or time QP pairs refuses these: their checks are unknown.
  const Result<Episodes> episodes = port.episodes(since);
  const Result<PassiveLatency> latency = port.latency();
  return checks::check_setup({.snapshot = passed,
                              .episodes = episodes ? &episodes.get() : nullptr,
                              .latency = latency ? &latency.get() : nullptr,
                              .dscp_map = map});
}

int check(const Args &args, const Globals &globals) {
  const std::string context = "check " + args.ifname;
  auto port = datapath::AttachedPort::open({args.ifname, globals.netns});
  if (!port)
    return fail(context, port.error());
  const auto found = look(*port, args);
  if (!found)
    return fail(context, found.error());
  Output output(globals.json);
  output.print(report::checks_report(args.ifname, found.get()));
  const bool failed = std::ranges::find(found.get(), SetupCheck::Status::Fail,
                                        &SetupCheck::status) != found.get().end();
  return output.finish(failed ? kVerdictFailed : 0);
}

} // namespace
} // namespace check_command

void add_check(Command program, Run &chosen) {
  using namespace check_command;
  add_command<Args>(program, chosen, "check",
                    "The verdict on the set-up by what passes a port: ECN, classes, PFC, retries",
                    describe, check);
}

} // namespace xr::cli
