// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send.h"

#include <map>

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/send_errors.h"
#include "cli/traffic_options.h"
#include "congestion/prediction.h"
#include "flow/words.h"
#include "packet/message.h"
#include "parse/value.h"
#include "parse/words.h"
#include "report/runs.h"

namespace xr::cli {

namespace send_command {
namespace {

struct Args {
  std::string ifname;
  std::vector<std::string> words; // of one flow
  std::vector<std::string> flows; // --flow
  std::string file, preset, rate;
  std::string verify_memory;
  bool cm = false;
  requester::CmOptions connect;
  uint64_t duration_ns = 0, stagger_ns = 0;
  bool open = false, no_cnp = false;
  double interval = 0;
  endpoint::SendRequest request;
};

void describe_reliability(Command command, Args &args) {
  requester::Reliability &r = args.request.reliability;
  const Option open =
      command.add_flag("--open", args.open, "Open-loop: does not wait for answers (the default)");
  command
      .add_flag("--reliable", args.request.reliable,
                "RC: reacts to ACKs, NAKs and timeouts, completes every message")
      .excludes(open);
  command.add_flag("--listen", args.request.listen,
                   "Open-loop, but count the ACKs, NAKs and CNPs that arrive");
  const Option reliable = command.option("--reliable");
  command.add_flag("--verify", args.request.verify,
                   "Each WRITE carries a pattern, and is read back and compared; as --reliable");
  command
      .add_option("--verify-memory", args.verify_memory,
                  "Memory of the peer that a flow may use, from its va on (default: one message of "
                  "each QP)")
      .value_name("SIZE")
      .needs("--verify");
  command.add_option("--window", r.window, "Unacknowledged packets per QP (default: 256)")
      .value_name("N")
      .check(whole_number(1, 1 << 20))
      .needs(reliable);
  command
      .add_option("--timeout", r.timeout_code,
                  "Retransmission timer 4.096 us * 2^N; 0: none (default: 14, 67 ms)")
      .value_name("N")
      .check(whole_number(0, 31))
      .needs(reliable);
  command
      .add_option("--retries", r.retries, "Rounds without progress before a QP fails (default: 7)")
      .value_name("N")
      .check(whole_number(0, 255))
      .needs(reliable);
  command
      .add_option("--rnr-retries", r.rnr_retries,
                  "The same for RNR NAKs; 7: unlimited (default: 7)")
      .value_name("N")
      .check(whole_number(0, 7))
      .needs(reliable);
  add_retransmit(command, r.selective, "What a NAK or a timeout sends again").needs(reliable);
  add_cnp_options(command, args.no_cnp, r.cnp_pacing, r.cnp_dscp, "READ responses marked CE");
  for (const char *name : {"--no-cnp", "--cnp-interval", "--cnp-scope", "--cnp-mode", "--cnp-dscp"})
    command.option(name).needs(reliable);
}

void describe_cm(Command command, Args &args) {
  const Option cm = command.add_flag(
      "--cm", args.cm, "RDMA CM connects the QPs first, and ends the connections afterwards");
  const Option service =
      command
          .add_option("--service-id", args.connect.service_id,
                      "The service to connect to, instead of a port of the RDMA CM IP service")
          .value_name("ID")
          .needs(cm);
  command
      .add_option_function<uint16_t>(
          "--port", [&args](uint16_t port) { args.connect.service_id = packet::cm_service(port); },
          "The port that the server listens on, TCP port space (default: 7174, of rping)")
      .value_name("N")
      .check(whole_number(1, UINT16_MAX))
      .needs(cm)
      .excludes(service);
  add_duration(command, "--cm-timeout", args.connect.timeout_ns,
               "Until an unanswered CM message is sent again (default: 500ms)");
  command.option("--cm-timeout").needs(cm);
  command
      .add_option("--cm-retries", args.connect.retries,
                  "How often it is sent again at most (default: 7)")
      .value_name("N")
      .check(whole_number(0, 255))
      .needs(cm);
}

void describe_rates(Command command, Args &args) {
  command
      .add_option("--series", args.request.series,
                  "Samples of the QPs' rates, with cc dcqcn or timely: t_ns,kind,name,column,value")
      .value_name("FILE.csv");
  add_duration(command, "--sample", args.request.sample_ns,
               "Distance of the samples (default: 1ms)");
  command.option("--sample").needs("--series");
  command
      .add_option("--top", args.request.top,
                  "QPs with rows of their own in reports and --series (default: 16)")
      .value_name("N")
      .check(whole_number(1, 1 << 20));
}

void describe_engine(Command command, Args &args) {
  using endpoint::SendEngine;
  static const std::map<std::string, SendEngine> kEngines = {
      {"afxdp", SendEngine::AfXdp}, {"live", SendEngine::Live}, {"auto", SendEngine::Auto}};
  command
      .add_option_function<std::string>(
          "--engine", [&args](const std::string &name) { args.request.engine = kEngines.at(name); },
          "What sends: afxdp; live, frames that the kernel makes and recycles, on any driver that "
          "takes redirected frames, for flows that need no answers; auto, live where it can be and "
          "is "
          "faster (default: afxdp)")
      .value_name("ENGINE")
      .check(one_of({"afxdp", "live", "auto"}));
  command
      .add_option("--threads", args.request.threads,
                  "Threads that send live frames, among which QPs are divided (default: as many as "
                  "the rate needs, at most half of the processors and one for each queue)")
      .value_name("N")
      .check(whole_number(1, 64));
}

void describe_words(Command command) {
  std::vector<std::string> words = {"replay", "pfc"}, controls, presets = flow::preset_names();
  for (const std::string_view word : flow::flow_language().names())
    words.emplace_back(word);
  for (const congestion::ControlRow &row : congestion::control_rows())
    controls.emplace_back(row.word);
  for (const char *preset : congestion::dcqcn_presets())
    presets.emplace_back(preset);
  command.set_completions({{.after = "", .words = words},
                           {"cc", true, controls},
                           {"preset", true, presets},
                           {"replay", true, {}, true}});
}

void describe(Command command, Args &args) {
  add_interface(command, args.ifname, "The port to send from");
  command.add_option("FLOW", args.words, "The words of a flow; see below").value_name("");
  command.add_option("--flow", args.flows, "One more flow, its words in quotes; may be repeated")
      .value_name("WORDS")
      .repeatable();
  command.add_option("--file", args.file, "Flows in YAML; - is standard input").value_name("FILE");
  command.add_option("--preset", args.preset, "A flow to begin with; FLOW overrides")
      .value_name("NAME:" + choices(flow::preset_names()));
  command
      .add_option("--rate", args.rate,
                  "Rate of all flows together: 10gbit, \"10gbit l1\", 1mpps, 50%, top")
      .value_name("RATE");
  command.add_option("--seed", args.request.seed, "Seed of all random choices (default: random)")
      .value_name("N")
      .check(whole_number(1, UINT64_MAX));
  add_duration(command, "--for", args.duration_ns,
               "Duration of flows without a `for` of their own");
  add_duration(command, "--stagger", args.stagger_ns,
               "Each flow starts this long after the one before");
  describe_reliability(command, args);
  describe_cm(command, args);
  describe_rates(command, args);
  add_pfc_options(command, args.request.obey_pfc, args.request.pfc_line_bits);
  describe_engine(command, args);
  add_queue_options(command, args.request.queues, "Send from N queues, a thread each (default: 1)");
  command.option("--steer").needs("--reliable");
  add_attach_options(command, args.request.attach);
  add_interval(command, args.interval, "A report every S seconds, and one at the end");
  describe_words(command);
  command.set_footer(
      wrapped("FLOW: " + flow::flow_language().forms() +
              ". cc show lists presets and names; burst=N with cc: N packets at once.") +
      "\n" + wrapped("or: replay FILE.pcap " + requester::replay_usage()) + "\n" +
      wrapped("or: pfc PRIORITIES|global " + requester::pfc_usage() +
              ": 802.1Qbb or PAUSE frames, and XON at the end; every or storm is needed.") +
      "\n"
      "MACs that are not given come from the neighbour table, or from ARP and neighbour "
      "discovery; a group's follow from its address.");
}

// Error for options that have no meaning with `replay` or `pfc`.
Status only(const Args &args, const char *what, const char *hint) {
  const endpoint::SendRequest &r = args.request;
  const std::pair<bool, const char *> kOthers[] = {{r.verify, "--verify"},
                                                   {args.cm, "--cm"},
                                                   {r.reliable, "--reliable"},
                                                   {r.listen, "--listen"},
                                                   {!args.flows.empty(), "--flow"},
                                                   {!args.file.empty(), "--file"},
                                                   {!args.preset.empty(), "--preset"},
                                                   {!args.rate.empty(), "--rate"},
                                                   {r.seed != 0, "--seed"},
                                                   {args.stagger_ns != 0, "--stagger"},
                                                   {!r.series.empty(), "--series"},
                                                   {r.threads != 0, "--threads"},
                                                   {r.queues.steer, "--steer"},
                                                   {r.queues.count != 1, "--queues"}};
  for (const auto &[given, name] : kOthers)
    if (given)
      return Error{fmt::format("{} has no {}", what, name), hint};
  return {};
}

Status add_words(Args &args) {
  std::vector<std::string> words = args.words;
  if (!words.empty() && words.front() == "replay") {
    auto replay = XR_TRY(requester::parse_replay(words));
    if (!replay.duration_ns)
      replay.duration_ns = args.duration_ns;
    args.request.replay = std::move(replay);
    return only(args, "a replayed capture",
                "its words: speed, rate, loop, for, map, src-mac, dst-mac");
  }
  if (!words.empty() && words.front() == "pfc") {
    auto pfc = requester::parse_pfc(words);
    if (!pfc)
      return pfc.error();
    if (!pfc->duration_ns)
      pfc->duration_ns = args.duration_ns;
    args.request.pfc = std::move(*pfc);
    return only(args, "pfc",
                "its words: quanta, every, storm, line, enable, src-mac, no-xon, count, for");
  }
  if (!args.preset.empty())
    words.insert(words.begin(), {"preset", args.preset});
  if (!words.empty()) {
    args.request.flows.push_back(XR_TRY(flow::parse_flow(words)));
  }
  for (const std::string &text : args.flows) {
    args.request.flows.push_back(XR_TRY(flow::parse_flow(parse::split(text))));
  }
  return {};
}

Status add_file(Args &args) {
  if (args.file.empty())
    return {};
  auto file = flow::load_flows(args.file);
  if (!file)
    return file.error();
  args.request.flows.insert(args.request.flows.end(), file->flows.begin(), file->flows.end());
  if (args.rate.empty())
    args.request.rate = file->rate;
  if (file->seed && !args.request.seed)
    args.request.seed = *file->seed;
  if (!args.stagger_ns)
    args.stagger_ns = file->stagger_ns;
  return {};
}

Status add_total(Args &args) {
  if (args.rate.empty())
    return {};
  parse::WordReader words({args.rate});
  auto rate = flow::take_rate(words);
  if (!rate)
    return rate.error();
  if (!words.done())
    return parse::wrong(words.peek(), "a part of a rate",
                        "like 10gbit, \"10gbit l1\", 1mpps or top");
  args.request.rate = *rate;
  return {};
}

Status read_verify(Args &args) {
  if (args.cm)
    args.request.cm = args.connect;
  args.request.reliable = args.request.reliable || args.request.verify;
  if (args.verify_memory.empty())
    return {};
  args.request.verify_memory =
      XR_TRY(parse::byte_count(args.verify_memory, 1).in("--verify-memory"));
  return {};
}

// Collects the flows and the total rate from the command line.
Status collect(Args &args) {
  for (const auto step : {add_words, add_total, read_verify})
    if (auto done = step(args); !done)
      return done;
  const endpoint::SendRequest &r = args.request;
  XR_TRY(check_steer(r.queues.steer, r.queues.count));
  if (r.flows.empty() && args.file.empty() && !r.replay && !r.pfc)
    return Error{"there is no flow", "dst IP qp N ..., --preset NAME or --file FLOWS.yaml"};
  return endpoint::check_options(r);
}

// After the file's flows were added: their times by --stagger and --for.
void set_times(Args &args) {
  uint64_t start = 0;
  for (flow::Flow &flow : args.request.flows) {
    flow.pacing.start_ns += start;
    start += args.stagger_ns;
    if (!flow.duration_ns)
      flow.duration_ns = args.duration_ns;
  }
}

int send(Args args, const Globals &globals) {
  const std::string context = "send " + args.ifname;
  if (auto done = add_file(args); !done)
    return fail("send", done.error());
  set_times(args);
  if (!args.request.cm) // QPNs are the peer's choice
    warn_of_management_qps(context, args.request.flows);
  args.request.ifname = args.ifname;
  args.request.netns = globals.netns;
  args.request.reliability.cnp = !args.no_cnp;
  args.request.interim_rates = args.interval > 0;
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the port
  auto run = endpoint::SendRun::prepare(std::move(args.request));
  if (!run)
    return fail(context, run.error());
  SendCounts counts;
  std::optional<VerifyCounts> verified;
  std::optional<CmCounts> cm;
  std::optional<PfcReport> pfc;
  bool warned = false;
  const int status = watch_run(
      *run, interrupt, context, globals.json, args.interval,
      [&](const SendReport &now) {
        counts = now.counts;
        verified = now.verified;
        cm = now.cm;
        pfc = now.pfc;
        if (!now.finished)
          warn_of_qps(context, counts, warned);
        return report::send_document(now);
      },
      [&](const SendReport &now, const SendReport *before) {
        warn_of_qps(context, now.counts, warned);
        return report::send_line(now, before);
      },
      [](const SendReport &now) { return std::pair(now.done, now.expected); });
  if (cm && cm->established < cm->requested)
    return fail(context, why_not_connected(*cm));
  if (verified && verified->different_packets)
    return fail(context, why_different(*verified));
  if (pfc)
    if (Status kept = report::check_storm(*pfc); !kept)
      return fail(context, kept.error());
  return counts.failed_qps ? fail(context, why_failed(counts)) : status;
}

} // namespace
} // namespace send_command

void add_send(Command program, Run &chosen) {
  using namespace send_command;
  add_command<Args>(program, chosen, "send", "AF_XDP generator: the requester", describe, collect,
                    send);
}

} // namespace xr::cli
