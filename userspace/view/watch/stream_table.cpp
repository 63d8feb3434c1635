// SPDX-License-Identifier: Apache-2.0
#include "watch/stream_table.h"

#include <algorithm>
#include <initializer_list>

#include "report/text.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

using report::Format;

constexpr size_t kColumnGap = 1;
constexpr size_t kAddress = 15; // an address is shortened to this before a column is left out

// Columns that are only on the page of one stream.
constexpr std::string_view kPageOnly[] = {
    report::kQpNumber, report::kRecovery, "first_psn", "next_psn", "pmtu", "roce_version"};

// The given columns in this order, followed by all others.
std::vector<std::string> with_all_others(std::initializer_list<const char *> first) {
  std::vector<std::string> keys(first.begin(), first.end());
  for (const report::StreamColumn &stream_column : report::stream_columns()) {
    const std::string &key = stream_column.column.key;
    if (std::find(keys.begin(), keys.end(), key) == keys.end() &&
        std::find(std::begin(kPageOnly), std::end(kPageOnly), key) == std::end(kPageOnly))
      keys.push_back(key);
  }
  return keys;
}

// Columns from left to right.
const std::vector<std::string> &display_order() {
  static const std::vector<std::string> kKeys = with_all_others(
      {"src",        "dst",       "dest_qp",    "kind",      "transport", "src_qp",   "lost_before",
       "sent_again", kPacketRate, kBitRate,     "missing",   "rewinds",   "ce",       "cnps",
       "gaps",       "jumped",    "duplicates", "reordered", "packets",   "messages", "bytes",
       "skipped",    "filled",    "jumps",      "resyncs"});
  return kKeys;
}

// Columns by priority, after the identity and the sort key.
const std::vector<std::string> &priority_order() {
  static const std::vector<std::string> kKeys =
      with_all_others({"lost_before", kPacketRate, "sent_again", "kind",      "rewinds",   "ce",
                       kBitRate,      "cnps",      "missing",    "gaps",      "packets",   "jumped",
                       "messages",    "bytes",     "duplicates", "reordered", "transport", "src_qp",
                       "skipped",     "filled",    "jumps",      "resyncs"});
  return kKeys;
}

constexpr size_t kNumber = 6; // minimum columns of a number: keeps the table steady

struct TableColumn {
  report::Column column;
  report::Value (*value)(const roce_stream &) = nullptr; // null: a rate
  size_t width = 0;
};

TableColumn rate_column(const char *key) {
  const bool packets = std::string(key) == kPacketRate;
  return {{key, packets ? "PKT/s" : "BIT/s", Format::Scaled}, nullptr, 6};
}

TableColumn column_of(const std::string &key) {
  if (const report::StreamColumn *column = report::stream_column(key)) {
    TableColumn made{column->column, column->value, 0};
    if (key == "lost_before")
      made.column.heading = "LOST"; // before this port; the width is for further columns
    return made;
  }
  return rate_column(key.c_str());
}

report::Value value_of(const PortView &port, const TableColumn &column, uint32_t place) {
  if (column.value)
    return column.value(port.counted().streams[place]);
  const PortView::StreamRates rates = port.rates(place);
  return column.column.key == kPacketRate ? rates.packets : rates.bits;
}

std::string cell_text(const PortView &port, const TableColumn &column, uint32_t place) {
  return report::format_value(value_of(port, column, place), column.column.format);
}

bool is_address(const TableColumn &column) {
  return column.column.key == "src" || column.column.key == "dst";
}

std::string heading(const State &state, const TableColumn &column) {
  std::string text = heading_of(column.column);
  const bool up = state.list().inverted();
  if (column.column.key == state.list().sort())
    text += state.options.unicode ? (up ? "▲" : "▼") : up ? "^" : "v";
  return text;
}

// Wide enough for its heading and its visible values.
void measure(const State &state, const StreamList::Window &window, TableColumn &column) {
  column.width = std::max(column.column.format == Format::Text ? 0 : kNumber,
                          columns_of(heading(state, column)));
  for (const uint32_t place : window.places)
    column.width = std::max(column.width, columns_of(cell_text(state.view(), column, place)));
}

size_t needs(const TableColumn &column) {
  return kColumnGap + (is_address(column) ? std::min(column.width, kAddress) : column.width);
}

