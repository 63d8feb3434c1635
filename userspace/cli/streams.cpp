// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/reading.h"

namespace xr::cli {

namespace {

struct Args {
  std::string ifname;
  Repeat repeat;
  report::StreamOptions options;
};

void describe(CLI::App &command, Args &args) {
  add_interface(command, args.ifname);
  add_stream_options(command, args.options);
  add_repeat(command, args.repeat);
  command.footer("A stream: the packets of one PSN space seen from one side.\n"
                 "gaps: packets ahead of the expected PSN. skipped: PSNs that gaps jumped over; "
                 "filled: those seen later;\nmissing: skipped - filled. duplicates: packets whose "
                 "PSN had been seen. rewinds: go-back-N rounds.\nreordered: filled PSNs that came "
                 "alone. resyncs: QPN reused. jumps, jumped: packets ahead of the previous\none, "
                 "and the PSNs between, retransmissions included. PSNs are decimal, QPNs "
                 "hexadecimal.");
}

int streams(const Args &args, const Globals &globals) {
  return read_port(
      {"streams", args.ifname, args.repeat, true,
       [&args](const report::Moment &moment) { return streams_report(moment, args.options); }},
      globals);
}

} // namespace

void add_streams(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "streams", "PSN accounting, a row a stream", describe, streams);
}

} // namespace xr::cli
