// SPDX-License-Identifier: Apache-2.0
#include "report/rows.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "report/json.h"
#include "report/reports.h"

namespace xr::report {

namespace {

constexpr size_t kChunk = 1 << 16;

std::string csv_text(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"')
      quoted += c;
  }
  return quoted + "\"";
}

// Unknown values are empty cells.
std::string csv_of(const Value &value) {
  return std::visit(
      [](const auto &v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, NotApplicable>)
          return "";
        else if constexpr (std::is_same_v<T, std::string>)
          return csv_text(v);
        else if constexpr (std::is_same_v<T, StringList> || std::is_same_v<T, NumberList>)
          return csv_text(fmt::format("{}", fmt::join(v, ";")));
        else
          return fmt::format("{}", v);
      },
      value);
}

} // namespace

RowWriter::RowWriter(RowFormat format, Group same, std::vector<std::string> keys, Sink sink)
    : format_(format), same_(std::move(same)), keys_(std::move(keys)), sink_(std::move(sink)) {
  if (format_ != RowFormat::Csv)
    return;
  std::vector<std::string> header;
  for (const Field &field : same_)
    header.push_back(csv_text(field.column.key));
  for (const std::string &key : keys_)
    header.push_back(csv_text(key));
  out_ = fmt::format("{}\n", fmt::join(header, ","));
}

bool RowWriter::flush() {
  const bool done = sink_(out_);
  out_.clear();
  return done;
}

bool RowWriter::finish() { return out_.empty() || flush(); }

bool RowWriter::row(const std::vector<Value> &cells) {
  if (format_ == RowFormat::Csv) {
    std::vector<std::string> texts;
    for (const Field &field : same_)
      texts.push_back(csv_of(field.value));
    for (const Value &cell : cells)
      texts.push_back(csv_of(cell));
    out_ += fmt::format("{}\n", fmt::join(texts, ","));
  } else {
    Document row;
    for (const Field &field : same_)
      row.sections.push_back({field.column.key, "", field.value});
    for (size_t i = 0; i < cells.size(); i++)
      row.sections.push_back({keys_[i], "", cells[i]});
    out_ += to_json(row, JsonStyle::Line);
  }
  return out_.size() < kChunk || flush();
}

bool write_rows(const Table &table, RowFormat format, const Group &same, const Sink &sink) {
  std::vector<std::string> keys;
  std::vector<size_t> columns;
  for (size_t i = 0; i < table.columns.size(); i++)
    if (table.columns[i].where != Where::Text) {
      columns.push_back(i);
      keys.push_back(table.columns[i].key);
    }
  RowWriter writer(format, same, keys, sink);
  for (size_t row = 0; row < table.rows; row++) {
    std::vector<Value> cells;
    for (const size_t column : columns)
      cells.push_back(table.cell(row, column));
    if (!writer.row(cells))
      return false;
  }
  return writer.finish();
}

bool write_rows(const Document &document, std::string_view section, RowFormat format,
                const Group &same, const Sink &sink) {
  const auto found = std::ranges::find(document.sections, section, &Section::key);
  const Table *table =
      found == document.sections.end() ? nullptr : std::get_if<Table>(&found->body);
  return table && write_rows(*table, format, same, sink);
}

std::vector<std::string> event_row_keys() {
  return {"time", "type", "src",      "dst",     "dest_qp",  "kind", "opcode",
          "name", "psn",  "expected", "skipped", "syndrome", "nak",  "rnr_timer_ms"};
}

std::vector<Value> event_row(const roce_event &event, uint64_t realtime_ns) {
  const Document document = event_report(event, realtime_ns);
  std::vector<Value> cells;
  for (const std::string &key : event_row_keys()) {
    const auto found = std::ranges::find(document.sections, key, &Section::key);
    cells.push_back(found == document.sections.end() ? Value{} : std::get<Value>(found->body));
  }
  return cells;
}

} // namespace xr::report
