// SPDX-License-Identifier: Apache-2.0
#include "report/capture_notes.h"

namespace xr::report {

namespace {

Section losses_of(const CaptureNotes &notes) {
  Section section{
      "capture", "BEFORE THE CAPTURE FILE",
      Group{{{"dropped", "packets dropped by the capture itself", Format::Count, Hide::Zero,
              Tone::Alarm},
             notes.has_dropped ? Value{notes.dropped} : Value{}},
            count("windows", "places where the capture left frames out", notes.windows),
            count("copies", "copies made by the mirror, left out", notes.copies),
            lost("fractions_over_us", "timestamps with more than 999,999 us",
                 notes.fractions_over_us),
            lost("fractions_over_ns", "timestamps with more than 999,999,999 ns",
                 notes.fractions_over_ns),
            lost("interfaces_more", "interfaces without a row below", notes.interfaces_more)},
      Where::Both, Hide::Zero};
  section.tone = Tone::Alarm;
  if (notes.copies)
    section.note = "the mirror gives nearly every packet twice; --copies keep counts them too";
  if (notes.fractions_over_us)
    section.note = "the file says microseconds, its timestamps look like nanoseconds: add "
                   "--fraction ns";
  return section;
}

Section interfaces_of(const Snapshot &s) {
  const auto count_column = [](const char *key, const char *heading, Tone tone) {
    return Column{key, heading, Format::Count, Hide::Zero, tone};
  };
  std::vector<std::vector<Value>> rows;
  const auto known = [](bool has, uint64_t value) { return has ? Value{value} : Value{}; };
  for (const CapturedInterface &captured_interface : s.notes.interfaces)
    rows.push_back(
        {captured_interface.file < s.files.size() ? s.files[captured_interface.file] : s.name,
         uint64_t{captured_interface.section}, uint64_t{captured_interface.number},
         captured_interface.name,
         known(captured_interface.has_received, captured_interface.received),
         known(captured_interface.has_dropped, captured_interface.dropped),
         known(captured_interface.has_os_dropped, captured_interface.os_dropped),
         captured_interface.dropped_between});
  return {"capture_interfaces", "",
          make_table({{"file", "CAPTURE"},
                      {"section", "SECTION", Format::Number, Hide::Zero},
                      {"interface", "INTERFACE", Format::Number},
                      {"name", "NAME", Format::Text, Hide::Zero},
                      count_column("received", "RECEIVED", Tone::Plain),
                      count_column("dropped", "DROPPED", Tone::Alarm),
                      count_column("os_dropped", "DROPPED BY\nTHE SYSTEM", Tone::Alarm),
                      count_column("dropped_between", "DROPPED\nBETWEEN PACKETS", Tone::Alarm)},
                     std::move(rows)),
          s.notes.dropped ? Where::Both : Where::Json};
}

} // namespace

void add_capture_notes(Document &document, const Snapshot &snapshot) {
  if (snapshot.source != Snapshot::Source::Capture)
    return;
  document.sections.push_back(losses_of(snapshot.notes));
  document.sections.push_back(interfaces_of(snapshot));
}

} // namespace xr::report
