// SPDX-License-Identifier: Apache-2.0
#include "endpoint/respond.h"

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/traffic_options.h"
#include "names/names.h"
#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"
#include "report/runs.h"

namespace xr::cli {

namespace respond_command {
namespace {

using responder::ResponderOptions;

struct Args {
  std::vector<std::string> addresses;
  std::string mac, qp, peer_qp, cc, memory, access, cm, reject;
  responder::MemorySpec region;
  bool no_cnp = false, any_icrc = false;
  double interval = 0;
  endpoint::RespondRequest request;
};

void describe_memory(Command command, Args &args) {
  command
      .add_option("--memory", args.memory,
                  "WRITEs, READs and atomics access this much memory (default: none; READ data is "
                  "generated)")
      .value_name("SIZE");
  command.add_option("--rkey", args.region.rkey, "Its R_Key (default: 0x1234, as of `send`)")
      .value_name("N")
      .needs("--memory");
  command.add_option("--va", args.region.va, "Its address (default: 0x10000, as of `send`)")
      .value_name("N")
      .needs("--memory");
  command
      .add_option("--access", args.access,
                  "What it allows: a list of read, write, atomic (default: all)")
      .value_name("LIST")
      .needs("--memory");
}

void describe_cm(Command command, Args &args) {
  command.add_option("--cm", args.cm, "Answer RDMA CM of this RoCE version only (default: both)")
      .value_name("VERSION")
      .check(one_of({"v1", "v2"}));
  command
      .add_option("--reject", args.reject,
                  "Reject all RDMA CM requests: a reason of IBA by its number, or like consumer, "
                  "no-qp, invalid-service-id")
      .value_name("REASON");
}

void describe(Command command, Args &args) {
  ResponderOptions &r = args.request.responder;
  add_interface(command, args.request.ifname, "The port to answer on");
  command
      .add_option("--address", args.addresses,
                  "Address to answer for, may be repeated; the port does not need it "
                  "(default: the port's addresses)")
      .value_name("IP")
      .repeatable();
  command.add_option("--mac", args.mac, "MAC to answer with (default: the port's)")
      .value_name("MAC");
  command.add_option("--qp", args.qp, "QPNs that exist (default: 2-0xffffff)").value_name("N[-M]");
  command
      .add_option("--peer-qp", args.peer_qp,
                  "The peer's QPN, which requests do not contain: same as the QPN here, N, or the "
                  "QPN here +N or -N (default: same)")
      .value_name("QPN");
  command
      .add_option("--pmtu", r.pmtu,
                  "PMTU of READ responses, until the peer's is known (default: 1024)")
      .value_name("N")
      .check(one_of({"256", "512", "1024", "2048", "4096"}));
  command
      .add_option("--ack-every", r.ack_every,
                  "An ACK after every N packets, also without AckReq (default: only with AckReq)")
      .value_name("N")
      .check(whole_number(1, 1 << 20));
  command.add_flag("--ecn-echo", r.echo_ce,
                   "ACKs have BECN where a request before them had CE, as DCTCP needs");
  command
      .add_option("--rnr-every", r.rnr_every, "Refuse every N-th message once: receiver not ready")
      .value_name("N")
      .check(whole_number(1, UINT32_MAX));
  command.add_option("--rnr-timer", r.rnr_timer, "Timer code of such NAKs (default: 12, 0.64 ms)")
      .value_name("N")
      .check(whole_number(0, 31));
  describe_memory(command, args);
  describe_cm(command, args);
  add_retransmit(command, r.selective, "What happens to requests that come after a missing one");
  add_cnp_options(command, args.no_cnp, r.cnp_pacing, r.cnp_dscp, "CE marks");
  command
      .add_option(
          "--cc", args.cc,
          "Rates of READ responses, each QP on its own: fixed RATE | dcqcn [preset P] [line "
          "R] [NAME=VALUE ...], in quotes; CNPs that come for the QP lower it")
      .value_name("WORDS");
  command
      .add_option("--top", args.request.top,
                  "QPs with rows of their own in reports, with --cc dcqcn (default: 16)")
      .value_name("N")
      .check(whole_number(1, 1 << 20))
      .needs("--cc");
  add_pfc_options(command, args.request.obey_pfc, args.request.pfc_line_bits);
  command.add_flag("--any-icrc", args.any_icrc, "Also accept requests with a wrong iCRC");
  command.add_flag("--sink", r.sink,
                   "Receive RoCE and never answer it; report latency, loss and reordering of "
                   "frames from `send ... stamp`");
  command
      .add_option_function<int64_t>(
          "--clock-offset", [&r](int64_t ns) { r.latency.clock_offset_ns = ns; },
          "With --sink: this host's CLOCK_TAI minus the sender's, in ns (default: unknown, taken "
          "as "
          "0)")
      .value_name("NS")
      .needs("--sink");
  add_duration(command, "--for", args.request.duration_ns, "End after DURATION");
  add_queue_options(command, args.request.queues, "On N queues, a thread each (default: all)");
  add_attach_options(command, args.request.attach);
  add_interval(command, args.interval, "A report every S seconds, and one at the end");
  command.set_footer(
      "Answers requests to its addresses with ACK, NAK, READ responses and atomic ACKs, CE marks "
      "with\n"
      "CNPs, ARP and neighbour discovery, and RDMA CM. Frames are counted by the port's program "
      "first:\n"
      "xdp-roce counters, streams and events work as usual. PFC frames are obeyed; all other "
      "frames go to the host.");
}

Status read_qps(const std::string &text, ResponderOptions &r) {
  if (text.empty())
    return {};
  auto range = XR_TRY(parse::range(text, 0, 0xffffff, "a QPN"));
  r.first_qp = range.from;
  r.last_qp = range.to;
  return {};
}

Status read_peer_qp(const std::string &text, ResponderOptions &r) {
  if (text.empty() || text == "same")
    return {};
  const bool relative = text[0] == '+' || text[0] == '-';
  auto value = parse::integer(text.substr(relative ? 1 : 0), 0, 0xffffff, "a QPN");
  if (!value)
    return Error{fmt::format("'{}' is not a peer's QPN", text), "same, 0x12, +1 or -1"};
  if (relative)
    r.peer_offset = static_cast<int32_t>(*value) * (text[0] == '-' ? -1 : 1);
  else
    r.peer_qp = static_cast<int64_t>(*value);
  return {};
}

// Nothing acknowledges READ responses, so that there are no RTTs.
Status read_control(const std::string &text, ResponderOptions &r) {
  if (text.empty())
    return {};
  parse::WordReader words(parse::split(text));
  auto control = XR_TRY(flow::take_control(words));
  if (!words.done())
    return parse::wrong(words.peek(), "a word of cc",
                        "fixed RATE | dcqcn [line R] [NAME=VALUE ...]");
  if (control.needs())
    return Error{fmt::format("--cc {} needs RTTs, and READ responses have no ACKs", control.word()),
                 "--cc dcqcn, or --cc \"fixed 1gbit\""};
  r.control = std::move(control);
  return {};
}

Status read_memory(Args &args) {
  if (args.memory.empty())
    return {};
  args.region.size = XR_TRY(parse::byte_count(args.memory, 8).in("--memory"));
  if (!args.access.empty()) {
    args.region.access = 0;
    const std::vector<std::string_view> names(std::begin(responder::kAccessNames),
                                              std::end(responder::kAccessNames));
    for (const std::string &word : parse::parts(args.access)) {
      auto which = XR_TRY(parse::choice(word, names, "an access"));
      args.region.access |= static_cast<uint8_t>(1U << which);
    }
  }
  args.request.memory = args.region;
  return responder::check_memory(args.region);
}

Status read_cm(Args &args) {
  ResponderOptions &r = args.request.responder;
  r.cm_v1 = args.cm != "v2";
  r.cm_v2 = args.cm != "v1";
  if (args.reject.empty())
    return {};
  r.cm_reject = names::cm_reason(args.reject);
  if (r.cm_reject)
    return {};
  const std::vector<std::string> names = names::cm_reason_names();
  return Error{fmt::format("'{}' is not a reason for a REJ", args.reject),
               parse::hint_from(args.reject, {names.begin(), names.end()})};
}

Status collect(Args &args) {
  ResponderOptions &r = args.request.responder;
  for (const std::string &text : args.addresses) {
    r.addresses.push_back(XR_TRY(parse::address(text)));
  }
  if (!args.mac.empty()) {
    args.request.mac = XR_TRY(packet::parse_mac(args.mac));
  }
  if (auto done = read_qps(args.qp, r); !done)
    return done;
  r.cnp = !args.no_cnp;
  r.check_icrc = !args.any_icrc;
  const endpoint::QueueOptions &queues = args.request.queues;
  for (Status done : {check_steer(queues.steer, queues.count), read_control(args.cc, r),
                      read_memory(args), read_cm(args)})
    if (!done)
      return done;
  return read_peer_qp(args.peer_qp, r);
}

int respond(Args args, const Globals &globals) {
  const std::string context = "respond " + args.request.ifname;
  args.request.netns = globals.netns;
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the port
  auto run = endpoint::RespondRun::prepare(std::move(args.request));
  if (!run)
    return fail(context, run.error());
  return watch_run(*run, interrupt, context, globals.json, args.interval, report::respond_document,
                   report::respond_line,
                   [](const RespondReport &) { return std::pair(uint64_t{}, uint64_t{}); });
}

} // namespace
} // namespace respond_command

void add_respond(Command program, Run &chosen) {
  using namespace respond_command;
  add_command<Args>(program, chosen, "respond", "AF_XDP responder: ACK, NAK, READ, CNP", describe,
                    collect, respond);
}

} // namespace xr::cli
