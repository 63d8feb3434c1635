// SPDX-License-Identifier: Apache-2.0
#include "endpoint/peer.h"

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/traffic_options.h"
#include "parse/address.h"
#include "report/peer.h"

namespace xr::cli {

namespace peer_command {
namespace {

struct Args {
  std::vector<std::string> words, addresses;
  endpoint::PeerRequest request;
};

void describe(Command command, Args &args) {
  add_interface(command, args.request.port.ifname, "The port whose QPs the tool talks to");
  command.add_option("WORDS", args.words, "The tool, its server's address, and the words below")
      .value_name("")
      .required();
  command
      .add_option("--address", args.addresses,
                  "Address of the QPs, may be repeated (default: the port's addresses)")
      .value_name("IP")
      .repeatable();
  add_queue_options(command, args.request.port.queues,
                    "On queue N: the one where frames for "
                    "UDP port 4791 arrive (default: 0)");
  add_attach_options(command, args.request.port.attach);
  std::vector<std::string> words(std::begin(peer::kTools), std::end(peer::kTools));
  words.insert(words.end(), std::begin(peer::kPerftestTests), std::end(peer::kPerftestTests));
  for (const std::string_view word : peer::peer_language().all_names())
    words.emplace_back(word);
  command.set_completions({{"", false, words}});
  command.set_footer(
      peer::peer_usage() +
      "\nIs the other end of a stock RDMA tool: without HOST its server, with HOST its client. The "
      "exchange\nof QPs runs over the host's TCP, or RDMA CM; the QPs are on the port, over "
      "AF_XDP.\n\nTests: " +
      fmt::format("{}", fmt::join(peer::kPerftestTests, ", ")) +
      "\nThe test:   " + wrapped(peer::peer_language().forms("test")) +
      "\nThe place:  " + wrapped(peer::peer_language().forms("place")) + "\nFaults:     " +
      wrapped(peer::peer_language().forms("faults")) + "\nEach word: docs/peer.md\n");
}

Status collect(Args &args) {
  for (const std::string &text : args.addresses)
    args.request.port.addresses.push_back({XR_TRY(parse::address(text)), {}});
  const endpoint::QueueOptions &queues = args.request.port.queues;
  XR_TRY(check_steer(queues.steer, queues.count));
  args.request.spec = XR_TRY(peer::parse_peer(args.words));
  return {};
}

int run_peer(Args args, const Globals &globals) {
  const std::string context = "peer " + args.request.port.ifname;
  args.request.port.netns = globals.netns;
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the port
  auto run = endpoint::PeerRun::prepare(std::move(args.request));
  if (!run)
    return fail(context, run.error());
  size_t printed = tell_notes(context, run->notes());
  Output output(globals.json);
  bool finished = true;
  const Status status = run->run(interrupt.flag(), [&](const PeerReport &report) {
    printed = tell_notes(context, run->notes(), printed);
    finished = finished && report.test.failure.empty();
    return output.print_next(report::peer_document(report));
  });
  const Status closed = run->close();
  tell_notes(context, run->notes(), printed);
  for (const Status &each : {status, closed})
    if (!each)
      return output.finish(fail(context, each.error()));
  return output.finish(finished ? 0 : 1);
}

} // namespace
} // namespace peer_command

void add_peer(Command program, Run &chosen) {
  using namespace peer_command;
  add_command<Args>(program, chosen, "peer", "The other end of perftest, rping and the pingpongs",
                    describe, collect, run_peer);
}

} // namespace xr::cli
