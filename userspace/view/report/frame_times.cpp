// SPDX-License-Identifier: Apache-2.0
#include "report/frame_times.h"

#include <array>
#include <cmath>

#include "names/names.h"

namespace xr::report {

namespace {

constexpr std::array<const char *, 5> kUnits = {"100 us", "100 ns", "IEEE 1588", "user", "2^-40 s"};

using Cells = std::vector<Value>;

void add_unknown(Cells &cells, size_t count) { cells.resize(cells.size() + count); }

void add_rounded(Cells &cells, const std::optional<double> &number) {
  if (number)
    cells.emplace_back(std::round(*number * 1000) / 1000);
  else
    cells.emplace_back();
}

void add_name(Cells &cells, const StampSource &s) {
  if (s.unit == StampUnit::Trailer) {
    cells.emplace_back(std::string("trailer"));
    add_unknown(cells, 3);
    cells.emplace_back(uint64_t{s.device});
    cells.emplace_back(uint64_t{s.port});
    return;
  }
  cells.emplace_back(std::string("erspan"));
  cells.emplace_back(names::address(s.src.data()));
  cells.emplace_back(names::address(s.dst.data()));
  cells.emplace_back(uint64_t{s.session});
  add_unknown(cells, 2);
}

Cells source_row(const StampSource &s) {
  Cells cells;
  add_name(cells, s);
  cells.emplace_back(std::string(kUnits.at(static_cast<size_t>(s.unit))));
  cells.emplace_back(s.whole);
  for (const uint64_t number : {s.frames, s.unusable, s.backward, s.backward_max_ns})
    cells.emplace_back(number);
  add_rounded(cells, s.offset_ns);
  if (s.unusable < s.frames) {
    const auto least = static_cast<double>(s.delay_min_ns),
               most = static_cast<double>(s.delay_max_ns);
    for (const double delay : {least, most, least / 1000, most / 1000})
      cells.emplace_back(delay);
  } else {
    add_unknown(cells, 4);
  }
  add_rounded(cells, s.drift_ppm);
  add_rounded(cells, s.tick_ns);
  return cells;
}

Table sources_of(const FrameTimes &times) {
  const auto json = [](const char *key) {
    return Column{key, "", Format::Number, Hide::Never, Tone::Plain, Where::Json};
  };
  const auto text = [](const char *heading) {
    return Column{"", heading, Format::Number, Hide::Never, Tone::Plain, Where::Text};
  };
  const auto quiet = [](const char *key, const char *heading) {
    return Column{key, heading, Format::Number, Hide::Zero};
  };
  std::vector<Cells> rows;
  rows.reserve(times.sources.size());
  for (const StampSource &source : times.sources)
    rows.push_back(source_row(source));
  return make_table({{"by", "STAMPED BY"},
                     {"src", "SOURCE", Format::Text, Hide::Zero},
                     {"dst", "DESTINATION", Format::Text, Hide::Zero},
                     quiet("session", "SESSION"),
                     quiet("device", "DEVICE"),
                     quiet("port", "PORT"),
                     {"unit", "UNIT"},
                     json("whole"),
                     {"frames", "FRAMES", Format::Count},
                     {"unusable", "UNUSABLE", Format::Count, Hide::Zero, Tone::Alarm},
                     {"backward", "BACKWARD", Format::Count, Hide::Zero},
                     json("backward_max_ns"),
                     quiet("offset_ns", "OFFSET ns"),
                     json("delay_min_ns"),
                     json("delay_max_ns"),
                     text("LEAST us"),
                     text("MOST us"),
                     {"drift_ppm", "DRIFT ppm", Format::Number},
                     quiet("tick_ns", "TICK ns")},
                    std::move(rows));
}

} // namespace

const std::vector<std::string> &clock_names() {
  static const std::vector<std::string> kNames = {"capture", "mirror", "trailer"};
  return kNames;
}

void add_frame_times(Document &document, const FrameTimes &times) {
  const bool other = times.clock != FrameClock::Capture;
  document.sections.push_back(
      {"clock", other ? "TIMES" : "",
       Group{{{"clock", "the clock of all times below"},
              clock_names().at(static_cast<size_t>(times.clock))},
             count("stamped", "frames with its time", times.stamped, Hide::Never),
             lost("unstamped", "frames without: the capture's time, less the newest delay",
                  times.unstamped),
             lost("sources_full", "frames of clocks beyond 256", times.sources_full)},
       other ? Where::Both : Where::Json});
  Section sources{"frame_times", "TIMES IN FRAMES", sources_of(times)};
  sources.hide = Hide::Zero;
  document.sections.push_back(std::move(sources));
}

} // namespace xr::report
