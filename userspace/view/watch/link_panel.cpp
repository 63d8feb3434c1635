// SPDX-License-Identifier: Apache-2.0
#include "watch/link_panel.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/text.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

using report::Format;
using report::format_value;

std::string us(uint64_t ns) { return format_value(static_cast<double>(ns) / 1000, Format::Rate); }

Line main_line(const State &state, const WirePortCounts &counts, size_t width) {
  const LinkCounts &link = counts.link;
  const PortView::LinkRates &rates = state.view().link_rates();
  Line line(width);
  line.add("LINK  ", Style::Bold);
  if (!state.view().wire_running())
    line.add("no wire process, last: ", Style::Alarm);
  line.add(fmt::format("out {}/s  {}  busy {:.0f} %", format_value(rates.frames, Format::Rate),
                       report::scaled_words(rates.bits, "bit/s"), rates.busy * 100));
  line.add(fmt::format("  backlog {}", xr::counted(link.total().backlog_bytes, "byte")),
           Style::Bold);
  line.add(fmt::format(" (mean {}, p99 {}, most {})", scaled(link.backlog.mean()),
                       scaled(static_cast<double>(link.backlog.quantile(0.99))),
                       scaled(static_cast<double>(link.backlog_most))));
  line.add(fmt::format("  sojourn p50 {} p99 {} us", us(link.sojourn.quantile(0.5)),
                       us(link.sojourn.quantile(0.99))));
  if (width > line.used() + 1)
    line.add(" " +
             sparkline(state.view().backlog(), width - line.used() - 1, state.options.unicode));
  return line;
}

Line trouble_line(const WirePortCounts &counts, size_t width) {
  const LinkClassCounts all = counts.link.total();
  Line line(width);
  const auto add = [&](const std::string &text, Style style) {
    line.add((line.used() ? "  " : "      ") + text, style);
  };
  for (unsigned cause = 1; cause < kLinkDrops; cause++)
    if (all.drops[cause])
      add(fmt::format("dropped, {} {}", link_drop_name(static_cast<LinkDrop>(cause)),
                      counted(all.drops[cause])),
          Style::Alarm);
  if (all.marks)
    add(fmt::format("marked CE {}", counted(all.marks)), Style::Plain);
  if (all.xoff_received)
    add(fmt::format("paused {}, {} us", xr::counted(all.xoff_received, "time"), us(all.paused_ns)),
        Style::Plain);
  if (all.xoff_sent)
    add(fmt::format("pauses sent {}", counted(all.xoff_sent)), Style::Plain);
  return line;
}

} // namespace

std::vector<Line> link_lines(const State &state, size_t width) {
  const auto &counts = state.view().wire();
  if (!counts || !counts->link.started)
    return {};
  std::vector<Line> lines = {main_line(state, *counts, width)};
  if (Line trouble = trouble_line(*counts, width); trouble.used())
    lines.push_back(std::move(trouble));
  return lines;
}

} // namespace xr::watch
