// SPDX-License-Identifier: Apache-2.0
#include "report/capture.h"

#include <cmath>

#include <fmt/format.h>

namespace xr::report {

namespace {

Section files_section(const CaptureSummary &c) {
  std::vector<std::vector<Value>> rows;
  for (const std::string &path : c.files)
    rows.push_back({path});
  return {"files", "", make_table({{"path", "FILES"}}, std::move(rows))};
}

} // namespace

Document capture_report(const CaptureSummary &c) {
  Document document;
  document.title = fmt::format("capture {}  {:.2f} s", c.ifname, c.seconds);
  auto &s = document.sections;
  s.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  s.push_back({"source", "",
               Group{{{"kind", ""}, std::string("interface")}, {{"name", ""}, c.ifname}},
               Where::Json});
  s.push_back({"seconds", "", Value{std::round(c.seconds * 1000) / 1000}, Where::Json});
  s.push_back({"xdp", "", Value{c.xdp_mode}, Where::Json});
  s.push_back({"frames", "FRAMES",
               Group{count("seen", "seen", c.seen, Hide::Never),
                     count("taken", "matching the filter", c.taken, Hide::Never),
                     count("written", "written", c.written, Hide::Never),
                     count("cut", "of them cut by --snap", c.cut),
                     count("events", "events", c.events, c.around ? Hide::Never : Hide::Zero),
                     count("not_around", "not near an event", c.not_around),
                     count("unwritten", "not written (limit or error)", c.unwritten),
                     count("bytes", "bytes of files", c.bytes, Hide::Never)}});
  s.push_back(files_section(c));
  s.push_back(
      {"files_removed", "older files removed", Value{c.files_removed}, Where::Both, Hide::Zero});
  if (c.nic) {
    Group times{
        {{"clock", "clock"}, c.nic->clock.empty() ? Value{} : Value{c.nic->clock}},
        {{"ahead_of_tai_ns", "ns ahead of CLOCK_TAI"},
         c.nic->ahead_of_tai_ns ? Value{static_cast<double>(*c.nic->ahead_of_tai_ns)} : Value{}},
        {{"within_ns", "known within ns"},
         c.nic->ahead_of_tai_ns ? Value{c.nic->within_ns} : Value{}},
        count("without", "frames with the kernel's time", c.nic->without, Hide::Never)};
    s.push_back({"nic_times", "TIMES OF THE NIC", std::move(times)});
  }
  Section overflow{"overflow", "LOST HERE",
                   Group{lost("frames", "frames lost: the ring was full", c.lost),
                         lost("outcomes", "frames with an unknown outcome", c.outcomes_lost),
                         lost("unread", "frames lost: no ring on their CPU", c.unread),
                         lost("late", "frames not in order of time", c.late)}};
  overflow.hide = Hide::Zero;
  overflow.tone = Tone::Alarm;
  if (c.lost)
    overflow.note = "more room: --buffer; fewer bytes: --snap, --class, --src, --dst, --dest-qp";
  s.push_back(std::move(overflow));
  return document;
}

void add_split(Document &document, const SplitReport &report) {
  document.sections.push_back(
      {"split", "Split",
       Group{{{"directory", "directory"}, report.directory},
             count("files", "files", report.files, Hide::Never),
             count("frames", "frames", report.frames, Hide::Never),
             lost("left_out", "frames left out: too many files", report.left_out)}});
}

} // namespace xr::report
