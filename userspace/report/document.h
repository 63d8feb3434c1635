// SPDX-License-Identifier: Apache-2.0
// What a report says, described once: sections that are a value, a group of fields or a table. The
// writers (text.h, json.h) and nothing else decide how it looks, so that they cannot drift apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace xr::report {

// A number that means nothing where it stands: JSON keeps it for the key's type, text has a dash.
struct Moot {
  uint64_t number = 0;
};

// The first is "not known": null in JSON, a dash in text.
using Words = std::vector<std::string>; // an array; in text with commas
using Value = std::variant<std::monostate, bool, uint64_t, double, std::string, Moot, Words>;

// How people read it; JSON has bare numbers and strings whatever the format.
enum class Format {
  Text,   // as it is, to the left
  Number, // as it is, to the right: PSNs, ids
  Count,  // 1,234,567
  Qpn,    // 0x00001a
  Opcode, // 0x04
  Rate,   // a double by the rules of Count, with a decimal when small
  Scaled, // 6.72 G
};

enum class Where { Both, Text, Json };
enum class Hide { Never, Zero };  // from text, when there is nothing but 0, false, "" and unknown
enum class Tone { Plain, Alarm }; // Alarm: stands out in text when it is not zero

// One kind of number: a table's column or a group's field.
struct Column {
  std::string key;     // in JSON
  std::string heading; // in text; a table's may have line breaks
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

// Cells are made when they are written: a million streams as values would be a gigabyte. What
// `cell` refers to must outlive the table.
struct Table {
  std::vector<Column> columns;
  size_t rows = 0;
  std::function<Value(size_t row, size_t column)> cell;
};

// A group one of whose fields is a table. For JSON: people read the two as sections.
struct Nested {
  Group group;
  std::string key; // the table's
  Table table;
};

struct Section {
  std::string key;
  std::string title;
  std::variant<Value, Group, Table, Nested> body;
  Where where = Where::Both;
  Hide hide = Hide::Never; // the whole section
  Tone tone = Tone::Plain;
  std::string note = {}; // text only: a line below; instead of a table that has no rows
};

struct Document {
  std::string title; // text only
  std::vector<Section> sections;
};

// A number of things: of no interest to people while it is 0, unless `hide` says else.
Field count(const char *key, const char *heading, uint64_t value, Hide hide = Hide::Zero,
            Tone tone = Tone::Plain);
// One that should be 0.
Field lost(const char *key, const char *heading, uint64_t value);

// Gets the output piece by piece, in order. False: nobody reads any more, stop.
using Sink = std::function<bool(std::string_view)>;

bool is_zero(const Value &value);

// A table that carries its rows.
Table make_table(std::vector<Column> columns, std::vector<std::vector<Value>> rows);

} // namespace xr::report
