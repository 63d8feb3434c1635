// SPDX-License-Identifier: Apache-2.0
// The content of the screen: lines of spans, each with a style. The terminal decides how a style
// looks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xr::watch {

enum class Style { Plain, Bold, Dim, Alarm, Heading, Bar, Selected };

struct Span {
  std::string text;
  Style style = Style::Plain;
};

struct Size {
  size_t columns = 80;
  size_t rows = 24;

  bool operator==(const Size &other) const = default;
};

class Line {
public:
  explicit Line(size_t width) : width_(width) {}

  // Appends text, cut at the width.
  Line &add(const std::string &text, Style style = Style::Plain);
  // Adds spaces up to `column`; at least one, unless the line is empty.
  Line &pad_to(size_t column, Style style = Style::Plain);
  // Adds spaces up to the width.
  Line &fill(Style style);
  // Adds text at the right edge, if there is room for it and a space before it.
  Line &add_right(const std::string &text, Style style = Style::Plain);
  Line &append(const Line &other);
  // The part of the line visible at `width` columns after scrolling right by `from` columns.
  Line visible_part(size_t from, size_t width) const;

  const std::vector<Span> &spans() const { return spans_; }
  size_t used() const { return used_; }
  size_t width() const { return width_; }
  size_t extent() const;    // columns up to the last one that is not a space
  std::string text() const; // without styles

private:
  size_t width_;
  size_t used_ = 0;
  std::vector<Span> spans_;
};

struct Screen {
  std::vector<Line> lines; // at most as many as the screen has rows
};

// The screen as plain text, without trailing spaces and empty lines at the end.
std::string to_text(const Screen &screen);

} // namespace xr::watch
