// SPDX-License-Identifier: Apache-2.0
// The content of a report, described once as sections: a value, a group of fields, or a table. Only
// the writers (text.h, json.h) decide on the layout, so that text and JSON always agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace xr::report {

// A number that has no meaning for this row. JSON keeps it, so that the key's type stays the same;
// text shows a dash.
struct NotApplicable {
  uint64_t number = 0;
};

// std::monostate is an unknown value: null in JSON, a dash in text.
using StringList = std::vector<std::string>; // an array in JSON, comma-separated in text
using NumberList = std::vector<uint64_t>;    // an array of numbers in JSON, comma-separated in text
using Value = std::variant<std::monostate, bool, uint64_t, double, std::string, NotApplicable,
                           StringList, NumberList>;

// Layout in text. JSON has plain numbers and strings for all formats.
enum class Format {
  Text,   // as it is, left aligned
  Number, // as it is, right aligned: PSNs, ids
  Count,  // 1,234,567
  Qpn,    // 0x00001a
  Opcode, // 0x04
  Rate,   // a double, formatted like Count; one decimal if it is small
  Scaled, // 6.72 G
};

enum class Where { Both, Text, Json };
enum class Hide { Never, Zero };  // whether text omits it when it is 0, false, "" or unknown
enum class Tone { Plain, Alarm }; // Alarm: highlighted in text when it is not zero

// A column of a table or a field of a group.
struct Column {
  std::string key;     // key in JSON
  std::string heading; // in text; may have line breaks in a table
  Format format = Format::Text;
  Hide hide = Hide::Never;
  Tone tone = Tone::Plain;
  Where where = Where::Both;
};

struct Field {
  Column column;
  Value value;
};
using Group = std::vector<Field>;

// Cells are computed when they are written: a million streams as values would take a gigabyte.
// Objects that `cell` refers to must outlive the table.
struct Table {
  std::vector<Column> columns;
  size_t rows = 0;
  std::function<Value(size_t row, size_t column)> cell;
};

// A group with a table as its last field, for JSON. In text the two are separate sections.
struct Nested {
  Group group;
  std::string key; // the table's
  Table table;
  std::vector<std::pair<std::string, Table>> more = {}; // JSON only: keys and tables after it
};

struct Section {
  std::string key;
  std::string title;
  std::variant<Value, Group, Table, Nested> body;
  Where where = Where::Both;
  Hide hide = Hide::Never; // applies to the whole section
  Tone tone = Tone::Plain;
  std::string note = {}; // text only: a line below the section, or in place of a table without rows
};

struct Document {
  std::string title;         // text only
  StringList sentences = {}; // text only: the answer, below the title; see summary.h
  std::vector<Section> sections = {};
};

// A counter, hidden in text while it is 0 unless `hide` is Hide::Never.
Field count(const char *key, const char *heading, uint64_t value, Hide hide = Hide::Zero,
            Tone tone = Tone::Plain);
// A counter that should be 0: highlighted when it is not.
Field lost(const char *key, const char *heading, uint64_t value);

// A column that text does not have.
Column json_only(const char *key);

// Receives the output in pieces. Returns false to stop: the reader has closed the output.
using Sink = std::function<bool(std::string_view)>;

bool is_zero(const Value &value);

using Rows = std::vector<std::vector<Value>>;
// A table that owns its rows.
Table make_table(std::vector<Column> columns, Rows rows);

// Keeps the first `top` rows of each list from section `first` on; 0: all. Text says how many there
// are.
void limit_rows(Document &document, size_t first, size_t top);

} // namespace xr::report
