// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/ranges.h>
#include <unistd.h>

#include "analysis/analyzer.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/processors.h"
#include "checks/setup.h"
#include "checks/uplinks.h"
#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "parse/value.h"
#include "report/capture.h"
#include "report/checks.h"
#include "report/connections.h"
#include "report/episodes.h"
#include "report/frame_times.h"
#include "report/job.h"
#include "report/latency.h"
#include "report/microbursts.h"
#include "report/passive_latency.h"
#include "report/rows.h"

namespace xr::cli {

namespace analyze_command {
namespace {

constexpr uint64_t kProgressStep = 8 << 20;
struct Args {
  std::vector<std::string> names;
  unsigned jobs = 0; // 0: not given
  ReadOptions read;
  Copies copies = Copies::Auto;
  Analyzer::Options options{.tai_offset_s = kernel_tai_offset()};
  report::StreamOptions streams;
  std::string rows, table = "streams", run, tick, speed, out;
  bool check = false;
  uint32_t paths = 0;
  std::string hash, dscp_map;
  checks::DscpMap map = checks::DscpMap::unknown();
  SplitArgs split;
};

void describe_input(Command command, Args &args) {
  command
      .add_option("FILE", args.names,
                  "pcap or pcapng, of Ethernet, Linux cooked or raw IP frames, plain or gzip; - is "
                  "standard input. Several, or a directory of them, are one capture, in order of "
                  "time")
      .required()
      .value_name("");
  add_udp_port(command, args.options.udp_port);
  add_decap(command, args.options.decap);
}

void describe_times(Command command, Args &args) {
  command
      .add_option_function<std::string>(
          "--time",
          [&args](const std::string &name) {
            args.options.clock = static_cast<FrameClock>(
                std::ranges::find(report::clock_names(), name) - report::clock_names().begin());
          },
          "The clock of all times: capture (default), mirror (the switch's, in ERSPAN III; with "
          "--decap) or trailer (a packet broker's, at the end of each frame)")
      .value_name("CLOCK")
      .check(one_of(report::clock_names()));
  command
      .add_option("--tick", args.tick,
                  "With --time mirror: the unit of times whose unit the switch's user has chosen, "
                  "as 10ns")
      .value_name("TIME");
  command
      .add_option_function<std::string>(
          "--fraction", [&args](const std::string &unit) { args.read.fraction_ns = unit == "ns"; },
          "The unit of fractions in pcap timestamps: as the file says (file, default), or ns "
          "although it says microseconds")
      .value_name("UNIT")
      .check(one_of({"file", "ns"}));
}

void describe_frames(Command command, Args &args) {
  command
      .add_option(
          "--speed", args.speed,
          "The captured link's speed, by which PFC and PAUSE count their quanta, as 100gbit "
          "(default: unknown)")
      .value_name("RATE");
  command
      .add_option_function<std::string>(
          "--copies",
          [&args](const std::string &word) {
            args.copies = word == "keep"   ? Copies::Keep
                          : word == "drop" ? Copies::LeaveOut
                                           : Copies::Auto;
          },
          "Packets that a mirror gives twice, the same but for MACs, tags, TTL and TOS: auto "
          "(default: dropped and counted where a file begins with them), drop, or keep")
      .value_name("WHAT")
      .check(one_of({"auto", "drop", "keep"}));
  command.add_flag("--drop-bad-icrc", args.options.drop_bad_icrc,
                   "Leave frames with a wrong iCRC out of the streams, as a receiver does");
}

void describe_lists(Command command, Args &args) {
  command.add_flag("--episodes", args.options.episodes,
                   "Follow requests and answers together: each time that a requester went back, "
                   "why, and what it cost; what peers did wrong");
  command.add_flag("--latency", args.options.passive_latency,
                   "Times between requests and their answers: AckReq to ACK, READ to its first and "
                   "last response, atomics, whole messages, CE mark to CNP, "
                   "CNP to the fall of the rate");
  command.add_flag("--microbursts", args.options.microbursts,
                   "The largest bursts: bytes of all frames in any 10, 100 and 1,000 us");
}

void describe_checks(Command command, Args &args) {
  command.add_flag("--check", args.check,
                   "The verdict on the set-up: ECN, classes of data and CNPs, PFC, path MTU, "
                   "entropy, retries; why, and what to change. Exit status 3 where a check fails");
  command
      .add_option("--paths", args.paths,
                  "With --check: the equal-cost uplinks of the switch, over which a hash of "
                  "addresses and ports spreads the flows")
      .value_name("N")
      .check(whole_number(2, 256));
  command
      .add_option("--hash", args.hash,
                  "With --paths: the hash, crc16 (default), crc32, murmur, fnv or xor")
      .value_name("NAME")
      .check(one_of(checks::path_hash_names()));
  add_dscp_map(command, args.dscp_map);
  command.add_flag("--connections", args.options.connections,
                   "RDMA CM connections: addresses, QPNs, service, state, messages sent again");
}

void describe_stamps(Command command, Args &args) {
  command
      .add_option_function<int64_t>(
          "--clock-offset", [&args](int64_t ns) { args.options.latency.clock_offset_ns = ns; },
          "For frames of `send ... stamp`: clock of the capture minus that of the sender, in ns "
          "(default: unknown, taken as 0)")
      .value_name("NS");
  command
      .add_option("--tai-offset", args.options.tai_offset_s,
                  "For the same: TAI minus UTC, in s, as the sender's kernel has it (default: as "
                  "this kernel has it)")
      .value_name("S")
      .check(whole_number(0, 100));
  command
      .add_option(
          "--jobs", args.jobs,
          "Threads (default: one for each processor that this process may use, for files of 64 MiB "
          "and more; else 1). The report is the same")
      .value_name("N")
      .check(whole_number(1, 256));
  add_stream_options(command, args.streams);
}

void describe_rows(Command command, Args &args) {
  command
      .add_option("--rows", args.rows,
                  "Instead of the report, rows for other programs: ndjson or csv. Each has host, "
                  "source and run")
      .value_name("FORMAT")
      .check(one_of({"ndjson", "csv"}));
  command
      .add_option("--table", args.table,
                  "With --rows: streams (default), events, with --microbursts microbursts, with "
                  "--episodes episodes, findings, pairs or cnp_pacing, with --latency latency, "
                  "latency_port or latency_histogram, with --check checks, with --decap or --time "
                  "frame_times")
      .value_name("TABLE")
      .check(
          one_of({"streams", "events", "microbursts", "episodes", "findings", "pairs", "cnp_pacing",
                  "latency", "latency_port", "latency_histogram", "checks", "frame_times"}));
  command.add_option("--run", args.run, "With --rows: the name of this run").value_name("NAME");
}

void describe_files(Command command, Args &args) {
  command
      .add_option(
          "--out", args.out,
          "A picture of the capture in this directory: report.html, report.json, and an SVG "
          "and a CSV of each plot. With --episodes, --latency, --microbursts and the checks")
      .value_name("DIR");
  add_split_options(command, args.split);
}

// In the order of the help.
void describe(Command command, Args &args) {
  for (const auto part : {describe_input, describe_times, describe_frames, describe_lists,
                          describe_checks, describe_stamps, describe_rows, describe_files})
    part(command, args);
  command.set_footer(
      "Needs no privilege. For a truncated capture the report covers the frames before "
      "the end,\nand the exit status is 1.");
}

// What each row says of its origin.
report::Group origin(const Args &args, const std::vector<std::string> &paths) {
  char host[256] = "";
  (void)gethostname(host, sizeof(host) - 1);
  const std::string source =
      paths.size() == 1 ? paths[0] : fmt::format("{}", fmt::join(args.names, " "));
  return {{{"host", ""}, std::string(host)}, {{"source", ""}, source}, {{"run", ""}, args.run}};
}

Status set_clock(Args &args) {
  const bool mirror = args.options.clock == FrameClock::Mirror;
  if (mirror && !(args.options.decap & 1 << ROCE_TUNNEL_ERSPAN))
    return Error{"the mirror's times are in headers of ERSPAN", "add --decap erspan"};
  if (args.tick.empty())
    return {};
  if (!mirror)
    return Error{"--tick is for --time mirror"};
  auto tick = parse::duration(args.tick);
  if (!tick)
    return std::move(tick).error();
  if (!*tick)
    return Error{"a tick is at least 1ns"};
  args.options.user_tick_ns = *tick;
  return {};
}

Status set_speed(Args &args) {
  constexpr uint64_t kQuantumPs = 512'000'000'000'000; // at 1 bit/s
  if (args.speed.empty())
    return {};
  auto rate = XR_TRY(parse::rate(args.speed));
  args.options.quantum_ps = static_cast<uint32_t>(kQuantumPs / rate);
  return {};
}

Status read_paths(Args &args) {
  if (args.paths && !args.check)
    return Error{"--paths is for --check", "add --check"};
  if (!args.hash.empty() && !args.paths)
    return Error{"--hash is for --paths", "add --paths N"};
  if (args.dscp_map.empty())
    return {};
  if (!args.check)
    return Error{"--dscp-map is for --check", "add --check"};
  args.map = XR_TRY(checks::read_dscp_map(args.dscp_map));
  return {};
}

// The place of the hash in path_hashes(); the first is the default.
size_t hash_index(const std::string &name) {
  const auto names = checks::path_hash_names();
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? 0 : static_cast<size_t>(found - names.begin());
}

Status read_split(Args &args) { return check_split(args.split); }

Status check_rows(Args &args) {
  if (args.rows.empty())
    return args.table == "streams" && args.run.empty()
               ? Status()
               : Error{"--table and --run are for --rows", "add --rows ndjson or --rows csv"};
  if (args.table == "streams" || args.table == "events" || args.table == "frame_times")
    return {};
  const auto [option, given] =
      args.table == "microbursts"         ? std::pair("--microbursts", args.options.microbursts)
      : args.table == "checks"            ? std::pair("--check", args.check)
      : args.table.starts_with("latency") ? std::pair("--latency", args.options.passive_latency)
                                          : std::pair("--episodes", args.options.episodes);
  return given ? Status() : Error{fmt::format("table {} needs {}", args.table, option)};
}

// Without one usable stamp all times are still the capture's, and not those that were asked for.
Status check_stamps(const FrameTimes &times) {
  if (times.clock == FrameClock::Capture || times.stamped || !times.unstamped)
    return {};
  const std::string clock(report::clock_names()[static_cast<size_t>(times.clock)]);
  uint64_t unusable = 0;
  for (const StampSource &source : times.sources)
    unusable += source.unusable;
  if (unusable)
    return Error{fmt::format("--time {}: {} {} a stamp, and none is usable: all times are "
                             "the capture's",
                             clock, counted(unusable, "frame"), verb(unusable, "has", "have")),
                 times.clock == FrameClock::Mirror
                     ? "give the unit that the switch's user has chosen: --tick, as 10ns"
                     : "leave out --time"};
  return Error{fmt::format("--time {}: no frame has a stamp: all times are the capture's", clock),
               times.clock == FrameClock::Mirror
                   ? "only ERSPAN III has times of the mirror; leave out --time"
                   : "leave out --time"};
}

// What the picture shows.
void collect_for_page(Analyzer::Options &options) {
  options.series = options.episodes = options.passive_latency = options.microbursts = true;
}

Status read(Args &args) {
  if (!args.out.empty())
    collect_for_page(args.options);
  for (const auto step : {set_clock, set_speed, check_rows, read_paths, read_split})
    if (Status sound = step(args); !sound)
      return sound;
  return {};
}

// Rows and JSON are for programs.
void tell_page(Output &output, const Args &args, const Globals &globals) {
  const std::string text = fmt::format("the page is {}/report.html", args.out);
  if (globals.json || !args.rows.empty())
    note("analyze", text);
  else
    output.print_line(text);
}

// One thread accounts for frames of a pipe as they arrive, and has read a small file before others
// would have begun.
unsigned default_jobs(const std::vector<std::string> &paths) {
  constexpr uint64_t kWorthThreads = 64 << 20;
  uint64_t bytes = 0;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
      return 1;
    bytes += std::filesystem::file_size(path, error);
  }
  return bytes < kWorthThreads ? 1 : processor_count();
}

bool is_checked(const Args &args) { return args.check || !args.out.empty(); }

report::Document document_of(const Args &args, const Analysis &analysis,
                             const std::vector<SetupCheck> &verdicts, const Splitter *splitter) {
  Episodes followed = analysis.episodes;
  if (!args.options.episodes) // findings are a check's, without the table of all
    followed.findings.clear();
  report::Document document = report::analyze_report(
      analysis.snapshot, args.streams,
      args.options.episodes || is_checked(args) ? &followed : nullptr, verdicts, &analysis.job);
  const size_t lists = document.sections.size();
  report::add_frame_times(document, analysis.frame_times);
  report::add_job(document, analysis.job, analysis.first_ns);
  if (args.options.microbursts)
    report::add_microbursts(document, analysis.microbursts);
  if (analysis.latency.total.frames || analysis.latency.streams_full)
    report::add_latency(document, analysis.latency);
  if (args.options.episodes)
    report::add_episodes(document, analysis.episodes);
  if (args.options.passive_latency)
    report::add_passive_latency(document, analysis.passive);
  if (args.options.connections)
    report::add_connections(document, analysis.connections);
  if (splitter)
    report::add_split(document, splitter->report());
  report::limit_rows(document, lists, args.streams.top);
  if (is_checked(args))
    report::add_checks(document, verdicts, analysis.snapshot.files);
  return document;
}

int analyze(const Args &args, const Globals &globals) {
  const std::string context = "analyze"; // errors name the file
  const Interrupt interrupt;
  auto paths = capture_paths(args.names);
  if (!paths)
    return fail(context, paths.error());
  auto splitter = open_splitter(args.split);
  if (!splitter)
    return fail(context, splitter.error());
  const report::RowFormat format =
      args.rows == "csv" ? report::RowFormat::Csv : report::RowFormat::Ndjson;
  Output output(globals.json);
  const report::Sink sink = [&output](std::string_view text) { return output.print_text(text); };
  std::optional<report::RowWriter> events;
  AnalyzeRun run;
  run.jobs = args.jobs ? args.jobs : default_jobs(*paths);
  if (!args.rows.empty() && args.table == "events") {
    events.emplace(format, origin(args, *paths), report::event_row_keys(), sink);
    run.on_event = [&events](const roce_event &event) {
      events->row(report::event_row(event, event.time_ns));
    };
  }
  if (*splitter)
    run.on_frame = [&files = **splitter](const CapturedFrame &frame, const roce_key *stream) {
      return files.frame(frame, stream);
    };
  run.options = args.options;
  if (is_checked(args))
    run.options.episodes = run.options.passive_latency = true;
  run.options.traffic = run.options.job = true;
  run.read = args.read;
  run.copies = args.copies;
  run.stop = &interrupt.flag();
  run.progress_step = kProgressStep;
  Result<Analysis> analysis = [&] {
    Progress progress(args.names.size() == 1 ? args.names[0] : "analyze");
    run.on_progress = [&progress](const Reader::Progress &at) {
      progress.update(at.bytes, at.total, bytes_and_rate(at.bytes, progress.seconds()));
    };
    return xr::analyze(*paths, run);
  }();
  if (!analysis)
    return fail(context, analysis.error());
  if (*splitter)
    if (Status written = (*splitter)->finish(); !written)
      analysis->troubles.push_back(written.error());
  std::vector<SetupCheck> verdicts;
  if (is_checked(args))
    verdicts = checks::check_setup({analysis->snapshot, &analysis->episodes, &analysis->passive,
                                    args.paths, hash_index(args.hash), args.map});
  const report::Document document =
      document_of(args, *analysis, verdicts, *splitter ? &**splitter : nullptr);
  if (events)
    events->finish();
  else if (!args.rows.empty())
    report::write_rows(document, args.table, format, origin(args, *paths), sink);
  else
    output.print(document);
  if (!args.out.empty()) {
    if (Status written = write_analysis(args.out, *analysis, document); !written)
      return output.finish(fail(context, written.error()));
    tell_page(output, args, globals);
  }
  if (analysis->stopped)
    note(args.names[0] == "-" ? "standard input" : args.names[0],
         "interrupted; the report covers what was read so far");
  int status = !args.check || std::ranges::find(verdicts, SetupCheck::Status::Fail,
                                                &SetupCheck::status) == verdicts.end()
                   ? 0
                   : kVerdictFailed;
  for (const Error &trouble : analysis->troubles)
    status = fail(context, trouble);
  if (Status stamps = check_stamps(analysis->frame_times); !stamps)
    status = fail(context, stamps.error());
  return output.finish(status);
}

} // namespace
} // namespace analyze_command

int analyze_into(const std::string &capture, const std::string &out, const Globals &globals) {
  using namespace analyze_command;
  Args args;
  args.names = {capture};
  args.out = out;
  collect_for_page(args.options);
  return analyze(args, globals);
}

void add_analyze(Command program, Run &chosen) {
  using namespace analyze_command;
  add_command<Args>(program, chosen, "analyze",
                    "The same accounting over a capture file; needs no privilege", describe, read,
                    analyze);
}

} // namespace xr::cli