ptrdiff_t display_place(const TableColumn &column) {
  return std::find(display_order().begin(), display_order().end(), column.column.key) -
         display_order().begin();
}

// Chooses the identity, the sort key, and as many other columns as fit.
std::vector<TableColumn> choose(const State &state, const StreamList::Window &window,
                                size_t width) {
  std::vector<TableColumn> columns;
  size_t used = 0;
  const auto take = [&](const std::string &key) {
    TableColumn column = column_of(key);
    measure(state, window, column);
    used += needs(column);
    columns.push_back(std::move(column));
  };
  const auto taken = [&columns](const std::string &key) {
    return std::any_of(columns.begin(), columns.end(), [&key](const TableColumn &table_column) {
      return table_column.column.key == key;
    });
  };
  for (const char *key : {"src", "dst", "dest_qp"})
    take(key);
  if (const std::string &sort = state.list().sort(); sort != report::kTrouble && !taken(sort))
    take(sort);
  for (const std::string &key : priority_order()) {
    if (taken(key))
      continue;
    take(key);
    if (used <= width + kColumnGap)
      continue;
    used -= needs(columns.back());
    columns.pop_back();
    break;
  }
  std::stable_sort(columns.begin(), columns.end(), [](const TableColumn &a, const TableColumn &b) {
    return display_place(a) < display_place(b);
  });
  // The remaining width is for the addresses.
  for (TableColumn &column : columns) {
    if (!is_address(column))
      continue;
    const size_t least = std::min(column.width, kAddress);
    const size_t spare = width + kColumnGap > used ? width + kColumnGap - used : 0;
    column.width = std::min(column.width, least + spare);
    used += column.width - least;
  }
  return columns;
}

std::string aligned(const TableColumn &column, const std::string &text) {
  if (is_address(column))
    return to_left(cut_middle(text, column.width), column.width);
  return column.column.format == Format::Text ? to_left(text, column.width)
                                              : to_right(text, column.width);
}

Line stream_line(const State &state, const std::vector<TableColumn> &columns, uint32_t place,
                 bool selected, size_t width) {
  Line line(width);
  for (const TableColumn &column : columns) {
    const report::Value value = value_of(state.view(), column, place);
    const bool alarm = column.column.tone == report::Tone::Alarm && !report::is_zero(value);
    line.add(line.used() ? " " : "", selected ? Style::Selected : Style::Plain);
    line.add(aligned(column, report::format_value(value, column.column.format)),
             selected ? Style::Selected
             : alarm  ? Style::Alarm
                      : Style::Plain);
  }
  return selected ? line.fill(Style::Selected) : line;
}

std::string nothing_there(const State &state) {
  const Snapshot &s = state.view().counted();
  if (!s.tracked)
    return "streams are not tracked: attached with --no-track";
  return s.streams.empty() ? "no RoCE streams yet"
                           : "no stream has all of: " + state.list().filter();
}

} // namespace

std::vector<Line> stream_lines(const State &state, const StreamList::Window &window, size_t width) {
  const auto columns = choose(state, window, width);
  Line head(width);
  for (const TableColumn &column : columns) {
    const bool sorted = column.column.key == state.list().sort();
    head.add(head.used() ? " " : "", Style::Heading);
    head.add(aligned(column, heading(state, column)), sorted ? Style::Selected : Style::Heading);
  }
  std::vector<Line> lines = {head.fill(Style::Heading)};
  for (size_t row = 0; row < window.places.size(); row++)
    lines.push_back(stream_line(state, columns, window.places[row],
                                state.options.interactive && window.selected == row, width));
  if (window.places.empty())
    lines.push_back(Line(width).add(nothing_there(state), Style::Dim));
  return lines;
}

std::string heading_of(const report::Column &column) {
  std::string text;
  for (const char c : column.heading)
    if (c != '\n')
      text += c;
    else if (text.ends_with('-'))
      text.pop_back();
    else
      text += ' ';
  return text;
}

std::vector<std::string> number_columns() {
  std::vector<std::string> keys;
  for (const std::string &key : display_order())
    if (const Format format = column_of(key).column.format;
        format != Format::Text && format != Format::Qpn)
      keys.push_back(key);
  return keys;
}

} // namespace xr::watch
