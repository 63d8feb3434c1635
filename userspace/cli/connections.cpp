// SPDX-License-Identifier: Apache-2.0
#include "report/connections.h"

#include <fmt/format.h>

#include "analysis/connections.h"
#include "base/counted.h"
#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/directory.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/traffic_options.h"
#include "port_capture/several.h"

namespace xr::cli {

namespace connections_command {
namespace {

constexpr size_t kMostPorts = 8;
constexpr uint64_t kNoEnd = UINT64_MAX / 4; // ns

struct Args {
  std::vector<std::string> ports;
  uint64_t for_ns = 0;
  datapath::AttachOptions attach;
};

void describe(Command command, Args &args) {
  command
      .add_option("IF", args.ports,
                  "The port, or several, like both of a bridge; attached for the duration if it is "
                  "not")
      .required()
      .value_name("");
  add_duration(command, "--for", args.for_ns, "Watch for DURATION (default: until interrupted)");
  add_attach_options(command, args.attach);
  command.set_footer(
      "Watches the RDMA CM messages (QP 1) that enter the ports, then shows the connections: "
      "addresses, QPNs, service,\nPMTU, retry counts, state, messages that were sent again. A port "
      "sees one direction; what only the other\nhas is -. Captures: analyze FILE --connections.");
}

Status read(const Args &args) {
  if (args.ports.size() > kMostPorts)
    return Error{
        fmt::format("{} ports, and there may be {} at most", args.ports.size(), kMostPorts),
        "name fewer ports"};
  return {};
}

int connections(const Args &args, const Globals &globals) {
  const std::string context = "connections";
  const Interrupt interrupt; // before the capture: an interrupt must still detach the ports
  auto directory = Directory::make("");
  if (!directory)
    return fail(context, directory.error());
  std::vector<port_capture::CaptureRequest> requests;
  std::vector<std::string> paths;
  for (const std::string &port : args.ports) {
    port_capture::CaptureRequest request;
    request.ifname = port;
    request.netns = globals.netns;
    request.attach = args.attach;
    request.filter.kinds = ROCE_CAPTURE_ROCE;
    request.filter.snap = ROCE_CAPTURE_SNAP;
    request.filter.dest_qp = {ROCE_QPN_GSI, ROCE_QPN_GSI};
    request.filter.stream = 1;
    request.duration_ns = args.for_ns ? args.for_ns : kNoEnd;
    request.files.path = fmt::format("{}/{}.pcapng", directory->path(), paths.size());
    paths.push_back(request.files.path);
    requests.push_back(std::move(request));
  }
  auto done = port_capture::capture_several(std::move(requests), interrupt.flag(),
                                            [] { note("connections", "begun"); });
  if (!done)
    return fail(context, done.error());
  tell_notes(context, done->notes);
  auto found = read_connections(paths, args.attach.udp_port);
  if (!found)
    return fail(context, found.error());
  uint64_t lost = 0;
  for (const CaptureSummary &capture_summary : done->captures) {
    lost += capture_summary.lost + capture_summary.unread;
    found->end_ns = std::max(found->end_ns, capture_summary.ended_ns);
  }
  if (lost)
    warn(context, counted(lost, "message") + " lost: messages arrived faster than they were read");
  Output output(globals.json);
  output.print(report::connections_report(args.ports, done->captures.front().seconds, *found));
  return output.finish();
}

} // namespace
} // namespace connections_command

void add_connections(Command program, Run &chosen) {
  using namespace connections_command;
  add_command<Args>(program, chosen, "connections", "RDMA CM connections, as their messages pass",
                    describe, read, connections);
}

} // namespace xr::cli
