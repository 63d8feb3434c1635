// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "capture/capture_set.h"
#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/directory.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/traffic_options.h"
#include "parse/value.h"
#include "port_capture/several.h"
#include "report/compare.h"

namespace xr::cli {

namespace compare_command {
namespace {

constexpr size_t kMostPlaces = 8;
constexpr uint64_t kLongestWindow = 60'000'000'000, kLeastMemory = 1 << 20;

struct Args {
  std::vector<std::string> places;
  std::string memory, keep;
  uint64_t for_ns = 0;
  std::optional<int64_t> clock_offset_ns;
  size_t top = 0;
  compare::Options options;
};

void describe(Command command, Args &args) {
  command
      .add_option(
          "PLACES", args.places,
          "Two or more captures or ports (then --for), in the order in which they are in the "
          "network")
      .required()
      .at_least(2)
      .value_name("");
  add_duration(command, "--for", args.for_ns, "Capture the ports for DURATION, then compare");
  command
      .add_option(
          "--keep", args.keep,
          "With --for: write the captures of the ports into this directory, as A.pcapng and "
          "so on (default: they are removed)")
      .value_name("DIR");
  command.option("--keep").needs("--for");
  add_duration(command, "--window", args.options.window_ns,
               "How long a packet that only one place has seen may still be seen by the other "
               "(default: 1s)");
  command
      .add_option("--memory", args.memory, "For packets that are not decided yet (default: 256MiB)")
      .value_name("SIZE");
  command
      .add_option_function<int64_t>(
          "--clock-offset", [&args](int64_t ns) { args.clock_offset_ns = ns; },
          "Clock of each place minus that of the one before, in ns (default: estimated from "
          "packets "
          "in both directions; ports of this host have one clock)")
      .value_name("NS");
  command
      .add_option("--top", args.top,
                  "The first N streams only, those that lost most (default: all)")
      .value_name("N")
      .check(whole_number(1, std::numeric_limits<uint32_t>::max()));
  add_udp_port(command, args.options.udp_port);
  command.set_footer(
      "The same packets are found at both places by addresses, destination QPN, PSN and content, "
      "also "
      "if the clocks\ndiffer. What happened between: lost, duplicated, reordered, newly marked CE, "
      "corrupted, rewritten; the latency.\nWhat one of the captures cannot have seen, as it had "
      "not "
      "begun or had ended, is OUTSIDE, not lost.\nCaptures need no privilege.");
}

bool is_file(const std::string &path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// Captures the places that are ports, and makes files of them.
Status capture_ports(const Args &args, const Globals &globals, const std::string &directory,
                     const Interrupt &interrupt, std::vector<compare::Input> &inputs) {
  std::vector<port_capture::CaptureRequest> requests;
  std::vector<size_t> of_input;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i].port)
      continue;
    port_capture::CaptureRequest request;
    request.ifname = inputs[i].name;
    request.netns = globals.netns;
    request.attach.udp_port = args.options.udp_port;
    request.filter.kinds = ROCE_CAPTURE_ROCE;
    request.filter.snap = ROCE_CAPTURE_SNAP;
    request.filter.dest_qp = {0, 0xffffff};
    request.duration_ns = args.for_ns;
    inputs[i].path = request.files.path =
        fmt::format("{}/{}.pcapng", directory, static_cast<char>('A' + i));
    requests.push_back(std::move(request));
    of_input.push_back(i);
  }
  auto done = port_capture::capture_several(std::move(requests), interrupt.flag(),
                                            [] { note("compare", "begun"); });
  if (!done)
    return done.error();
  tell_notes("compare", done->notes);
  for (size_t i = 0; i < of_input.size(); i++) {
    const CaptureSummary &summary = done->captures[i];
    compare::Input &input = inputs[of_input[i]];
    input.capture_lost = summary.lost + summary.unread;
    input.span = compare::Span{summary.begun_ns, summary.ended_ns};
  }
  return {};
}

// A place compared with itself shows no loss, whatever happened.
Status check_places(const std::vector<std::string> &places) {
  std::vector<std::string> files;
  for (size_t i = 0; i < places.size(); i++) {
    if (is_file(places[i]))
      files.push_back(places[i]);
    else if (std::find(places.begin(), places.begin() + static_cast<ptrdiff_t>(i), places[i]) !=
             places.begin() + static_cast<ptrdiff_t>(i))
      return Error{fmt::format("port {} is given twice", places[i]),
                   "name two ports that the same packets enter"}
          .as_usage();
  }
  if (auto distinct = check_distinct(files); !distinct)
    return Error{distinct.error().message, "name captures of two places"}.as_usage();
  return {};
}

Status read(Args &args) {
  if (args.places.size() > kMostPlaces)
    return Error{
        fmt::format("{} places, and there may be {} at most", args.places.size(), kMostPlaces),
        "name fewer places"};
  if (std::ranges::find(args.places, "-") != args.places.end())
    return Error{"standard input cannot be read twice, as a comparison needs",
                 "write it into a file first"};
  if (args.options.window_ns > kLongestWindow)
    return Error{"--window is 60s at most", "--window 60s"};
  if (args.memory.empty())
    return {};
  args.options.memory = XR_TRY(parse::byte_count(args.memory, kLeastMemory).in("--memory"));
  return {};
}

// The places as they are on this machine: files, or ports.
Status collect(Args &args, std::vector<compare::Input> &inputs) {
  for (const std::string &name : args.places) {
    const bool file = is_file(name);
    if (!file && !args.for_ns)
      return Error{fmt::format("{}: no such file", name),
                   "a port needs --for DURATION: xdp-roce compare IF1 IF2 --for 10s"};
    inputs.push_back({name, name, !file});
  }
  if (auto distinct = check_places(args.places); !distinct)
    return distinct;
  const auto ports = std::count_if(inputs.begin(), inputs.end(), [](auto &i) { return i.port; });
  if (args.for_ns && !ports)
    return Error{"--for captures ports, and all places are files", "leave it out"}.as_usage();
  if (args.clock_offset_ns)
    args.options.clock_offset_ns = args.clock_offset_ns;
  else if (ports == static_cast<ptrdiff_t>(inputs.size()))
    args.options.clock_offset_ns = 0;
  return {};
}

Error nothing_in_common(const std::vector<compare::Input> &inputs, uint32_t from) {
  return {
      fmt::format("{} and {} have no packet in common: nothing is known of what happened between",
                  inputs[from].name, inputs[from + 1].name),
      "see why that may be under NOTHING IN COMMON"};
}

int run_compare(Args args, const Globals &globals) {
  const std::string context = "compare";
  std::vector<compare::Input> inputs;
  if (auto done = collect(args, inputs); !done)
    return fail(context, done.error());
  const Interrupt interrupt;
  std::optional<Directory> directory;
  if (args.for_ns) {
    auto made = Directory::make(args.keep);
    if (!made)
      return fail(context, made.error());
    directory.emplace(std::move(made).get());
    if (auto done = capture_ports(args, globals, directory->path(), interrupt, inputs); !done)
      return fail(context, done.error());
  }
  // An interrupt ends the captures of ports; what they have is compared.
  args.options.stop = args.for_ns && interrupt.asked() ? nullptr : &interrupt.flag();
  auto done = [&] {
    Progress progress(context);
    args.options.on_progress = [&progress](uint64_t bytes, uint64_t total) {
      progress.update(bytes, total, bytes_and_rate(bytes, progress.seconds()));
    };
    return compare::compare(inputs, args.options);
  }();
  if (!done)
    return fail(context, done.error());
  Output output(globals.json);
  output.print(report::compare_report(done->comparison, args.top));
  if (done->comparison.stopped)
    note(context, "interrupted; the report covers what was read so far");
  int status = 0;
  for (const Error &trouble : done->troubles)
    status = fail(context, trouble);
  for (const ComparedLeg &leg : done->comparison.legs)
    if (leg.apart != ComparedLeg::Apart::No)
      status = fail(context, nothing_in_common(inputs, leg.from));
  return output.finish(status);
}

} // namespace
} // namespace compare_command

void add_compare(Command program, Run &chosen) {
  using namespace compare_command;
  add_command<Args>(program, chosen, "compare",
                    "What happened to packets between places: captures, or ports", describe, read,
                    run_compare);
}

} // namespace xr::cli
