// SPDX-License-Identifier: Apache-2.0
#include "plot/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/xml.h"
#include "plot/ticks.h"

namespace xr::plot {

namespace {

constexpr uint32_t kRankRows = 64;
constexpr double kTimelineWidth = 1000, kTimelineLeft = 110, kTimelineRight = 20, kTimelineTop = 58,
                 kRow = 16;
// Rows of several ranks have columns of time, drawn in levels of opacity.
constexpr size_t kTimeColumns = 174, kOpacities = 5, kSlowRanks = 8;
constexpr double kColumnWidth = (kTimelineWidth - kTimelineLeft - kTimelineRight) / kTimeColumns;
// Okabe and Ito's colours, as in svg.cpp.
constexpr const char *kCompute = "#e69f00", *kExchange = "#0072b2";

struct Scale {
  double from = 0, to = 1; // ns
  double x(double ns) const {
    return kTimelineLeft +
           (ns - from) / (to - from) * (kTimelineWidth - kTimelineLeft - kTimelineRight);
  }
};

Scale scale_of(const ExperimentJob &job) {
  Scale scale{static_cast<double>(job.spans.front().from_ns), 0};
  for (const ExperimentJob::Span &span : job.spans) {
    scale.from = std::min(scale.from, static_cast<double>(span.from_ns));
    scale.to = std::max(scale.to, static_cast<double>(span.to_ns));
  }
  scale.to = std::max(scale.to, scale.from + 1);
  return scale;
}

// Ranks `first` to `last`; a caption has none.
struct TimelineRow {
  std::string label;
  uint32_t first = 1, last = 0;
  double y = 0; // upper edge
};

// The ranks that most steps waited for, those with most first.
std::vector<uint32_t> slow_ranks(const ExperimentJob &job) {
  std::vector<uint32_t> slow;
  for (uint32_t rank = 0; rank < job.ranks.size(); rank++)
    if (job.ranks[rank].slowest)
      slow.push_back(rank);
  std::ranges::stable_sort(slow, std::greater(),
                           [&job](uint32_t rank) { return job.ranks[rank].slowest; });
  slow.resize(std::min(slow.size(), kSlowRanks));
  return slow;
}

std::string rank_label(const ExperimentJob &job, uint32_t rank) {
  return fmt::format("{} {}", rank, job.ranks[rank].host);
}

std::vector<TimelineRow> timeline_rows(const ExperimentJob &job, uint32_t ranks_a_row) {
  std::vector<TimelineRow> rows;
  if (ranks_a_row > 1) {
    const std::vector<uint32_t> slow = slow_ranks(job);
    if (!slow.empty())
      rows.push_back({"Ranks that steps waited for longest:"});
    for (const uint32_t rank : slow)
      rows.push_back({rank_label(job, rank), rank, rank});
    rows.push_back(
        {fmt::format("All ranks, {} a row; the paler, the fewer of them:", ranks_a_row)});
  }
  const auto count = static_cast<uint32_t>(job.ranks.size());
  for (uint32_t first = 0; first < count; first += ranks_a_row) {
    const uint32_t last = std::min(first + ranks_a_row, count) - 1;
    rows.push_back({ranks_a_row == 1 ? rank_label(job, first)
                    : first == last  ? fmt::format("{}", first)
                                     : fmt::format("{}-{}", first, last),
                    first, last});
  }
  double y = kTimelineTop;
  for (TimelineRow &row : rows)
    row.y = std::exchange(y, y + kRow);
  return rows;
}

// Compute is the upper half of a row, exchange the lower one.
void draw_span(std::string &out, const ExperimentJob::Span &span, double y, const Scale &scale) {
  const double left = scale.x(static_cast<double>(span.from_ns)),
               right = scale.x(static_cast<double>(span.to_ns)),
               top = y + (span.compute ? 1 : kRow / 2);
  fmt::format_to(std::back_inserter(out),
                 "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
                 "fill=\"{}\"{}/>\n",
                 left, top, std::max(right - left, 0.3), kRow / 2 - 1,
                 span.compute ? kCompute : kExchange,
                 span.share < 1 ? fmt::format(" fill-opacity=\"{:.2f}\"", span.share) : "");
}

using ColumnTimes = std::array<double, kTimeColumns>;

void add_time(ColumnTimes &to, const ExperimentJob::Span &span, const Scale &scale) {
  const double column_ns = (scale.to - scale.from) / kTimeColumns,
               from = (static_cast<double>(span.from_ns) - scale.from) / column_ns,
               end = (static_cast<double>(span.to_ns) - scale.from) / column_ns;
  for (auto i = static_cast<size_t>(from); i < kTimeColumns && static_cast<double>(i) < end; i++)
    to.at(i) +=
        (std::min(end, static_cast<double>(i + 1)) - std::max(from, static_cast<double>(i))) *
        static_cast<double>(span.share);
}

// Rows of one kind as one path a level of opacity: the share of a row's ranks at work in a column.
void draw_shares(std::string &out, const ExperimentJob &job, const std::vector<TimelineRow> &rows,
                 bool compute, const Scale &scale) {
  std::array<std::string, kOpacities + 1> paths;
  std::vector<std::vector<size_t>> rows_of(job.ranks.size());
  for (size_t i = 0; i < rows.size(); i++)
    for (uint32_t rank = rows[i].first; rank <= rows[i].last; rank++)
      rows_of[rank].push_back(i);
  std::vector<ColumnTimes> times(rows.size());
  for (const ExperimentJob::Span &span : job.spans)
    if (span.compute == compute && span.rank < rows_of.size())
      for (const size_t i : rows_of[span.rank])
        add_time(times[i], span, scale);
  for (size_t i = 0; i < rows.size(); i++) {
    const double ranks = rows[i].last - rows[i].first + 1.0;
    const auto level = [&](size_t column) {
      const double share = std::min(times[i].at(column) / ranks, 1.0);
      return static_cast<size_t>(std::ceil(share * kOpacities - 1e-6));
    };
    for (size_t from = 0, to = 0; rows[i].first <= rows[i].last && from < kTimeColumns; from = to) {
      while (to < kTimeColumns && level(to) == level(from))
        to++;
      if (level(from))
        fmt::format_to(std::back_inserter(paths.at(level(from))), "M{:.0f} {:.0f}h{:.0f}",
                       kTimelineLeft + kColumnWidth * static_cast<double>(from),
                       rows[i].y + (compute ? kRow / 4 : kRow * 3 / 4),
                       kColumnWidth * static_cast<double>(to - from));
    }
  }
  for (size_t i = 1; i < paths.size(); i++)
    if (!paths.at(i).empty())
      fmt::format_to(std::back_inserter(out),
                     "<path stroke=\"{}\" stroke-opacity=\"{:.1f}\" stroke-width=\"{:.0f}\" "
                     "d=\"{}\"/>\n",
                     compute ? kCompute : kExchange, static_cast<double>(i) / kOpacities,
                     kRow / 2 - 1, paths.at(i));
}

std::string title_of(const ExperimentJob &job, const Scale &scale) {
  const auto steps = static_cast<size_t>(
      std::ranges::count_if(job.steps, [&scale](const ExperimentJob::Step &step) {
        return step.end_ns && static_cast<double>(*step.end_ns) <= scale.to;
      }));
  std::string title = fmt::format("{}: {}", job.name, job.kind);
  if (job.ranks.size() > kRankRows)
    title += ", " + counted(job.ranks.size(), "rank");
  if (steps < job.steps.size())
    title += fmt::format(", the first {} of {} steps", steps, job.steps.size());
  return title;
}

} // namespace

std::string timeline(const ExperimentJob &job) {
  if (job.spans.empty() || job.ranks.empty())
    return "";
  const auto count = static_cast<uint32_t>(job.ranks.size());
  const uint32_t ranks_a_row = (count + kRankRows - 1) / kRankRows;
  const std::vector<TimelineRow> rows = timeline_rows(job, ranks_a_row);
  const Scale scale = scale_of(job);
  const double bottom = rows.back().y + kRow;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{3}</text>\n"
      "<rect x=\"{2:.0f}\" y=\"32\" width=\"12\" height=\"8\" fill=\"{4}\"/>"
      "<text x=\"{5:.0f}\" y=\"40\">compute</text>\n"
      "<rect x=\"{6:.0f}\" y=\"32\" width=\"12\" height=\"8\" fill=\"{7}\"/>"
      "<text x=\"{8:.0f}\" y=\"40\">exchange</text>\n",
      kTimelineWidth, bottom + 40, kTimelineLeft, xml_escaped(title_of(job, scale)), kCompute,
      kTimelineLeft + 17, kTimelineLeft + 90, kExchange, kTimelineLeft + 107);
  auto to = std::back_inserter(out);
  const AxisUnit unit = axis_unit(scale.to * 1e-9, "s");
  for (const double second : ticks(scale.from * 1e-9, scale.to * 1e-9, 8))
    fmt::format_to(to,
                   "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                   "stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
                   "text-anchor=\"middle\">{4}</text>\n",
                   scale.x(second * 1e9), kTimelineTop, bottom, bottom + 16,
                   fmt::format("{:.6g}", second / unit.scale));
  for (const TimelineRow &row : rows) {
    const bool caption = row.first > row.last;
    fmt::format_to(to, "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                   caption ? kTimelineLeft : kTimelineLeft - 6, row.y + 12,
                   caption ? "start" : "end", xml_escaped(row.label));
  }
  for (const ExperimentJob::Step &step : job.steps)
    if (const double at = scale.x(static_cast<double>(step.start_ns));
        step.end_ns && static_cast<double>(step.start_ns) < scale.to)
      fmt::format_to(to,
                     "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                     "stroke=\"#555\" stroke-dasharray=\"2 3\"/>\n",
                     at, kTimelineTop - 6, bottom);
  if (ranks_a_row > 1)
    for (const bool compute : {true, false})
      draw_shares(out, job, rows, compute, scale);
  else
    for (const ExperimentJob::Span &span : job.spans)
      if (span.rank < count)
        draw_span(out, span, rows[span.rank].y, scale);
  fmt::format_to(to,
                 "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"middle\">time since the start of "
                 "the run, {}</text>\n</svg>\n",
                 (kTimelineLeft + kTimelineWidth - kTimelineRight) / 2, bottom + 33, unit.name);
  return out;
}

} // namespace xr::plot
