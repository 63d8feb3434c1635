// SPDX-License-Identifier: Apache-2.0
// A picture of what passes a port: captures it, then as `analyze --out`.
#include <fmt/format.h>

#include "base/counted.h"
#include "cli/analyze.h"
#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/traffic_options.h"
#include "port_capture/port_capture.h"
#include "results/files.h"

namespace xr::cli {

namespace record_command {
namespace {

struct Args {
  std::string out;
  port_capture::CaptureRequest request;
};

void describe(Command command, Args &args) {
  port_capture::CaptureRequest &request = args.request;
  request.filter.snap = ROCE_CAPTURE_SNAP;
  request.filter.kinds = ROCE_CAPTURE_ALL;
  request.filter.dest_qp = {0, 0xffffff};
  add_interface(command, request.ifname, "The port; attached for the duration if it is not");
  command
      .add_option("--out", args.out,
                  "The directory, which is made: capture.pcapng, report.html, report.json, and an "
                  "SVG and a CSV of each plot")
      .required()
      .value_name("DIR");
  add_duration(command, "--for", request.duration_ns, "Capture for DURATION");
  command.option("--for").required();
  command.add_option("-c,--count", request.count, "Or until N frames are captured")
      .value_name("N")
      .check(whole_number(1, UINT64_MAX));
  add_attach_options(command, request.attach);
  command.set_footer("As `capture IF -w DIR/capture.pcapng`, and then `analyze DIR/capture.pcapng "
                     "--out DIR`. An interrupt ends the\ncapture; what was captured is analyzed.");
}

// Into the file of the request. Frames that were lost are noted.
Status capture_port(port_capture::CaptureRequest request, const std::string &context) {
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the port
  auto run = XR_TRY(port_capture::CaptureRun::prepare(std::move(request), interrupt.flag()));
  const size_t printed = tell_notes(context, run.notes());
  Status status;
  {
    Progress progress(context);
    status = run.run(
        [&] { note(context, "begun"); },
        [&](const CaptureSummary &now) { progress.update(0, 0, counted(now.written, "frame")); });
  }
  const Status closed = run.close();
  tell_notes(context, run.notes(), printed);
  const CaptureSummary summary = run.report();
  if (const uint64_t lost = summary.lost + summary.unread)
    warn(context, fmt::format("{} passed that {} not in the capture", counted(lost, "frame"),
                              verb(lost, "is", "are")));
  return status ? closed : status;
}

int record(Args args, const Globals &globals) {
  const std::string context = "record " + args.request.ifname;
  const std::string file = args.out + "/capture.pcapng";
  if (Status made = record::make_directory(args.out); !made)
    return fail(context, made.error());
  args.request.netns = globals.netns;
  args.request.files.path = file;
  if (Status captured = capture_port(std::move(args.request), context); !captured)
    return fail(context, captured.error());
  return analyze_into(file, args.out, globals);
}

} // namespace
} // namespace record_command

void add_record(Command program, Run &chosen) {
  using namespace record_command;
  add_command<Args>(program, chosen, "record",
                    "Captures a port for a while, and makes a page of plots of it", describe,
                    record);
}

} // namespace xr::cli
