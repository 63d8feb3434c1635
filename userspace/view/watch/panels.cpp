// SPDX-License-Identifier: Apache-2.0
#include "watch/panels.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/names.h"
#include "report/sections.h"
#include "report/text.h"
#include "watch/listing.h"
#include "watch/text_width.h"

namespace xr::watch {

namespace {

using report::Format;
using report::format_value;

constexpr size_t kTwoColumns = 76; // minimum width for two columns of meters
constexpr size_t kPanelGap = 2;

std::string per_second(double rate) { return format_value(rate, Format::Rate); }
std::string bits(double number) { return report::scaled_words(number, "bit/s"); }

// Exact if it fits, otherwise with an SI prefix.
std::string counted_in(uint64_t number, size_t columns) {
  const std::string exact = counted(number);
  return to_right(exact.size() < columns ? exact : scaled(static_cast<double>(number)), columns);
}

std::string time_of_day(uint64_t realtime_ns) {
  return names::local_time(realtime_ns).substr(0, 8);
}

const std::vector<Meter> &left_meters() {
  static const std::vector<Meter> kMeters = {
      Meter::Data,   Meter::ReadRequest, Meter::ReadResponse, Meter::Ack, Meter::Nak,
      Meter::RnrNak, Meter::Atomic,      Meter::Cnp,          Meter::Gsi, Meter::OtherRoce};
  return kMeters;
}

const std::vector<Meter> &right_meters() {
  static const std::vector<Meter> kMeters = {Meter::Ce,
                                             Meter::NotEct,
                                             Meter::Ect0,
                                             Meter::Ect1,
                                             Meter::CnpAfterCe,
                                             Meter::CnpAfterNak,
                                             Meter::CnpAfterNeither,
                                             Meter::CnpUnexplained,
                                             Meter::Pfc,
                                             Meter::Malformed};
  return kMeters;
}

// Columns of a meter: name, packets per second, total or bit/s; the sparkline takes the rest.
constexpr size_t kName = 13, kRate = 11, kTotal = 15, kBits = 7;

Line meter_heading(const char *name, bool total, size_t width) {
  Line line(width);
  line.add(to_left(name, kName) + to_right("packets/s", kRate) +
               to_right(total ? "packets" : "bit/s", total ? kTotal : kBits),
           Style::Heading);
  return line.fill(Style::Heading);
}

Line meter_line(const State &state, Meter meter, bool total, size_t width) {
  const PortView::Gauge &gauge = state.view().gauges().of(meter);
  const Style style = !gauge.total                        ? Style::Dim
                      : is_alarm(meter) && gauge.rate > 0 ? Style::Alarm
                                                          : Style::Plain;
  Line line(width);
  line.add(to_left(meter_name(meter), kName) + to_right(per_second(gauge.rate), kRate), style);
  if (total)
    line.add(counted_in(gauge.total, kTotal), style);
  else
    line.add(to_right(has_bytes(meter) ? scaled(gauge.bits) : "", kBits), style);
  if (width > line.used() + 1)
    line.add(" " + sparkline(gauge.history, width - line.used() - 1, state.options.unicode),
             is_alarm(meter) ? style : Style::Plain);
  return line;
}

std::vector<Line> meter_column(const State &state, const std::vector<Meter> &meters, bool total,
                               size_t width, bool short_of_rows) {
  std::vector<Line> lines = {meter_heading(total ? "ECN, CNP" : "RoCE", total, width)};
  for (const Meter meter : meters)
    if (!short_of_rows || state.view().gauges().of(meter).total)
      lines.push_back(meter_line(state, meter, total, width));
  return lines;
}

} // namespace

Line title_line(const State &state, const StreamList::Window *window, size_t width) {
  const PortView &port = state.view();
  Line line(width);
  line.add(" xdp-roce watch  " + port.name(), Style::Bar);
  if (!port.about().empty())
    line.add("  " + port.about(), Style::Bar);
  if (window && port.ready()) {
    const size_t all = port.counted().streams.size();
    line.add(window->matching == all
                 ? "  " + xr::counted(all, "stream")
                 : fmt::format("  {} of {}", counted(window->matching), xr::counted(all, "stream")),
             Style::Bar);
  }
  if (const auto since = port.zeroed_at())
    line.add("  since " + time_of_day(*since), Style::Bar);
  if (!port.lost().empty())
    line.add("  GONE", Style::Alarm);
  if (state.paused)
    line.add("  PAUSED", Style::Bar);
  if (!port.no_events().empty())
    line.add("  no events (e: why)", Style::Bar);
  const std::string time = port.ready() ? time_of_day(port.realtime_ns()) : "";
  const std::string every = fmt::format("every {} s  ", state.options.interval);
  line.add_right((line.used() + every.size() + time.size() + 2 < width ? every : "") + time + " ",
                 Style::Bar);
  return line.fill(Style::Bar);
}

Line ports_line(const State &state, size_t width) {
  Line line(width);
  for (size_t i = 0; i < state.ports.size(); i++) {
    const PortView &port = state.ports[i];
    const auto &gauges = port.gauges();
    const bool lost = !port.lost().empty();
    std::string text = fmt::format(" {}:{} ", i + 1, port.name());
    text += lost ? "gone"
                 : fmt::format("{}/s {}", per_second(gauges.of(Meter::Roce).rate),
                               bits(gauges.of(Meter::Roce).bits));
    for (const Meter meter : {Meter::Ce, Meter::Nak, Meter::Cnp})
      if (gauges.of(meter).rate > 0)
        text += fmt::format(" {} {}/s", meter_name(meter), per_second(gauges.of(meter).rate));
    line.add(text + " ", i == state.port ? Style::Selected : lost ? Style::Alarm : Style::Plain);
  }
  return line;
}

Line summary_line(const State &state, size_t width) {
  const auto &gauges = state.view().gauges();
  const PortView::Gauge &roce = gauges.of(Meter::Roce), &frames = gauges.of(Meter::Frames);
  Line line(width);
  if (!state.view().lost().empty())
    line.add(state.view().lost() + "; last read: ", Style::Alarm);
  line.add("RoCE " + xr::counted(roce.total, "packet"), Style::Bold);
  line.add(fmt::format("  {}/s  {}", per_second(roce.rate), bits(roce.bits)), Style::Bold);
  line.add(fmt::format("  all frames {}  {}/s  {}", counted(frames.total), per_second(frames.rate),
                       bits(frames.bits)));
  return line;
}

std::vector<Line> meter_lines(const State &state, size_t width, bool short_of_rows) {
  if (width < kTwoColumns) {
    auto lines = meter_column(state, left_meters(), false, width, short_of_rows);
    const auto right = meter_column(state, right_meters(), true, width, true);
    if (right.size() > 1)
      lines.insert(lines.end(), right.begin(), right.end());
    return lines;
  }
  const size_t half = (width - kPanelGap) / 2;
  const auto left = meter_column(state, left_meters(), false, half, short_of_rows);
  const auto right =
      meter_column(state, right_meters(), true, width - kPanelGap - half, short_of_rows);
  std::vector<Line> lines;
  for (size_t i = 0; i < std::max(left.size(), right.size()); i++) {
    Line line(width);
    if (i < left.size())
      line.append(left[i]);
    line.pad_to(half + kPanelGap);
    if (i < right.size())
      line.append(right[i]);
    lines.push_back(line);
  }
  return lines;
}

std::optional<Line> overflow_line(const State &state, size_t width) {
  Line line(width);
  for (const report::Field &field : report::overflow_of(state.view().counted())) {
    if (report::is_zero(field.value))
      continue;
    std::string name = field.column.key;
    std::replace(name.begin(), name.end(), '_', ' ');
    line.add(fmt::format("{}{} {}", line.used() ? "  " : "OVERFLOW  ", name,
                         format_value(field.value, Format::Count)),
             Style::Alarm);
  }
  return line.used() ? std::optional(line) : std::nullopt;
}

// Whether the screen has room for the rates of rules. A page's lines are scrolled, so that their
// length is not that of the screen: they have the columns of a narrow one.
static bool has_rates(size_t width) {
  constexpr size_t kLeast = 160;
  return width >= kLeast && width < kFullWidth;
}

Line rule_heading(const State &state, size_t width, size_t more) {
  Line line(width);
  line.add(to_right("RULE", 4) + to_right("MATCHED", 14) + to_right("ACTED", 13) +
               to_right("PPM", 10) +
               (has_rates(width) ? to_right("PKT/S", 9) + to_right("BIT/S", 9) : "") + "  WHAT",
           Style::Heading);
  if (more)
    line.add_right(fmt::format("{} more{} ", more, state.options.interactive ? ": r" : ""),
                   Style::Heading);
  return line.fill(Style::Heading);
}

Line rule_line(const State &state, const RuleRow &rule, size_t width) {
  const auto ppm = parts_per_million(rule);
  Line line(width);
  line.add(to_right(std::to_string(rule.id), 4) + counted_in(rule.matched, 14));
  line.add(counted_in(rule.acted, 13), rule.acted ? Style::Bold : Style::Plain);
  line.add(to_right(ppm ? per_second(*ppm) : "-", 10));
  if (has_rates(width)) {
    const auto rates = state.view().rule_rates(rule.id);
    line.add(to_right(rates ? per_second(rates->matched) : "-", 9) +
             to_right(rates ? scaled(rates->bits) : "-", 9));
  }
  line.add("  " + drawable(rule.text, state.options.unicode));
  return line;
}

std::vector<Line> rule_lines(const State &state, size_t width, size_t rows) {
  const auto &rules = state.view().rules();
  if (rules.empty() || rows < 2)
    return {};
  const size_t shown = std::min(rules.size(), rows - 1);
  std::vector<Line> lines = {rule_heading(state, width, rules.size() - shown)};
  for (size_t i = 0; i < shown; i++)
    lines.push_back(rule_line(state, rules[i], width));
  return lines;
}

Line key_line(const State &state, size_t width) {
  Line line(width);
  if (state.editing || !state.list().filter().empty()) {
    line.add(state.editing ? " Filter: " : " Filter (/): ", Style::Bar);
    line.add(drawable(state.list().filter(), state.options.unicode), Style::Bar);
    line.add(state.editing ? "_  Enter keep  Esc clear" : "  Esc clear  ? help  q quit",
             Style::Bar);
    return line.fill(Style::Bar);
  }
  line.add(state.page == Page::Streams
               ? " q quit  ? help  / filter  s sort  Enter detail  r rules  e events  z zero"
               : " q quit  ? help  Esc back  arrows scroll",
           Style::Bar);
  return line.fill(Style::Bar);
}

namespace {

std::string bits_per_second(double rate) { return report::scaled_words(rate, "bit/s"); }

} // namespace

std::vector<Line> rates_lines(const State &state, size_t width) {
  const auto &rates = state.view().rates();
  if (!rates)
    return {};
  const QpRate total = rates->total();
  Line line(width);
  line.add("RATES ", Style::Bold);
  line.add(
      fmt::format("{}  {} ", rates->responder ? "respond" : "send", xr::counted(total.qps, "QP")));
  line.add(bits_per_second(total.rate), Style::Bold);
  if (rates->qps.size() > 1) {
    const auto [least, most] =
        std::minmax_element(rates->qps.begin(), rates->qps.end(),
                            [](const QpRate &a, const QpRate &b) { return a.rate < b.rate; });
    line.add(fmt::format(" ({} to {})", bits_per_second(least->rate), bits_per_second(most->rate)));
  }
  line.add(fmt::format("  alpha {:.3f}  Jain {:.3f}  CNPs {}  cuts {}", total.alpha, rates->jain,
                       counted(total.cnps), counted(total.cuts)));
  if (width > line.used() + 1)
    line.add(" " + sparkline(state.view().rate_history(), width - line.used() - 1,
                             state.options.unicode));
  return {line};
}

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
