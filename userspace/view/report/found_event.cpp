// SPDX-License-Identifier: Apache-2.0
#include "report/found_event.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/names.h"
#include "report/episodes.h"

namespace xr::report {

namespace {

Value cell(const Table &table, std::string_view key) {
  const auto at = std::ranges::find(table.columns, key, &Column::key);
  return table.cell(0, static_cast<size_t>(at - table.columns.begin()));
}

// Time, type and RoCE version as in other events, the cells of the row, and the line.
Document document(const char *type, uint64_t ns, const roce_key &key, const Table &row,
                  const std::string &text) {
  Document made;
  const auto add = [&made](const std::string &name, Value value) {
    made.sections.push_back({name, "", std::move(value), Where::Json});
  };
  add("schema", uint64_t{1});
  add("time", names::utc_time(ns));
  add("type", std::string(type));
  add("roce_version", uint64_t{key.qp_kind & ROCE_KEY_V1 ? 1u : 2u});
  for (size_t i = 0; i < row.columns.size(); i++)
    if (row.columns[i].where != Where::Text)
      add(row.columns[i].key, row.cell(0, i));
  made.sections.push_back({"", "", Value{names::event_line(ns, type, key, text)}, Where::Text});
  return made;
}

std::string episode_text(const roce_episode &e, const Table &row) {
  std::string text = e.cause ? episode_cause(e) : "unknown cause";
  text += e.missing ? fmt::format(", {} missing from PSN {}", e.missing, e.first_missing)
                    : fmt::format(", PSN {}", e.first_missing);
  text += fmt::format(", {} ({} bytes) sent again", counted(e.resent_packets, "packet"),
                      e.resent_bytes);
  if (e.resent_needlessly)
    text += fmt::format(", {} needlessly", e.resent_needlessly);
  for (const auto &[key, words] : {std::pair("nak_generation_ns", "NAK after"),
                                   {"nak_reaction_ns", "reaction"},
                                   {"timeout_ns", "timeout"},
                                   {"recovery_ns", "recovery"}}) {
    const Value value = cell(row, key);
    if (const auto *ns = std::get_if<uint64_t>(&value))
      text += fmt::format(", {} {:.1f} us", words, static_cast<double>(*ns) / 1000);
  }
  return text;
}

} // namespace

Document episode_event(const EpisodeRow &row, uint64_t realtime_offset_ns) {
  Episodes episodes;
  episodes.episodes.push_back(row);
  finish_found(episodes);
  const Table table = episode_table(episodes);
  return document("episode", episode_end(row.episode) + realtime_offset_ns, row.name.key, table,
                  episode_text(row.episode, table));
}

Document finding_event(const FindingRow &row, uint64_t realtime_offset_ns) {
  Episodes episodes;
  episodes.findings.push_back(row);
  return document("finding", row.finding.time_ns + realtime_offset_ns, row.name.key,
                  finding_table(episodes), finding_text(row.finding));
}

} // namespace xr::report
