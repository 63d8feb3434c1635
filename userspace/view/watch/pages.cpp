// SPDX-License-Identifier: Apache-2.0
#include "watch/pages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/names.h"
#include "report/live_job.h"
#include "report/phrases.h"
#include "watch/panels.h"
#include "watch/stream_page.h"
#include "watch/stream_table.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

using report::time_words;

constexpr std::array<KeyHelp, 18> kKeys = {{
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
    {"j", "the training job: steps, late ranks (attach --job)"},
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

template <typename Add>
void add_steps(const LiveJob &live, size_t width, bool unicode, const Add &add) {
  const std::vector<uint64_t> times = report::live_step_times(live);
  if (!live.job.is_job() || times.empty())
    return;
  std::vector<uint64_t> sorted = times;
  std::ranges::sort(sorted);
  const uint64_t median = sorted[sorted.size() / 2];
  History history;
  for (const uint64_t ns : times)
    history.add(static_cast<double>(ns));
  const size_t columns = std::min(times.size(), width > 12 ? width - 12 : 1);
  add("");
  add("step time   " + sparkline(history, columns, unicode));
  add(fmt::format("            {} newest, {} median, {} p99, {} most", time_words(times.back()),
                  time_words(median), time_words(sorted[(sorted.size() - 1) * 99 / 100]),
                  time_words(sorted.back())));
  for (const JobIncast &most : live.job.incast)
    if (most.senders > 1)
      add(fmt::format("incast      {} sent to {} within {}", xr::counted(most.senders, "rank"),
                      names::address(live.job.ranks[most.to].data()), time_words(most.window_ns)));
  add("");
  add("LATE STEPS  newest first", Style::Bold);
  for (size_t i = times.size(); i-- > 0;) {
    const JobStep &step = live.job.steps[i];
    if (!report::is_late(step, median))
      continue;
    const bool known = step.late_rank != JobStep::kNoRank;
    add(fmt::format("step {:<8} {:>10}  {}", live.steps_before + i + 1, time_words(times[i]),
                    known ? fmt::format("{} late by {}",
                                        names::address(live.job.ranks[step.late_rank].data()),
                                        time_words(step.late_ns))
                          : "no rank is an outlier"));
  }
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

// Its sentence, the steps as a sparkline, and below who was late in which step, newest first.
Listing job_page(const State &state, size_t width) {
  Line head(kFullWidth);
  head.add("JOB", Style::Heading).fill(Style::Heading);
  std::vector<Line> lines;
  const auto add = [&lines](const std::string &text, Style style = Style::Plain) {
    lines.push_back(Line(kFullWidth).add(text, style));
  };
  const auto &live = state.view().job();
  if (!live) {
    add("the port keeps no bursts: xdp-roce attach IF --job", Style::Dim);
  } else {
    std::string sentence = report::live_job_sentence(*live);
    if (const size_t late = sentence.find("; "); late != std::string::npos) {
      add(sentence.substr(0, late));
      add(sentence.substr(late + 2), Style::Alarm);
    } else {
      add(sentence);
    }
    if (live->missed)
      add(fmt::format("OVERFLOW {} bursts were overwritten before they were read", live->missed),
          Style::Alarm);
    add_steps(*live, width, state.options.unicode, add);
  }
  const size_t rows = lines.size();
  return {head, rows, [lines = std::move(lines)](size_t row) { return lines[row]; }};
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
