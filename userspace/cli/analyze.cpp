// SPDX-License-Identifier: Apache-2.0
#include "capture/analyzer.h"

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/connections.h"
#include "report/episodes.h"
#include "report/latency.h"

namespace xr::cli {

namespace {

constexpr uint64_t kProgressStep = 8 << 20;

struct Args {
  std::string file;
  Analyzer::Options options{.tai_offset_s = kernel_tai_offset()};
  report::StreamOptions streams;
};

void describe(CLI::App &command, Args &args) {
  command
      .add_option("FILE", args.file,
                  "pcap or pcapng, of Ethernet, Linux cooked or raw IP frames, plain or gzip; - is "
                  "standard input")
      ->required()
      ->type_name("");
  add_udp_port(command, args.options.udp_port);
  add_decap(command, args.options.decap);
  command.add_flag("--drop-bad-icrc", args.options.drop_bad_icrc,
                   "Leave frames with a wrong iCRC out of the streams, as a receiver does");
  command.add_flag("--episodes", args.options.episodes,
                   "Follow requests and answers together: each time that a requester went back, "
                   "why, and what it cost; what peers did wrong");
  command.add_flag("--connections", args.options.connections,
                   "RDMA CM connections: addresses, QPNs, service, state, messages sent again");
  command
      .add_option_function<int64_t>(
          "--clock-offset", [&args](int64_t ns) { args.options.latency.clock_offset_ns = ns; },
          "For frames of `send ... stamp`: clock of the capture minus that of the sender, in ns "
          "(default: unknown, taken as 0)")
      ->type_name("NS");
  command
      .add_option("--tai-offset", args.options.tai_offset_s,
                  "For the same: TAI minus UTC, in s, as the sender's kernel has it (default: as "
                  "this kernel has it)")
      ->type_name("S")
      ->check(whole_number(0, 100));
  add_stream_options(command, args.streams);
  command.footer("Needs no privilege. For a truncated capture the report covers the frames before "
                 "the end,\nand the exit status is 1.");
}

int analyze(const Args &args, const Globals &globals) {
  const std::string context = "analyze"; // errors name the file
  const Interrupt interrupt;
  AnalyzeRun run;
  run.options = args.options;
  run.stop = &interrupt.flag();
  run.progress_step = kProgressStep;
  Result<Analysis> done = [&] {
    Progress progress(args.file);
    run.on_progress = [&progress](const Reader::Progress &at) {
      const double megabytes = static_cast<double>(at.bytes) / 1e6;
      progress.update(
          at.bytes, at.total,
          fmt::format("{:.0f} MB, {:.0f} MB/s", megabytes, megabytes / progress.seconds()));
    };
    return xr::analyze(args.file, run);
  }();
  if (!done)
    return fail(context, done.error());
  Output output(globals.json);
  report::Document document = report::analyze_report(done->snapshot, args.streams);
  if (done->latency.total.frames || done->latency.streams_full)
    report::add_latency(document, done->latency);
  if (args.options.episodes)
    report::add_episodes(document, done->episodes);
  if (args.options.connections)
    report::add_connections(document, done->connections);
  output.print(document);
  if (done->stopped)
    note(args.file == "-" ? "standard input" : args.file,
         "interrupted; the report covers what was read so far");
  return output.finish(done->trouble ? fail(context, *done->trouble) : 0);
}

} // namespace

void add_analyze(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "analyze",
                    "The same accounting over a capture file; needs no privilege", describe,
                    analyze);
}

} // namespace xr::cli
