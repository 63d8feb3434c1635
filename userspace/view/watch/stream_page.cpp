// SPDX-License-Identifier: Apache-2.0
#include "watch/stream_page.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/names.h"
#include "report/text.h"
#include "watch/stream_table.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

constexpr size_t kField = 38; // minimum columns for a counter and its name
constexpr size_t kPageGap = 2;

std::string name_of(const roce_key &key) {
  return fmt::format("{} -> {}  QP 0x{:06x} {}", names::address(key.src), names::address(key.dst),
                     roce_key_qp(&key), names::kind_name(key));
}

struct Entry {
  std::string name, value;
  Style style = Style::Plain;
};

Entry entry_of(const report::StreamColumn &column, const PortView &port, uint32_t place) {
  const Snapshot &s = port.counted();
  const report::Value value = column.value ? column.value(s.streams[place])
                              : place < s.qp_numbers.size() && s.qp_numbers[place]
                                  ? report::Value{uint64_t{s.qp_numbers[place]}}
                                  : report::Value{};
  const bool alarm = column.column.tone == report::Tone::Alarm && !report::is_zero(value);
  return {heading_of(column.column), report::format_value(value, column.column.format),
          alarm                    ? Style::Alarm
          : report::is_zero(value) ? Style::Dim
                                   : Style::Plain};
}

std::vector<Entry> entries_of(const PortView &port, uint32_t place) {
  const PortView::StreamRates rates = port.rates(place);
  std::vector<Entry> entries = {
      {"packets/s", report::format_value(rates.packets, report::Format::Rate)},
      {"bit/s", report::format_value(rates.bits, report::Format::Scaled)}};
  for (const report::StreamColumn &column : report::stream_columns())
    if (column.column.key != "src" && column.column.key != "dst" && column.column.key != "kind")
      entries.push_back(entry_of(column, port, place));
  return entries;
}

// In several columns, each filled from top to bottom.
std::vector<Line> in_columns(const std::vector<Entry> &entries, size_t width) {
  const size_t columns = std::max<size_t>(width / kField, 1);
  const size_t each = width / columns;
  const size_t rows = (entries.size() + columns - 1) / columns;
  std::vector<Line> lines;
  for (size_t row = 0; row < rows; row++) {
    Line line(width);
    for (size_t i = row; i < entries.size(); i += rows) {
      const Entry &entry = entries[i];
      const size_t start = i / rows * each;
      line.add(std::string(start - line.used(), ' ') + to_left(entry.name, 16), Style::Dim);
      line.add(to_right(entry.value, each - std::min(each, 16 + kPageGap)), entry.style);
      line.add(std::string(kPageGap, ' '));
    }
    lines.push_back(line);
  }
  return lines;
}

Line section(const std::string &title) {
  return Line(kFullWidth).add(title, Style::Heading).fill(Style::Heading);
}

// Newest first.
std::vector<const roce_event *> events_of(const PortView &port, const roce_key &key) {
  std::vector<const roce_event *> events;
  for (auto it = port.events().rbegin(); it != port.events().rend(); ++it)
    if (report::same_stream(it->key, key))
      events.push_back(&*it);
  return events;
}

} // namespace

std::string about_events(const PortView &port, bool none_shown) {
  if (!port.no_events().empty())
    return "no events here: " + port.no_events();
  if (port.events_forgotten())
    return fmt::format("the last {} events of the port are kept, {} {} not", PortView::kEvents,
                       xr::counted(port.events_forgotten(), "older one"),
                       verb(port.events_forgotten(), "is", "are"));
  return none_shown ? "none so far" : "";
}

// The addresses are last, because a narrow screen cuts them off first.
std::string event_line(const PortView &port, const roce_event &event, bool with_stream) {
  const roce_key &key = event.key;
  std::string line = fmt::format("{}  {:<10}  ", names::local_time(port.realtime_of(event)),
                                 names::event_heading(event.type));
  if (with_stream)
    line +=
        fmt::format("QP 0x{:06x} {:<8}  {:<30}  {} -> {}", roce_key_qp(&key), names::kind_name(key),
                    names::event_text(event), names::address(key.src), names::address(key.dst));
  else
    line += names::event_text(event);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

Listing stream_page(const State &state, size_t width) {
  const PortView &port = state.view();
  const auto place = port.find(*state.detail);
  Line head(kFullWidth);
  head.add(name_of(*state.detail), Style::Bold);
  std::vector<Line> fixed;
  if (place) {
    fixed = in_columns(entries_of(port, *place), width);
    const std::string label = "packets/s  ";
    fixed.push_back(Line(width)
                        .add(label, Style::Dim)
                        .add(sparkline(state.detail_rate, width - std::min(width, label.size()),
                                       state.options.unicode)));
  } else {
    fixed.push_back(Line(width).add("forgotten: it made way for a new stream", Style::Alarm));
  }
  auto events = std::make_shared<std::vector<const roce_event *>>(events_of(port, *state.detail));
  fixed.push_back(section(fmt::format("EVENTS  {}, newest first", events->size())));
  if (const std::string about = about_events(port, events->empty()); !about.empty())
    fixed.push_back(Line(kFullWidth).add(about, Style::Dim));
  const size_t rows = fixed.size() + events->size();
  return {head, rows, [fixed = std::move(fixed), events, &port](size_t row) {
            if (row < fixed.size())
              return fixed[row];
            return Line(kFullWidth).add(event_line(port, *(*events)[row - fixed.size()], false));
          }};
}

} // namespace xr::watch
