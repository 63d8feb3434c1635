// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "doctor/nic.h"
#include "report/nic.h"

namespace xr::cli {

namespace streams_command {
namespace {

struct Args {
  std::string ifname;
  Repeat repeat;
  report::StreamOptions options;
  std::string nic, root;
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname);
  add_stream_options(command, args.options);
  add_repeat(command, args.repeat);
  command
      .add_option(
          "--nic", args.nic,
          "Compare the counts with the hw_counters of this RDMA device (mlx5, irdma, bnxt_re, "
          "rxe); with --interval, what both counted in the interval")
      .value_name("DEV[/PORT]");
  command.add_option("--root", args.root, "With --nic: a directory tree instead of /sys")
      .value_name("DIR")
      .hidden();
  command.set_footer(
      "A stream: the packets of one PSN space seen from one side.\n"
      "gaps: packets ahead of the expected PSN. skipped: PSNs that gaps jumped over; "
      "filled: those seen later;\nmissing: skipped - filled. duplicates: packets whose "
      "PSN had been seen. rewinds: go-back-N rounds.\nreordered: PSNs that came late, and were not "
      "sent again. resyncs: QPN reused. jumps, jumped: packets\nahead of the previous one, and the "
      "PSNs between, retransmissions included. lost before here: transmissions\nthat certainly did "
      "not arrive, again for each time; perhaps also: those that may be lost, too, or were\nlate; "
      "lost after here: NAKs for what had passed. PSNs are decimal, QPNs hexadecimal.\n--nic: one "
      "equation per row: equal, explained (see the note), "
      "uncertain (the NIC has more), mismatch, or unseen\nby a port. The NIC's RoCE v2 GIDs "
      "give the direction of packets. Without --interval the two sides may have begun\n"
      "to count at different times.");
}

int streams(const Args &args, const Globals &globals) {
  std::optional<doctor::Nic> nic;
  if (!args.nic.empty()) {
    auto opened = doctor::Nic::open(host::Files(args.root), args.nic);
    if (!opened)
      return fail("streams " + args.ifname, opened.error());
    nic = std::move(*opened);
  }
  Reading reading{"streams", args.ifname, args.repeat, [&](const report::Moment &moment) {
                    report::Document document = streams_report(moment, args.options);
                    if (nic)
                      report::add_nic(document, nic->compare(moment.now, moment.before));
                    return document;
                  }};
  if (nic)
    reading.taken = [&nic] { nic->read(); };
  return read_port(reading, globals);
}

} // namespace
} // namespace streams_command

void add_streams(Command program, Run &chosen) {
  using namespace streams_command;
  add_command<Args>(program, chosen, "streams", "PSN accounting, one row per stream", describe,
                    streams);
}

} // namespace xr::cli
