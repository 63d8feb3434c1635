// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <algorithm>
#include <utility>

namespace xr::report {

namespace {

constexpr size_t kGap = 2;      // between a table's columns
constexpr size_t kBlockGap = 4; // between groups placed side by side

enum class Paint { None, Title, Alarm, Heading };

std::string painted(const std::string &text, Paint paint, const TextStyle &style) {
  if (!style.colour || paint == Paint::None || text.empty())
    return text;
  const char *code = paint == Paint::Title   ? "\033[1m"
                     : paint == Paint::Alarm ? "\033[1;31m"
                                             : "\033[2m";
  return code + text + "\033[0m";
}

// Width on a terminal. Our texts are UTF-8 without wide characters.
size_t columns_of(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string &text, size_t width, bool right, Paint paint,
                   const TextStyle &style) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  const std::string body = painted(text, paint, style);
  return right ? space + body : body + space;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string cell_text(const Value &value, Format format) {
  return printable(format_value(value, format));
}

bool shown(const Column &column) { return column.where != Where::Json; }

Paint paint_of(const Column &column, const Value &value) {
  return column.tone == Tone::Alarm && !is_zero(value) ? Paint::Alarm : Paint::None;
}

// Groups: each is a block of lines of equal width.

struct Block {
  std::vector<std::string> lines;
  size_t width = 0;
};

Block block_of(const Section &section, const TextStyle &style) {
  struct Line {
    const Field *field;
    std::string text;
  };
  std::vector<Line> lines;
  size_t label = 0, value = 0;
  for (const Field &field : std::get<Group>(section.body)) {
    if (!shown(field.column) || (field.column.hide == Hide::Zero && is_zero(field.value)))
      continue;
    lines.push_back({&field, cell_text(field.value, field.column.format)});
    label = std::max(label, columns_of(field.column.heading));
    value = std::max(value, columns_of(lines.back().text));
  }
  Block block;
  if (lines.empty())
    return block;
  block.width = std::max(columns_of(section.title), label + kGap + value);
  if (!section.title.empty())
    block.lines.push_back(padded(section.title, block.width, false,
                                 section.tone == Tone::Alarm ? Paint::Alarm : Paint::Title, style));
  for (const Line &line : lines) {
    const Column &column = line.field->column;
    const bool right = column.format != Format::Text;
    block.lines.push_back(padded(column.heading, label + kGap, false, Paint::None, style) +
                          padded(line.text, block.width - label - kGap, right,
                                 paint_of(column, line.field->value), style));
  }
  return block;
}

std::string side_by_side(const std::vector<Block> &blocks) {
  size_t height = 0;
  for (const Block &block : blocks)
    height = std::max(height, block.lines.size());
  std::string out;
  for (size_t i = 0; i < height; i++) {
    std::string line;
    for (const Block &block : blocks)
      line += (i < block.lines.size() ? block.lines[i] : std::string(block.width, ' ')) +
              std::string(kBlockGap, ' ');
    out += without_trailing_space(line) + "\n";
  }
  return out;
}

// Tables of a document: columns, alignment, headings.

std::vector<std::string> heading_lines(const std::string &heading) {
  std::vector<std::string> lines;
  size_t from = 0;
  for (size_t at; (at = heading.find('\n', from)) != std::string::npos; from = at + 1)
    lines.push_back(heading.substr(from, at - from));
  lines.push_back(heading.substr(from));
  return lines;
}

struct Shape {
  struct Visible {
    size_t index;
    size_t width;
    std::vector<std::string> heading;
  };
  std::vector<Visible> columns;
  size_t heading_height = 0;
};

Shape shape_of(const Table &table) {
  Shape shape;
  for (size_t c = 0; c < table.columns.size(); c++) {
    const Column &column = table.columns[c];
    if (!shown(column))
      continue;
    bool zero = true;
    size_t width = 0;
    for (size_t row = 0; row < table.rows; row++) {
      const Value value = table.cell(row, c);
      zero = zero && is_zero(value);
      width = std::max(width, columns_of(cell_text(value, column.format)));
    }
    if (column.hide == Hide::Zero && zero)
      continue;
    std::vector<std::string> heading = heading_lines(column.heading);
    for (const std::string &line : heading)
      width = std::max(width, columns_of(line));
    shape.heading_height = std::max(shape.heading_height, heading.size());
    shape.columns.push_back({c, width, std::move(heading)});
  }
  return shape;
}

std::string heading_text(const Table &table, const Shape &shape, const TextStyle &style) {
  std::string out;
  for (size_t i = 0; i < shape.heading_height; i++) {
    std::string line;
    for (const Shape::Visible &column : shape.columns) {
      // Aligns headings at the bottom.
      const size_t skip = shape.heading_height - column.heading.size();
      line += padded(i < skip ? "" : column.heading[i - skip], column.width,
                     table.columns[column.index].format != Format::Text, Paint::None, style) +
              std::string(kGap, ' ');
    }
    out += painted(without_trailing_space(line), Paint::Heading, style) + "\n";
  }
  return out;
}

bool write_text_table(const Section &section, const Table &table, const TextStyle &style,
                      const Sink &sink) {
  const std::string title =
      section.title.empty() ? "" : painted(section.title, Paint::Title, style) + "\n";
  if (!table.rows)
    return sink(title + section.note + "\n");
  const Shape shape = shape_of(table);
  if (!sink(title + heading_text(table, shape, style)))
    return false;
  for (size_t row = 0; row < table.rows; row++) {
    std::string line;
    for (const Shape::Visible &column : shape.columns) {
      const Column &of = table.columns[column.index];
      const Value value = table.cell(row, column.index);
      line += padded(cell_text(value, of.format), column.width, of.format != Format::Text,
                     paint_of(of, value), style) +
              std::string(kGap, ' ');
    }
    if (!sink(without_trailing_space(line) + "\n"))
      return false;
  }
  return true;
}

bool all_zero(const Section &section) {
  if (const Group *group = std::get_if<Group>(&section.body))
    return std::all_of(group->begin(), group->end(),
                       [](const Field &field) { return is_zero(field.value); });
  if (const Table *table = std::get_if<Table>(&section.body))
    return table->rows == 0;
  const Value *value = std::get_if<Value>(&section.body);
  return !value || is_zero(*value);
}

// Writes sections in order: consecutive groups side by side, an empty line between parts.
class Writer {
public:
  Writer(const TextStyle &style, const Sink &sink) : style_(style), sink_(sink) {}

