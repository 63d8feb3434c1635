// SPDX-License-Identifier: Apache-2.0
// What stands on the screen: lines of spans, each with its look. Whoever draws it decides what a
// look is made of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xr::watch {

enum class Look { Plain, Bold, Dim, Alarm, Heading, Bar, Selected };

struct Span {
  std::string text;
  Look look = Look::Plain;
};

struct Size {
  size_t columns = 80;
  size_t rows = 24;

  bool operator==(const Size &other) const = default;
};

class Line {
public:
  explicit Line(size_t width) : width_(width) {}

  // What goes beyond the width is cut off.
  Line &add(const std::string &text, Look look = Look::Plain);
  // Spaces up to that column, at least one unless nothing is there yet.
  Line &to(size_t column, Look look = Look::Plain);
  // Spaces up to the end.
  Line &fill(Look look);
  // At the right end, if there is room for it and a space before it.
  Line &right(const std::string &text, Look look = Look::Plain);
  Line &append(const Line &other);
  // What of it a screen that is so wide shows right of that many columns.
  Line part(size_t from, size_t width) const;

  const std::vector<Span> &spans() const { return spans_; }
  size_t used() const { return used_; }
  size_t width() const { return width_; }
  size_t extent() const;    // columns up to the last that is no space
  std::string text() const; // without looks

private:
  size_t width_;
  size_t used_ = 0;
  std::vector<Span> spans_;
};

struct Frame {
  std::vector<Line> lines; // no more than the screen has rows
};

// Plain text, no space at a line's end, no empty line at the end.
std::string to_text(const Frame &frame);

} // namespace xr::watch
