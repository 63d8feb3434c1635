// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "report/cells.h"
#include "report/sections.h"
#include "report/stream_columns.h"
#include "report/summary.h"
#include "report/traffic_columns.h"
#include "report/tunnels.h"

namespace xr::report {

namespace {

constexpr const char *kPacketsPerSecond = "packets_per_s", *kBitsPerSecond = "bits_per_s";

// Indexes of the streams to show, sorted; ties in order of appearance. `earlier`: null without
// rates.
std::vector<uint32_t> order(const std::vector<roce_stream> &streams, const StreamOptions &options,
                            const StreamIndex *earlier) {
  const StreamColumn *sort = stream_column(options.sort); // null: by rate, or else by trouble
  const auto first = [&](uint32_t place) -> Trouble {
    const roce_stream &stream = streams[place];
    if (sort)
      return {number_of(sort->value(stream))};
    const bool packets = options.sort == kPacketsPerSecond;
    if (!earlier || (!packets && options.sort != kBitsPerSecond))
      return trouble_of(stream);
    const roce_stream *before = earlier->find(stream, place);
    const auto amount = [packets](const roce_stream *of) -> uint64_t {
      return !of ? 0 : packets ? roce_stream_packets(of) : roce_stream_bytes(of);
    };
    const uint64_t now = amount(&stream);
    return {now - std::min(now, amount(before))};
  };
  // Sort keys are computed once per stream, not once per comparison.
  struct Keyed {
    Trouble first;
    uint64_t second;
    uint32_t place;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(streams.size());
  for (uint32_t i = 0; i < streams.size(); i++)
    keyed.push_back({first(i), roce_stream_packets(&streams[i]), i});
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

// Data for computing the cells; owned by the table's callback.
struct StreamRows {
  const Snapshot &now;
  MissingPsns missing;
  std::vector<uint32_t> places;
  std::unique_ptr<const StreamIndex> earlier;
  double seconds = 0;
  std::unordered_map<std::string_view, uint64_t> recovery; // longest, in ns, by the stream's key

  // Columns that are not in the stream's record.
  Value elsewhere(const std::string &key, uint32_t place) const {
    if (key == kQpNumber)
      return qp_number(place);
    const auto longest = recovery.find(key_bytes(now.streams[place].key));
    return longest == recovery.end() ? Value{} : Value{static_cast<double>(longest->second) / 1000};
  }

  Value qp_number(uint32_t place) const {
    const uint32_t number = place < now.qp_numbers.size() ? now.qp_numbers[place] : 0;
    return known(number);
  }

  Value cell(size_t row, size_t column) const {
    const roce_stream &stream = now.streams[places[row]];
    const auto &columns = stream_columns();
    if (column < columns.size())
      return columns[column].value ? columns[column].value(stream)
                                   : elsewhere(columns[column].column.key, places[row]);
    if (now.decap) {
      if (column < columns.size() + missing_columns().size())
        return missing.cell(places[row], column - columns.size());
      column -= missing_columns().size();
    }
    if (!now.traffic.empty()) {
      if (column < columns.size() + traffic_columns().size())
        return traffic_columns()[column - columns.size()].value(now.traffic[places[row]]);
      column -= traffic_columns().size();
    }
    const roce_stream *before = earlier->find(stream, places[row]);
    if (column == columns.size())
      return rate_of(roce_stream_packets(&stream), before ? roce_stream_packets(before) : 0,
                     seconds);
    return 8 * rate_of(roce_stream_bytes(&stream), before ? roce_stream_bytes(before) : 0, seconds);
  }
};

std::string streams_note(const Snapshot &s) {
  return s.tracked ? "no RoCE streams" : "streams are not tracked: attached with --no-track";
}

std::string streams_title(const Snapshot &s, const StreamOptions &options) {
  if (!options.top || options.top >= s.streams.size())
    return "";
  return fmt::format("{} of {} streams, by {}", options.top, s.streams.size(), options.sort);
}

} // namespace

void add_streams(Document &document, const Moment &moment, const StreamOptions &options,
                 const Episodes *episodes) {
  auto earlier = moment.before ? std::make_unique<const StreamIndex>(*moment.before) : nullptr;
  auto places = order(moment.now.streams, options, earlier.get());
  const auto rows = std::make_shared<StreamRows>(StreamRows{moment.now,
                                                            MissingPsns(moment.now),
                                                            std::move(places),
                                                            std::move(earlier),
                                                            seconds_of(moment),
                                                            {}});
  if (episodes)
    for (const EpisodeRow &row : episodes->episodes)
      if (const uint64_t ns = recovery_ns(row.episode)) {
        uint64_t &longest = rows->recovery[key_bytes(row.name.key)];
        longest = std::max(longest, ns);
      }
  Table table;
  for (const StreamColumn &column : stream_columns())
    table.columns.push_back(column.column);
  if (moment.now.decap)
    for (const Column &column : missing_columns())
      table.columns.push_back(column);
  if (!moment.now.traffic.empty())
    for (const TrafficColumn &column : traffic_columns())
      table.columns.push_back(column.column);
  if (moment.before) {
    table.columns.push_back({kPacketsPerSecond, "PACKETS/s", Format::Rate});
    table.columns.push_back({kBitsPerSecond, "BIT/s", Format::Scaled});
  }
  table.rows = rows->places.size();
  table.cell = [rows](size_t row, size_t column) { return rows->cell(row, column); };
  Section section{"streams", streams_title(moment.now, options), std::move(table)};
  section.note = streams_note(moment.now);
  document.sections.push_back({"tracked", "", Value{moment.now.tracked}, Where::Json});
  document.sections.push_back(std::move(section));
}

} // namespace xr::report
