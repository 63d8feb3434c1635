// SPDX-License-Identifier: Apache-2.0
#include "plot/timeline.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/xml.h"
#include "plot/ticks.h"

namespace xr::plot {

namespace {

constexpr size_t kMostRanks = 64;
constexpr double kTimelineWidth = 1000, kTimelineLeft = 110, kTimelineRight = 20, kTimelineTop = 58,
                 kRow = 16;
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

// Compute is the upper half of a row, exchange the lower one.
void draw_span(std::string &out, const ExperimentJob::Span &span, const Scale &scale) {
  const double left = scale.x(static_cast<double>(span.from_ns)),
               right = scale.x(static_cast<double>(span.to_ns)),
               top = kTimelineTop + kRow * span.rank + (span.compute ? 1 : kRow / 2);
  fmt::format_to(std::back_inserter(out),
                 "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
                 "fill=\"{}\"/>\n",
                 left, top, std::max(right - left, 0.3), kRow / 2 - 1,
                 span.compute ? kCompute : kExchange);
}

} // namespace

std::string timeline(const ExperimentJob &job) {
  if (job.spans.empty())
    return "";
  const size_t ranks = std::min(job.ranks.size(), kMostRanks);
  const Scale scale = scale_of(job);
  const double bottom = kTimelineTop + kRow * static_cast<double>(ranks);
  size_t steps = 0;
  for (const ExperimentJob::Step &step : job.steps)
    steps += step.end_ns && static_cast<double>(*step.end_ns) <= scale.to;
  std::string title = fmt::format("{}: {}", job.name, job.kind);
  if (steps < job.steps.size())
    title += fmt::format(", the first {} of {} steps", steps, job.steps.size());
  if (ranks < job.ranks.size())
    title += fmt::format(", the first {} of {} ranks", ranks, job.ranks.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{3}</text>\n"
      "<rect x=\"{2:.0f}\" y=\"32\" width=\"12\" height=\"8\" fill=\"{4}\"/>"
      "<text x=\"{5:.0f}\" y=\"40\">compute</text>\n"
      "<rect x=\"{6:.0f}\" y=\"32\" width=\"12\" height=\"8\" fill=\"{7}\"/>"
      "<text x=\"{8:.0f}\" y=\"40\">exchange</text>\n",
      kTimelineWidth, bottom + 40, kTimelineLeft, xml_escaped(title), kCompute, kTimelineLeft + 17,
      kTimelineLeft + 90, kExchange, kTimelineLeft + 107);
  auto to = std::back_inserter(out);
  const AxisUnit unit = axis_unit(scale.to * 1e-9, "s");
  for (const double second : ticks(scale.from * 1e-9, scale.to * 1e-9, 8))
    fmt::format_to(to,
                   "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                   "stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
                   "text-anchor=\"middle\">{4}</text>\n",
                   scale.x(second * 1e9), kTimelineTop, bottom, bottom + 16,
                   fmt::format("{:.6g}", second / unit.scale));
  for (size_t rank = 0; rank < ranks; rank++)
    fmt::format_to(to, "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}</text>\n",
                   kTimelineLeft - 6, kTimelineTop + kRow * static_cast<double>(rank) + 12, rank,
                   xml_escaped(job.ranks[rank].host));
  for (const ExperimentJob::Step &step : job.steps)
    if (const double at = scale.x(static_cast<double>(step.start_ns));
        step.end_ns && static_cast<double>(step.start_ns) < scale.to)
      fmt::format_to(to,
                     "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                     "stroke=\"#555\" stroke-dasharray=\"2 3\"/>\n",
                     at, kTimelineTop - 6, bottom);
  for (const ExperimentJob::Span &span : job.spans)
    if (span.rank < ranks)
      draw_span(out, span, scale);
  fmt::format_to(to,
                 "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"middle\">time since the start of "
                 "the run, {}</text>\n</svg>\n",
                 (kTimelineLeft + kTimelineWidth - kTimelineRight) / 2, bottom + 33, unit.name);
  return out;
}

} // namespace xr::plot
