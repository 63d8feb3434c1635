// SPDX-License-Identifier: Apache-2.0
#include "watch/pages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "watch/panels.h"
#include "watch/stream_page.h"
#include "watch/stream_table.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

constexpr std::array<KeyHelp, 17> kKeys = {{
    {"q  F10  Ctrl-C  Esc", "quit; Esc goes back first, and clears the filter"},
    {"?  h  F1", "this page"},
    {"Up Down", "select a stream; it stays selected when the order changes"},
    {"PgUp PgDn Home End", "by a page or to an end; Home selects the first row"},
    {"Left Right", "scroll long lines of rules, events and details"},
    {"Enter", "counters and recent events of the selected stream"},
    {"/  F3  F4", "filter: words in addresses, QP, kind or transport"},
    {"s  F6", "menu of sort keys; largest first"},
    {"<  >", "sort by the column to the left, to the right"},
    {"M W E N", "sort by losses, rewinds, CE marks, CNPs"},
    {"P B", "sort by packets, bits a second"},
    {"I", "reverse the order"},
    {"Tab  1 to 9", "another port"},
    {"r", "all rules with their counters"},
    {"e", "the port's recent events"},
    {"z", "count from now on; again: since the port was attached"},
    {"p  space", "pause the display; nothing is lost"},
}};

// Terms on the screen, shown below the keys.
constexpr std::array<KeyHelp, 5> kWords = {{
    {"", ""},
    {"LOST", "PSNs lost before this port, also if they were sent again"},
    {"missing", "PSNs skipped and never received; rewinds: go-back-N rounds"},
    {"PPM", "packets acted on, per million that the rule matched"},
    {"OVERFLOW", "losses by full tables or queues; see `xdp-roce counters`"},
}};

std::string words_for(const std::string &key) {
  if (key == kPacketRate)
    return "packets a second";
  if (key == kBitRate)
    return "bits a second";
  if (key == report::kTrouble)
    return "losses, then rewinds, then CE marks";
  const report::StreamColumn *column = report::stream_column(key);
  return column ? heading_of(column->column) : key;
}

} // namespace

Listing rules_page(const State &state) {
  const auto &rules = state.view().rules();
  Listing page{rule_heading(state, kFullWidth), std::max<size_t>(rules.size(), 1), {}};
  page.row = [&state, &rules](size_t row) {
    return rules.empty() ? Line(kFullWidth).add("no rules: xdp-roce impair IF add ...", Style::Dim)
                         : rule_line(state, rules[row], kFullWidth);
  };
  return page;
}

Listing events_page(const State &state) {
  const PortView &port = state.view();
  Line head(kFullWidth);
  head.add(fmt::format("EVENTS  {}, newest first  ", port.events().size()), Style::Heading);
  head.add(about_events(port, port.events().empty()), Style::Heading);
  return {
      head.fill(Style::Heading), port.events().size(), [&port](size_t row) {
        return Line(kFullWidth)
            .add(event_line(port, *(port.events().rbegin() + static_cast<ptrdiff_t>(row)), true));
      }};
}

Listing sort_menu(const State &state) {
  const auto keys = sort_keys();
  Line head(kFullWidth);
  head.add("SORT BY  Enter chooses", Style::Heading).fill(Style::Heading);
  return {head, keys.size(), [keys, &state](size_t row) {
            const bool chosen = row == state.menu;
            Line line(kFullWidth);
            line.add(" " + to_left(keys[row], 18) + words_for(keys[row]),
                     chosen ? Style::Selected : Style::Plain);
            return chosen ? line.fill(Style::Selected) : line;
          }};
}

// To add a key: model.cpp and kKeys, from which the manual is made; watch_test, watch.sh.
std::span<const KeyHelp> key_help() { return kKeys; }

Listing help_page() {
  Line head(kFullWidth);
  head.add("HELP  Esc goes back", Style::Heading).fill(Style::Heading);
  return {head, kKeys.size() + kWords.size(), [](size_t row) {
            const KeyHelp &help = row < kKeys.size() ? kKeys[row] : kWords[row - kKeys.size()];
            return Line(kFullWidth).add(" " + to_left(help.keys, 20), Style::Bold).add(help.what);
          }};
}

} // namespace xr::watch
