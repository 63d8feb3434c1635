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
constexpr size_t kTall = 24; // rows; on a smaller screen, lines of zeros are left out

// Rows of streams: meters are left out before these.
size_t least_streams(const State &state, const Size &size) {
  const size_t streams = state.view().counted().streams.size();
  return std::min<size_t>(std::max<size_t>(streams, 1), size.rows < kTall ? 3 : 12);
}

void put(Screen &screen, std::vector<Line> lines, size_t most) {
  for (size_t i = 0; i < std::min(lines.size(), most); i++)
    screen.lines.push_back(std::move(lines[i]));
}

Screen too_small(const Size &size) {
  Screen screen;
  if (size.rows)
    screen.lines.push_back(Line(size.columns).add("too small: needs 30x5; q quits"));
  return screen;
}

Screen waiting(const State &state, const Size &size) {
  Screen screen;
  screen.lines.push_back(title_line(state, nullptr, size.columns));
  screen.lines.push_back(Line(size.columns).add("reading the port ..."));
  return screen;
}

// The streams page. `below`: rows reserved at the bottom. Streams get the rows that the other parts
// leave.
void streams_page(State &state, const Size &size, Screen &screen, size_t below) {
  const auto left = [&] { return size.rows - std::min(size.rows, screen.lines.size() + below); };
  // Replaced below, when the window is known.
  screen.lines.push_back(title_line(state, nullptr, size.columns));
  if (state.ports.size() > 1)
    screen.lines.push_back(ports_line(state, size.columns));
  screen.lines.push_back(summary_line(state, size.columns));
  if (const auto overflow = overflow_line(state, size.columns))
    screen.lines.push_back(*overflow);
  const size_t reserved = 1 + least_streams(state, size);
  put(screen, link_lines(state, size.columns), left() > reserved ? left() - reserved : 0);
  put(screen, rates_lines(state, size.columns), left() > reserved ? left() - reserved : 0);
  // Lines of zeros leave their room to streams.
  std::vector<Line> meters = meter_lines(state, size.columns, false);
  const size_t others = state.view().counted().streams.size() + state.view().rules().size() + 2;
  if (size.rows < kTall || left() < meters.size() + others)
    meters = meter_lines(state, size.columns, true);
  put(screen, std::move(meters), left() > reserved ? left() - reserved : 0);
  const size_t rules = left() > reserved ? std::max<size_t>((left() - reserved) / 2, 2) : 0;
  put(screen, rule_lines(state, size.columns, rules), left() > reserved ? left() - reserved : 0);
  const size_t rows = left() > 1 ? left() - 1 : 0;
  state.rows = std::max<size_t>(rows, 1);
  const StreamList::Window window = state.list().window(state.view(), rows);
  screen.lines[0] = title_line(state, &window, size.columns);
  put(screen, stream_lines(state, window, size.columns), left());
}

Listing listing_of(const State &state, size_t width) {
  switch (state.page) {
  case Page::Rules:
    return rules_page(state);
  case Page::Events:
    return events_page(state);
  case Page::Job:
    return job_page(state, width);
  case Page::SortMenu:
    return sort_menu(state);
  case Page::Detail:
    return stream_page(state, width);
  default:
    return help_page();
  }
}

void list_page(State &state, const Size &size, Screen &screen, size_t below) {
  screen.lines.push_back(title_line(state, nullptr, size.columns));
  const size_t rows = size.rows - std::min(size.rows, screen.lines.size() + 1 + below);
  state.rows = std::max<size_t>(rows, 1);
  if (state.page == Page::SortMenu) { // keeps the selected line visible
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
    screen.lines.push_back(line.visible_part(state.left_column, size.columns));
  }
  state.overhang = longest - size.columns;
}

} // namespace

Screen render(State &state, const Size &size) {
  if (size.columns < kLeastColumns || size.rows < kLeastRows)
    return too_small(size);
  if (!state.view().ready())
    return waiting(state, size);
  Screen screen;
  const size_t below = state.options.interactive ? 1 : 0; // the line of keys
  if (state.page == Page::Streams)
    streams_page(state, size, screen, below);
  else
    list_page(state, size, screen, below);
  if (below) {
    while (screen.lines.size() + below < size.rows)
      screen.lines.emplace_back(size.columns);
    screen.lines.push_back(key_line(state, size.columns));
  }
  return screen;
}

} // namespace xr::watch
