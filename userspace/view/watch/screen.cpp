// SPDX-License-Identifier: Apache-2.0
#include "watch/screen.h"

#include <algorithm>

#include "watch/text_width.h"

namespace xr::watch {

Line &Line::add(const std::string &text, Style style) {
  std::string fitting = cut(text, width_ - used_);
  if (fitting.empty())
    return *this;
  used_ += columns_of(fitting);
  if (!spans_.empty() && spans_.back().style == style)
    spans_.back().text += fitting;
  else
    spans_.push_back({std::move(fitting), style});
  return *this;
}

Line &Line::pad_to(size_t column, Style style) {
  const size_t target = std::max(column, used_ ? used_ + 1 : 0);
  if (const size_t end = std::min(target, width_); end > used_)
    add(std::string(end - used_, ' '), style);
  return *this;
}

Line &Line::fill(Style style) { return add(std::string(width_ - used_, ' '), style); }

Line &Line::add_right(const std::string &text, Style style) {
  const size_t columns = columns_of(text);
  if (used_ + columns + 1 > width_)
    return *this;
  add(std::string(width_ - columns - used_, ' '), spans_.empty() ? style : spans_.back().style);
  return add(text, style);
}

Line &Line::append(const Line &other) {
  for (const Span &span : other.spans_)
    add(span.text, span.style);
  return *this;
}

Line Line::visible_part(size_t from, size_t width) const {
  Line out(width);
  for (const Span &span : spans_) {
    out.add(from_column(span.text, from), span.style);
    from -= std::min(from, columns_of(span.text));
  }
  return out;
}

size_t Line::extent() const {
  const std::string all = text();
  return columns_of(std::string_view(all).substr(0, all.find_last_not_of(' ') + 1));
}

std::string Line::text() const {
  std::string out;
  for (const Span &span : spans_)
    out += span.text;
  return out;
}

std::string to_text(const Screen &screen) {
  std::string out;
  for (const Line &line : screen.lines) {
    std::string text = line.text();
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

} // namespace xr::watch