  bool section(const Section &section) {
    if (section.where == Where::Json || std::holds_alternative<Nested>(section.body) ||
        (section.hide == Hide::Zero && all_zero(section)))
      return true;
    if (std::holds_alternative<Group>(section.body))
      return group(section);
    const Table *table = std::get_if<Table>(&section.body);
    if (table && !table->rows && section.note.empty())
      return true;
    if (!flush_groups() || !separate())
      return false;
    if (table)
      return write_text_table(section, *table, style_, sink_);
    const std::string value = cell_text(std::get<Value>(section.body), Format::Text);
    return sink_((section.title.empty() ? "" : section.title + ": ") + value + "\n");
  }

  // Writes the groups collected so far.
  bool flush_groups() {
    if (groups_.empty())
      return true;
    const std::string text = side_by_side(groups_);
    groups_.clear();
    groups_width_ = 0;
    return separate() && sink_(text);
  }

  // An empty line, except before the first part.
  bool separate() {
    const bool first = std::exchange(first_, false);
    return first || sink_("\n");
  }

private:
  bool group(const Section &section) {
    Block block = block_of(section, style_);
    if (block.lines.empty())
      return true;
    const bool alone = section.tone == Tone::Alarm || !section.note.empty();
    if ((alone || groups_width_ + block.width > style_.width) && !flush_groups())
      return false;
    groups_width_ += block.width + kBlockGap;
    groups_.push_back(std::move(block));
    if (!alone)
      return true;
    return flush_groups() && (section.note.empty() || sink_(section.note + "\n"));
  }

  const TextStyle &style_;
  const Sink &sink_;
  std::vector<Block> groups_;
  size_t groups_width_ = 0;
  bool first_ = true;
};

} // namespace

std::string printable(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return text;
}

bool write_text(const Document &document, const TextStyle &style, const Sink &sink) {
  Writer writer(style, sink);
  if (!document.title.empty() &&
      !(writer.separate() && sink(painted(printable(document.title), Paint::Title, style) + "\n")))
    return false;
  if (document.title.empty() && !document.sentences.empty() && !writer.separate())
    return false;
  for (const std::string &sentence : document.sentences)
    if (!sink(printable(sentence) + "\n"))
      return false;
  for (const Section &section : document.sections)
    if (!writer.section(section))
      return false;
  return writer.flush_groups();
}

std::string to_text(const Document &document, const TextStyle &style) {
  std::string out;
  write_text(document, style, [&out](std::string_view piece) {
    out += piece;
    return true;
  });
  return out;
}

} // namespace xr::report
