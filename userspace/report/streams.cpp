// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "report/earlier.h"
#include "report/names.h"
#include "report/sections.h"
#include "report/stream_columns.h"

namespace xr::report {

namespace {

uint64_t missing(const roce_stream &s) {
  return roce_stream_counter(&s, ROCE_SKIPPED) - roce_stream_counter(&s, ROCE_FILLED);
}

template <int counter> Value counted(const roce_stream &s) {
  return roce_stream_counter(&s, counter);
}

// Datagrams, and streams of nothing but ACKs or CNPs, have no PSNs of their own.
Value psn(const roce_stream &s, uint64_t number) {
  return s.flags & ROCE_STREAM_STARTED ? Value{number} : Value{Moot{number}};
}

Value transport(const roce_stream &s) {
  const unsigned code = s.flags >> ROCE_STREAM_TRANSPORT_SHIFT; // prefix / 0x20 + 1
  return transport_name(code ? (code - 1) << 5 : ROCE_OPCODE_CNP);
}

Value pmtu(const roce_stream &s) {
  const unsigned code = (s.word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
  return code ? Value{uint64_t{roce_pmtu_bytes(code)}} : Value{};
}

// A counter of what should not happen.
StreamColumn trouble(const char *key, const char *heading, Value (*value)(const roce_stream &)) {
  return {{key, heading, Format::Count, Hide::Zero, Tone::Alarm}, value};
}
StreamColumn event(const char *key, const char *heading, Value (*value)(const roce_stream &)) {
  return {{key, heading, Format::Count, Hide::Zero}, value};
}

} // namespace

const std::vector<StreamColumn> &stream_columns() {
  using S = const roce_stream &;
  static const std::vector<StreamColumn> kColumns = {
      {{"src", "SOURCE"}, [](S s) -> Value { return address(s.key.src); }},
      {{"dst", "DESTINATION"}, [](S s) -> Value { return address(s.key.dst); }},
      {{"dest_qp", "DEST QP", Format::Qpn},
       [](S s) -> Value { return uint64_t{roce_key_qp(&s.key)}; }},
      {{"qp_number", "QP\nNUMBER", Format::Number, Hide::Zero}, nullptr}, // not in the record
      {{"src_qp", "SRC QP", Format::Qpn, Hide::Zero},
       [](S s) -> Value {
         return s.flags & ROCE_STREAM_SRC_QP ? Value{uint64_t{s.src_qp}} : Value{};
       }},
      {{"kind", "KIND"}, [](S s) -> Value { return kind_name(s.key); }},
      {{"transport", "TRANS-\nPORT"}, transport},
      {{"packets", "PACKETS", Format::Count},
       [](S s) -> Value { return uint64_t{roce_stream_packets(&s)}; }},
      {{"bytes", "BYTES", Format::Count},
       [](S s) -> Value { return uint64_t{roce_stream_bytes(&s)}; }},
      {{"first_psn", "FIRST\nPSN", Format::Number},
       [](S s) -> Value { return psn(s, s.first_psn); }},
      {{"next_psn", "NEXT\nPSN", Format::Number},
       [](S s) -> Value { return psn(s, s.word & ROCE_WORD_PSN); }},
      {{"pmtu", "PMTU", Format::Number, Hide::Zero}, pmtu},
      event("messages", "MESSAGES", [](S s) -> Value { return uint64_t{s.messages}; }),
      trouble("gaps", "GAPS", counted<ROCE_GAPS>),
      event("skipped", "SKIPPED", counted<ROCE_SKIPPED>),
      event("filled", "FILLED", counted<ROCE_FILLED>),
      trouble("missing", "MISSING", [](S s) -> Value { return missing(s); }),
      event("duplicates", "DUPLI-\nCATES", counted<ROCE_DUPLICATES>),
      trouble("rewinds", "REWINDS", counted<ROCE_REWINDS>),
      event("reordered", "RE-\nORDERED", counted<ROCE_REORDERED>),
      event("resyncs", "RE-\nSYNCS", counted<ROCE_RESYNCS>),
      event("jumps", "JUMPS", counted<ROCE_JUMPS>),
      event("jumped", "JUMPED", counted<ROCE_JUMPED>),
      trouble("ce", "CE", counted<ROCE_STREAM_CE>),
      trouble("cnps", "CNPS", counted<ROCE_STREAM_CNPS>),
      trouble("holes_forgotten", "HOLES\nFORGOTTEN", counted<ROCE_HOLES_FORGOTTEN>),
  };
  return kColumns;
}

namespace {

bool numeric(Format format) { return format != Format::Text; }

uint64_t number(const Value &value) {
  const uint64_t *n = std::get_if<uint64_t>(&value);
  return n ? *n : 0;
}

// Places of the streams to be shown, in order; equal ones as they appeared.
std::vector<uint32_t> order(const std::vector<roce_stream> &streams, const StreamOptions &options) {
  Value (*sort)(const roce_stream &) = nullptr;
  for (const StreamColumn &column : stream_columns())
    if (column.column.key == options.sort)
      sort = column.value;
  // Keys first: comparisons are many times the streams.
  struct Keyed {
    uint64_t first, second;
    uint32_t place;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(streams.size());
  for (uint32_t i = 0; i < streams.size(); i++)
    keyed.push_back({sort ? number(sort(streams[i])) : missing(streams[i]),
                     roce_stream_packets(&streams[i]), i});
  const size_t rows = options.top ? std::min(options.top, keyed.size()) : keyed.size();
  std::partial_sort(keyed.begin(), keyed.begin() + static_cast<ptrdiff_t>(rows), keyed.end(),
                    [](const Keyed &a, const Keyed &b) {
                      return a.first != b.first     ? a.first > b.first
                             : a.second != b.second ? a.second > b.second
                                                    : a.place < b.place;
                    });
  std::vector<uint32_t> places;
  places.reserve(rows);
  for (size_t i = 0; i < rows; i++)
    places.push_back(keyed[i].place);
  return places;
}

// What the cells are computed from: lives as long as the table.
struct Rows {
  const Snapshot &now;
  std::vector<uint32_t> places;
  std::unique_ptr<const Earlier> earlier;
  double seconds = 0;

  Value qp_number(uint32_t place) const {
    const uint32_t number = place < now.qp_numbers.size() ? now.qp_numbers[place] : 0;
    return number ? Value{uint64_t{number}} : Value{};
  }

  Value cell(size_t row, size_t column) const {
    const roce_stream &stream = now.streams[places[row]];
    const auto &columns = stream_columns();
    if (column < columns.size())
      return columns[column].value ? columns[column].value(stream) : qp_number(places[row]);
    const roce_stream *before = earlier->find(stream);
    if (column == columns.size())
      return rate_of(roce_stream_packets(&stream), before ? roce_stream_packets(before) : 0,
                     seconds);
    return 8 * rate_of(roce_stream_bytes(&stream), before ? roce_stream_bytes(before) : 0, seconds);
  }
};

std::string note_of(const Snapshot &s) {
  return s.tracked ? "no RoCE streams" : "streams are not tracked: attached with --no-track";
}

std::string title_of(const Snapshot &s, const StreamOptions &options) {
  if (!options.top || options.top >= s.streams.size())
    return "";
  return fmt::format("{} of {} streams, by {}", options.top, s.streams.size(),
                     options.sort.empty() ? "missing" : options.sort);
}

} // namespace

std::vector<std::string> stream_sort_keys() {
  std::vector<std::string> keys;
  for (const StreamColumn &column : stream_columns())
    if (numeric(column.column.format) && column.value)
      keys.push_back(column.column.key);
  return keys;
}

void add_streams(Document &document, const Moment &moment, const StreamOptions &options) {
  const auto rows = std::make_shared<Rows>(
      Rows{moment.now, order(moment.now.streams, options), nullptr, seconds_of(moment)});
  Table table;
  for (const StreamColumn &column : stream_columns())
    table.columns.push_back(column.column);
  if (moment.before) {
    rows->earlier = std::make_unique<const Earlier>(*moment.before);
    table.columns.push_back({"packets_per_s", "PACKETS/s", Format::Rate});
    table.columns.push_back({"bits_per_s", "BIT/s", Format::Scaled});
  }
  table.rows = rows->places.size();
  table.cell = [rows](size_t row, size_t column) { return rows->cell(row, column); };
  Section section{"streams", title_of(moment.now, options), std::move(table)};
  section.note = note_of(moment.now);
  document.sections.push_back({"tracked", "", Value{moment.now.tracked}, Where::Json});
  document.sections.push_back(std::move(section));
}

} // namespace xr::report
