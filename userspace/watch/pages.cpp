// SPDX-License-Identifier: Apache-2.0
#include "watch/pages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "watch/panels.h"
#include "watch/stream_page.h"
#include "watch/stream_table.h"
#include "watch/text.h"

namespace xr::watch {

namespace {

constexpr std::array<KeyHelp, 17> kKeys = {{
    {"q  F10  Ctrl-C  Esc", "quit; Esc goes back first, and clears the filter"},
    {"?  h  F1", "a page of these keys"},
    {"Up Down", "select a stream; it is followed wherever the order takes it"},
    {"PgUp PgDn Home End", "likewise; Home goes to the worst, and follows none"},
    {"Left Right", "of rules, events and details: the rest of long lines"},
    {"Enter", "all counters of the selected stream, and its recent events"},
    {"/  F3  F4", "filter: words in addresses, QP, kind or transport"},
    {"s  F6", "sort by: a menu; largest first"},
    {"<  >", "sort by the column to the left, to the right"},
    {"M W E N", "sort by missing PSNs, rewinds, CE marks, CNPs"},
    {"P B", "sort by packets, bits a second"},
    {"I", "the other way round"},
    {"Tab  1 to 9", "another port"},
    {"r", "all rules with their counts"},
    {"e", "the port's recent events"},
    {"z", "count from now on; again: all since the port was attached"},
    {"p  space", "hold the picture; nothing is lost meanwhile"},
}};

// Words of the screen, below them.
constexpr std::array<KeyHelp, 4> kWords = {{
    {"", ""},
    {"missing", "PSNs jumped over and never seen; rewinds: go-back-N rounds"},
    {"PPM", "acted upon, of a million packets that the rule matched"},
    {"OVERFLOW", "what found no room; `xdp-roce counters` has the words"},
}};

std::string words_for(const std::string &key) {
  if (key == kPacketRate)
    return "packets a second";
  if (key == kBitRate)
    return "bits a second";
  const report::StreamColumn *column = report::stream_column(key);
  return column ? heading_of(column->column) : key;
}

} // namespace

Listing rules_page(const State &state) {
  const auto &rules = state.view().rules();
  Listing page{rule_heading(state, kFullWidth), std::max<size_t>(rules.size(), 1), {}};
  page.row = [&state, &rules](size_t row) {
    return rules.empty() ? Line(kFullWidth).add("no rules: xdp-roce impair IF add ...", Look::Dim)
                         : rule_line(state, rules[row], kFullWidth);
  };
  return page;
}

Listing events_page(const State &state) {
  const PortView &port = state.view();
  Line head(kFullWidth);
  head.add(fmt::format("EVENTS  {}, newest first  ", port.events().size()), Look::Heading);
  head.add(about_events(port, port.events().empty()), Look::Heading);
  return {
      head.fill(Look::Heading), port.events().size(), [&port](size_t row) {
        return Line(kFullWidth)
            .add(event_line(port, *(port.events().rbegin() + static_cast<ptrdiff_t>(row)), true));
      }};
}

Listing sort_menu(const State &state) {
  const auto keys = sort_keys();
  Line head(kFullWidth);
  head.add("SORT BY  Enter chooses", Look::Heading).fill(Look::Heading);
  return {head, keys.size(), [keys, &state](size_t row) {
            const bool chosen = row == state.menu;
            Line line(kFullWidth);
            line.add(" " + to_left(keys[row], 18) + words_for(keys[row]),
                     chosen ? Look::Selected : Look::Plain);
            return chosen ? line.fill(Look::Selected) : line;
          }};
}

std::span<const KeyHelp> key_help() { return kKeys; }

Listing help_page() {
  Line head(kFullWidth);
  head.add("HELP  Esc goes back", Look::Heading).fill(Look::Heading);
  return {head, kKeys.size() + kWords.size(), [](size_t row) {
            const KeyHelp &one = row < kKeys.size() ? kKeys[row] : kWords[row - kKeys.size()];
            return Line(kFullWidth).add(" " + to_left(one.keys, 20), Look::Bold).add(one.what);
          }};
}

} // namespace xr::watch
