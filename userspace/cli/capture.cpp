// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include <unistd.h>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/traffic_options.h"
#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"
#include "port_capture/port_capture.h"

namespace xr::cli {

namespace capture_command {
namespace {

struct Args {
  std::string file, src, dst, qp, file_size, buffer, classes = "all";
  std::optional<std::string> events;
  port_capture::Nearby nearby;
  port_capture::CaptureRequest request;
};

constexpr size_t kMostBefore = 10000;

const std::map<std::string, uint32_t> &classes() {
  static const std::map<std::string, uint32_t> kClasses = {
      {"all", ROCE_CAPTURE_ALL}, {"roce", ROCE_CAPTURE_ROCE},  {"data", ROCE_CAPTURE_DATA},
      {"ack", ROCE_CAPTURE_ACK}, {"nak", ROCE_CAPTURE_NAK},    {"cnp", ROCE_CAPTURE_CNP},
      {"ce", ROCE_CAPTURE_CE},   {"other", ROCE_CAPTURE_OTHER}};
  return kClasses;
}

const std::map<std::string, uint32_t> &events() {
  static const std::map<std::string, uint32_t> kEvents = {{"gap", port_capture::kGap},
                                                          {"cnp", port_capture::kCnp},
                                                          {"nak", port_capture::kNak},
                                                          {"rule", port_capture::kRule},
                                                          {"episode", port_capture::kEpisode}};
  return kEvents;
}

// The type name of an option that takes a list of these words.
std::string list_of(const std::map<std::string, uint32_t> &names) {
  std::vector<std::string> words;
  words.reserve(names.size());
  for (const auto &[name, bit] : names)
    words.push_back(name);
  return "LIST:" + choices(words);
}

void describe_files(Command command, Args &args) {
  CaptureFiles::Options &files = args.request.files;
  command.add_option("-w,--write", args.file, "The pcapng file; - is standard output")
      .required()
      .value_name("FILE");
  command
      .add_option("--file-size", args.file_size,
                  "Write a ring of files, FILE_00001_TIME ..., of at most SIZE each (10M, 1GiB)")
      .value_name("SIZE");
  add_duration(command, "--file-duration", files.file_ns,
               "Write a ring of files, each with the frames of that time (60s, 10m)");
  command.add_option("--files", files.keep, "Keep only the last N files of the ring (default: all)")
      .value_name("N")
      .check(whole_number(1, 1'000'000));
}

void describe(Command command, Args &args) {
  auto &request = args.request;
  request.filter.snap = ROCE_CAPTURE_SNAP;
  add_interface(command, request.ifname, "The port; attached for the duration if it is not");
  describe_files(command, args);
  command
      .add_option("--snap", request.filter.snap, "Only the first N bytes of a frame (default: all)")
      .value_name("N")
      .check(whole_number(14, ROCE_CAPTURE_SNAP));
  command.add_option("--class", args.classes, "Only frames of these classes (default: all)")
      .value_name(list_of(classes()));
  command.add_option("--src", args.src, "Only RoCE from these addresses").value_name("PREFIX");
  command.add_option("--dst", args.dst, "Only RoCE to these addresses").value_name("PREFIX");
  command.add_option("--dest-qp", args.qp, "Only RoCE to these QPNs").value_name("N[-M]");
  command
      .add_option_function<std::string>(
          "--around", [&args](const std::string &list) { args.events = list; },
          "Only frames near these events")
      .value_name(list_of(events()));
  command.add_option("--before", args.nearby.before, "With --around: N frames before (default: 10)")
      .value_name("N")
      .check(whole_number(0, kMostBefore));
  command.add_option("--after", args.nearby.after, "With --around: N frames after (default: 10)")
      .value_name("N")
      .check(whole_number(0, 1'000'000'000));
  command.option("--before").needs("--around");
  command.option("--after").needs("--around");
  command
      .add_option_function<std::string>(
          "-j,--time-stamp-type",
          [&request](const std::string &type) { request.nic_clock = type == "adapter_unsynced"; },
          "Times of the kernel's clock, or of the NIC's as they are (default: host)")
      .value_name("TYPE")
      .check(one_of({"host", "adapter_unsynced"}));
  command.add_option("-c,--count", request.count, "End after N frames")
      .value_name("N")
      .check(whole_number(1, UINT64_MAX));
  add_duration(command, "--for", request.duration_ns, "End after DURATION");
  command
      .add_option("--buffer", args.buffer,
                  "Buffer of each CPU for frames not written yet (default: at most 16MiB)")
      .value_name("SIZE");
  add_attach_options(command, request.attach);
  command.set_footer(
      "Writes frames as they arrived, before rules change them; the traffic is not affected. Each "
      "frame has a\ncomment: what the tracker found, what a rule did, where the frame went "
      "(Wireshark: frame.comment).\nLost frames are counted, in the report and in the file's "
      "statistics. A port has one capture at a time.");
}

// "gap,nak" as bits.
Result<uint32_t> bits_of(const std::string &list, const std::map<std::string, uint32_t> &names,
                         const char *wanted) {
  uint32_t bits = 0;
  for (const std::string &word : parse::parts(list)) {
    const auto found = names.find(parse::lower(word));
    if (found == names.end()) {
      std::string all;
      for (const auto &[name, bit] : names)
        all += (all.empty() ? "" : ", ") + name;
      return parse::wrong(word, wanted, all);
    }
    bits |= found->second;
  }
  return bits;
}

Status read_stream(const Args &args, roce_capture_filter &filter) {
  filter.dest_qp = {0, 0xffffff};
  for (const auto &[text, prefix] : {std::pair(&args.src, &filter.src), {&args.dst, &filter.dst}}) {
    if (text->empty())
      continue;
    auto value = XR_TRY(parse::prefix(*text));
    *prefix = value.compiled();
    filter.stream = 1;
  }
  if (args.qp.empty())
    return {};
  filter.dest_qp = XR_TRY(parse::range(args.qp, 0, 0xffffff, "a QPN"));
  filter.stream = 1;
  return {};
}

// "10M", or nothing.
Status read_size(const std::string &text, uint64_t from, uint64_t &bytes) {
  if (text.empty())
    return {};
  bytes = XR_TRY(parse::byte_count(text, from));
  return {};
}

// The filter as text for the file's interface block: "class ack,nak src 192.0.2.0/24".
std::string filter_words(const Args &args) {
  std::string text = parse::lower(args.classes) == "all" ? "" : "class " + args.classes;
  for (const auto &[name, value] :
       {std::pair("src ", &args.src), {"dst ", &args.dst}, {"dest-qp ", &args.qp}})
    if (!value->empty())
      text += (text.empty() ? "" : " ") + std::string(name) + *value;
  return text;
}

Status collect(Args &args) {
  auto &request = args.request;
  CaptureFiles::Options &files = request.files;
  files.path = args.file;
  if (args.file.empty())
    return Error{"--write needs the name of a file", "-w x.pcapng, or -w - for standard output"};
  request.filter.kinds = XR_TRY(bits_of(args.classes, classes(), "a class of frames"));
  if (args.events) {
    args.nearby.events = XR_TRY(bits_of(*args.events, events(), "an event"));
    request.nearby = args.nearby;
  }
  if (auto done = read_stream(args, request.filter); !done)
    return done;
  if (request.filter.stream && request.filter.kinds == ROCE_CAPTURE_OTHER)
    return Error{"--src, --dst and --dest-qp select RoCE frames, --class other selects none",
                 "omit one of the two"};
  files.interface.filter = filter_words(args);
  if (auto done = read_size(args.file_size, 1000, files.file_bytes); !done)
    return done;
  if (auto done = read_size(args.buffer, 4096, request.ring_bytes); !done)
    return done;
  const bool ring = files.file_bytes || files.file_ns;
  if (files.keep && !ring)
    return Error{"--files needs a limit for one file", "--file-size, --file-duration or both"};
  if (args.file != "-")
    return {};
  if (ring)
    return Error{"standard output is one file", "-w FILE for a ring of files"};
  if (isatty(STDOUT_FILENO))
    return Error{"standard output is a terminal", "xdp-roce capture IF -w - | wireshark -k -i -"};
  return {};
}

std::string line(const CaptureSummary &r) {
  return fmt::format("{}, {} lost", counted(r.written, "frame"), r.lost + r.unread);
}

int capture(Args args, const Globals &globals) {
  const std::string context = "capture " + args.request.ifname;
  args.request.netns = globals.netns;
  const bool to_stdout = args.file == "-";
  const Interrupt interrupt; // before prepare(): an interrupt must still detach the port
  auto run = port_capture::CaptureRun::prepare(std::move(args.request), interrupt.flag());
  if (!run)
    return fail(context, run.error());
  const size_t printed = tell_notes(context, run->notes());
  Status status;
  {
    Progress progress(context);
    status = run->run([&] { note(context, "begun"); },
                      [&](const CaptureSummary &now) { progress.update(0, 0, line(now)); });
  }
  const Status closed = run->close();
  tell_notes(context, run->notes(), printed);
  // With -w - standard output contains the frames.
  Output output(globals.json, to_stdout ? STDERR_FILENO : STDOUT_FILENO);
  output.print(report::capture_report(run->report()));
  if (!status)
    return output.finish(fail(context, status.error()));
  return output.finish(closed ? 0 : fail(context, closed.error()));
}

} // namespace
} // namespace capture_command

void add_capture(Command program, Run &chosen) {
  using namespace capture_command;
  add_command<Args>(program, chosen, "capture", "Frames into pcapng files, each with its outcome",
                    describe, collect, capture);
}

} // namespace xr::cli
