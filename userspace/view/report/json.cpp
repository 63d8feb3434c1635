// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include <algorithm>
#include <type_traits>

#include <nlohmann/json.hpp>

namespace xr::report {

namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Value &value) {
  return std::visit(
      [](const auto &v) -> ordered_json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, NotApplicable>)
          return v.number;
        else
          return v;
      },
      value);
}

// File names need not be UTF-8, but JSON must be.
std::string dump(const ordered_json &json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// A key OUTER.INNER is a key of an object inside.
std::string dump_row(const Table &table, size_t row) {
  ordered_json object = ordered_json::object();
  for (size_t c = 0; c < table.columns.size(); c++) {
    if (table.columns[c].where == Where::Text)
      continue;
    const std::string &key = table.columns[c].key;
    const size_t dot = key.find('.');
    ordered_json &cell =
        dot == std::string::npos ? object[key] : object[key.substr(0, dot)][key.substr(dot + 1)];
    cell = json_of(table.cell(row, c));
  }
  return dump(object);
}

std::string dump_group(const Group &group) {
  ordered_json object = ordered_json::object();
  for (const Field &field : group)
    if (field.column.where != Where::Text)
      object[field.column.key] = json_of(field.value);
  return dump(object);
}

// Writes a table row by row: a million streams as one value would not fit into memory.
bool write_json_table(const Table &table, bool pretty, const Sink &sink) {
  constexpr size_t kChunk = 1 << 16;
  std::string out = "[";
  for (size_t row = 0; row < table.rows; row++) {
    out += row ? "," : "";
    out += pretty ? "\n    " : "";
    out += dump_row(table, row);
    if (out.size() >= kChunk) {
      if (!sink(out))
        return false;
      out.clear();
    }
  }
  out += pretty && table.rows ? "\n  ]" : "]";
  return sink(out);
}

bool write_body(const Section &section, bool pretty, const Sink &sink) {
  if (const Table *table = std::get_if<Table>(&section.body))
    return write_json_table(*table, pretty, sink);
  if (const Group *group = std::get_if<Group>(&section.body))
    return sink(dump_group(*group));
  if (const Nested *nested = std::get_if<Nested>(&section.body)) {
    std::string head = dump_group(nested->group);
    head.back() = ','; // replaces the closing brace
    if (!sink(head + dump(nested->key) + ":") || !write_json_table(nested->table, pretty, sink))
      return false;
    for (const auto &[key, table] : nested->more)
      if (!sink("," + dump(key) + ":") || !write_json_table(table, pretty, sink))
        return false;
    return sink("}");
  }
  return sink(dump(json_of(std::get<Value>(section.body))));
}

} // namespace

bool write_json(const Document &document, JsonStyle style, const Sink &sink, const Section *last) {
  const bool pretty = style == JsonStyle::Pretty;
  std::string before = pretty ? "{\n  " : "{";
  const auto write = [&](const Section &section) {
    if (section.where == Where::Text)
      return true;
    const std::string key = before + dump(section.key) + (pretty ? ": " : ":");
    before = pretty ? ",\n  " : ",";
    return sink(key) && write_body(section, pretty, sink);
  };
  if (!std::ranges::all_of(document.sections, write) || (last && !write(*last)))
    return false;
  return sink(pretty ? "\n}\n" : "}\n");
}

std::string to_json(const Document &document, JsonStyle style, const Section *last) {
  std::string out;
  const Sink sink = [&out](std::string_view piece) {
    out += piece;
    return true;
  };
  write_json(document, style, sink, last);
  return out;
}

} // namespace xr::report
