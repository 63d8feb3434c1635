// SPDX-License-Identifier: Apache-2.0
#include "watch/layout.h"

#include <algorithm>

#include "watch/pages.h"
#include "watch/panels.h"
#include "watch/stream_page.h"
#include "watch/stream_table.h"

namespace xr::watch {

namespace {

constexpr size_t kLeastColumns = 30, kLeastRows = 5;
constexpr size_t kLeastStreams = 3; // rows; meters give way to them
constexpr size_t kTall = 24;        // rows; below, lines of nothing but 0 are left out

void put(Frame &frame, std::vector<Line> lines, size_t most) {
  for (size_t i = 0; i < std::min(lines.size(), most); i++)
    frame.lines.push_back(std::move(lines[i]));
}

Frame too_small(const Size &size) {
  Frame frame;
  if (size.rows)
    frame.lines.push_back(Line(size.columns).add("too small: 30x5 at least; q quits"));
  return frame;
}

Frame waiting(const State &state, const Size &size) {
  Frame frame;
  frame.lines.push_back(title_line(state, nullptr, size.columns));
  frame.lines.push_back(Line(size.columns).add("the port is being read ..."));
  return frame;
}

// Lines that the page's parts take, the title's among them; what is left is the streams'.
void streams_page(State &state, const Size &size, Frame &frame, size_t below) {
  const auto left = [&] { return size.rows - std::min(size.rows, frame.lines.size() + below); };
  frame.lines.push_back(title_line(state, nullptr, size.columns)); // told again below
  if (state.ports.size() > 1)
    frame.lines.push_back(ports_line(state, size.columns));
  frame.lines.push_back(summary_line(state, size.columns));
  if (const auto overflow = overflow_line(state, size.columns))
    frame.lines.push_back(*overflow);
  const size_t reserved = 1 + kLeastStreams;
  put(frame, meter_lines(state, size.columns, size.rows < kTall),
      left() > reserved ? left() - reserved : 0);
  const size_t rules = left() > reserved ? std::max<size_t>((left() - reserved) / 2, 2) : 0;
  put(frame, rule_lines(state, size.columns, rules), left() > reserved ? left() - reserved : 0);
  const size_t rows = left() > 1 ? left() - 1 : 0;
  state.rows = std::max<size_t>(rows, 1);
  const StreamList::Window window = state.list().window(state.view(), rows);
  frame.lines[0] = title_line(state, &window, size.columns);
  put(frame, stream_lines(state, window, size.columns), left());
}

Listing listing_of(const State &state, size_t width) {
  switch (state.page) {
  case Page::Rules:
    return rules_page(state);
  case Page::Events:
    return events_page(state);
  case Page::SortMenu:
    return sort_menu(state);
  case Page::Detail:
    return stream_page(state, width);
  default:
    return help_page();
  }
}

void list_page(State &state, const Size &size, Frame &frame, size_t below) {
  frame.lines.push_back(title_line(state, nullptr, size.columns));
  const size_t rows = size.rows - std::min(size.rows, frame.lines.size() + 1 + below);
  state.rows = std::max<size_t>(rows, 1);
  if (state.page == Page::SortMenu) { // the chosen line is to be seen
    state.menu = std::min(state.menu, sort_keys().size() - 1);
    state.scroll =
        std::clamp(state.scroll, state.menu >= rows ? state.menu - rows + 1 : 0, state.menu);
  }
  const Listing page = listing_of(state, size.columns);
  state.scroll = std::min(state.scroll, page.rows > rows ? page.rows - rows : 0);
  std::vector<Line> lines = {page.head};
  for (size_t row = state.scroll; row < std::min(page.rows, state.scroll + rows); row++)
    lines.push_back(page.row(row));
  size_t longest = size.columns;
  for (const Line &line : lines) {
    longest = std::max(longest, line.extent());
    frame.lines.push_back(line.part(state.shift, size.columns));
  }
  state.beyond = longest - size.columns;
}

} // namespace

Frame lay_out(State &state, const Size &size) {
  if (size.columns < kLeastColumns || size.rows < kLeastRows)
    return too_small(size);
  if (!state.view().ready())
    return waiting(state, size);
  Frame frame;
  const size_t below = state.options.interactive ? 1 : 0; // the line of keys
  if (state.page == Page::Streams)
    streams_page(state, size, frame, below);
  else
    list_page(state, size, frame, below);
  if (below) {
    while (frame.lines.size() + below < size.rows)
      frame.lines.emplace_back(size.columns);
    frame.lines.push_back(key_line(state, size.columns));
  }
  return frame;
}

} // namespace xr::watch
