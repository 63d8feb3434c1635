// SPDX-License-Identifier: Apache-2.0
// To add a plot of a capture: a function here, its call in capture_figures; series_figures_test,
// analyze_page.sh.
#include "plot/capture_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/names.h"

namespace xr::plot {
namespace {

using Series = CaptureSeries;
constexpr size_t kShownStreams = 8;            // at first
constexpr size_t kMostBins = 1 << 18;          // of all streams' rates: 1.4 MB of the page
constexpr size_t kMostCapturePoints = 1 << 17; // of all streams' PSNs: 1.4 MB
constexpr size_t kLeastPoints = 64;            // of a stream
constexpr const char *kMarkNames[Series::kMarkKinds] = {"loss", "go-back", "NAK", "RNR NAK"};

Figure time_figure(const char *id, std::string title, const char *unit, Shape shape = Shape::Line) {
  Figure figure;
  figure.id = id;
  figure.title = std::move(title);
  figure.x_unit = "s";
  figure.y_unit = unit;
  figure.shape = shape;
  return figure;
}

// The middles of `count` intervals.
std::vector<float> middles(size_t count, double width_s) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; i++)
    x[i] = static_cast<float>((static_cast<double>(i) + 0.5) * width_s);
  return x;
}

// A value of each interval of `fold` bins: the sum of its bins times `scale`.
template <class Bin, class Member>
std::vector<float> folded(const std::vector<Bin> &bins, size_t count, size_t fold, double scale,
                          const Member &member) {
  std::vector<double> sums(count);
  for (size_t i = 0; i < bins.size() && i / fold < count; i++)
    sums[i / fold] += static_cast<double>(std::invoke(member, bins[i]));
  std::vector<float> y(count);
  for (size_t i = 0; i < count; i++)
    y[i] = static_cast<float>(sums[i] * scale);
  return y;
}

Curve plain_curve(std::string name, std::vector<float> y, bool shown = true) {
  Curve curve;
  curve.name = std::move(name);
  curve.y = std::move(y);
  curve.shown = shown;
  return curve;
}

// Streams, those with most of `number` first.
template <class Number> std::vector<uint32_t> ranked(const Series &series, const Number &number) {
  std::vector<uint32_t> order(series.streams.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](uint32_t i) { return number(series.streams[i]); });
  return order;
}

void add_marks(Figure &figure, const Series &series) {
  for (size_t kind = 0; kind < Series::kMarkKinds; kind++) {
    Marks marks{kMarkNames[kind], {}, {}, {}};
    for (const Series::Mark &mark : series.marks)
      if (static_cast<size_t>(mark.kind) == kind)
        marks.x.push_back(static_cast<float>(series.at_s(mark.ns)));
    if (!marks.x.empty())
      figure.marks.push_back(std::move(marks));
  }
}

Figure rates(const Series &series) {
  Figure figure = time_figure("rate", "Rate of each stream, in frames without FCS", "bit/s");
  if (series.streams.empty())
    return figure;
  size_t fold = 1;
  while (series.streams.size() * series.bins.size() / fold > kMostBins)
    fold *= 2;
  const size_t count = (series.bins.size() + fold - 1) / fold;
  const double width = series.bin_s() * static_cast<double>(fold);
  figure.x = middles(count, width);
  if (series.streams.size() > 1)
    figure.curves.push_back(plain_curve(
        "all streams", folded(series.bins, count, fold, 8 / width, &Series::Bin::bytes)));
  size_t shown = 0;
  for (const uint32_t i : ranked(series, std::mem_fn(&Series::Stream::bytes))) {
    const Series::Stream &stream = series.streams[i];
    figure.curves.push_back(
        plain_curve(stream_name(stream.key),
                    folded(stream.bins, count, fold, 8 / width, &Series::StreamBin::bytes),
                    shown++ < kShownStreams));
  }
  if (series.rest_streams)
    figure.curves.push_back(
        plain_curve(counted(series.rest_streams, "other stream"),
                    folded(series.rest.bins, count, fold, 8 / width, &Series::StreamBin::bytes)));
  add_marks(figure, series);
  return figure;
}

// The stream of requests that a NAK of this stream asks for again.
std::optional<uint32_t> requests_of(const roce_key &answers, const Series &series,
                                    const std::vector<PairRow> &pairs) {
  for (const PairRow &pair : pairs) {
    const PairName &name = pair.name;
    if (name.src_qp != roce_key_qp(&answers) ||
        std::memcmp(name.key.src, answers.dst, sizeof(answers.dst)) != 0 ||
        std::memcmp(name.key.dst, answers.src, sizeof(answers.src)) != 0)
      continue;
    for (uint32_t i = 0; i < series.streams.size(); i++)
      if (!std::memcmp(&series.streams[i].key, &name.key, sizeof(name.key)))
        return i;
  }
  return {};
}

// The PSN nearest to where the stream was at that time.
int64_t near_stream(const Series::Stream &stream, uint64_t ns, int64_t psn) {
  constexpr int64_t kCycle = int64_t{ROCE_PSN_MASK} + 1;
  const auto after = std::ranges::upper_bound(stream.points, ns, {}, &Series::PsnPoint::ns);
  const int64_t base = after == stream.points.begin() ? 0 : std::prev(after)->psn;
  const int64_t ahead = ((psn - base) % kCycle + kCycle) % kCycle;
  return base + (ahead < kCycle / 2 ? ahead : ahead - kCycle);
}

// Marks by the stream whose curve shows them, and kind.
using StreamMarks = std::vector<std::array<Marks, Series::kMarkKinds>>;

StreamMarks marks_by_stream(const Series &series, const std::vector<PairRow> &pairs) {
  StreamMarks all(series.streams.size());
  std::vector<std::optional<std::optional<uint32_t>>> requests(series.streams.size());
  for (const Series::Mark &mark : series.marks) {
    uint32_t stream = mark.stream;
    int64_t psn = mark.psn;
    const bool nak = mark.kind == Series::MarkKind::Nak || mark.kind == Series::MarkKind::RnrNak;
    if (nak) {
      auto &known = requests[stream];
      if (!known)
        known = requests_of(series.streams[stream].key, series, pairs);
      stream = known->value_or(stream);
      psn = near_stream(series.streams[stream], mark.ns, psn);
    }
    Marks &of = all[stream][static_cast<size_t>(mark.kind)];
    of.x.push_back(static_cast<float>(series.at_s(mark.ns)));
    of.y.push_back(static_cast<float>(psn));
  }
  return all;
}

// Curves: those with losses first, as a reader looks for them.
Figure psns(const Series &series, const std::vector<PairRow> &pairs) {
  Figure figure = time_figure("psn", "PSNs of a stream", "", Shape::Points);
  figure.choose = true;
  StreamMarks marks = marks_by_stream(series, pairs);
  const size_t most =
      std::max(kLeastPoints, kMostCapturePoints / std::max<size_t>(1, marks.size()));
  const auto trouble = [](const Series::Stream &stream) {
    return std::pair(stream.skipped + stream.rewinds, stream.packets - stream.cnps);
  };
  for (const uint32_t i : ranked(series, trouble)) {
    const Series::Stream &stream = series.streams[i];
    if (stream.points.empty())
      continue;
    const size_t step = (stream.points.size() + most - 1) / most;
    Curve curve;
    curve.name = stream_name(stream.key);
    curve.shown = figure.curves.empty();
    for (size_t at = 0; at < stream.points.size(); at += step) {
      curve.x.push_back(static_cast<float>(series.at_s(stream.points[at].ns)));
      curve.y.push_back(static_cast<float>(stream.points[at].psn));
    }
    for (size_t kind = 0; kind < Series::kMarkKinds; kind++)
      if (Marks &of = marks[i][kind]; !of.x.empty()) {
        of.name = kMarkNames[kind];
        of.curve = figure.curves.size();
        figure.marks.push_back(std::move(of));
      }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

// A figure of sums over all streams; curves that are 0 all the time are left out.
template <class Bin> struct Summed {
  const char *name;
  uint64_t Bin::*member;
};

Figure sums(Figure figure, const Series &series, double scale,
            std::initializer_list<Summed<Series::Bin>> wanted) {
  figure.x = middles(series.bins.size(), series.bin_s());
  for (const auto &[name, member] : wanted)
    if (Curve curve = plain_curve(name, folded(series.bins, series.bins.size(), 1, scale, member));
        !flat_zero(curve))
      figure.curves.push_back(std::move(curve));
  return figure;
}

Figure losses(const Series &series) {
  using Bin = Series::Bin;
  return sums(time_figure("losses", "Losses, NAKs and go-backs in each interval", "", Shape::Bars),
              series, 1,
              {{"PSNs lost", &Bin::skipped},
               {"NAKs", &Bin::naks},
               {"RNR NAKs", &Bin::rnr_naks},
               {"go-backs", &Bin::rewinds}});
}

Figure congestion(const Series &series) {
  using Bin = Series::Bin;
  Figure figure = sums(time_figure("ecn", "Packets marked CE, and CNPs", "packets/s"), series,
                       1 / series.bin_s(),
                       {{"marked CE, all streams", &Bin::ce}, {"CNPs, all streams", &Bin::cnps}});
  const auto of_streams = [&](const char *what, auto total, auto member) {
    size_t count = 0;
    for (const uint32_t i : ranked(series, std::mem_fn(total)))
      if (series.streams[i].*total && count++ < kShownStreams)
        figure.curves.push_back(plain_curve(
            what + stream_name(series.streams[i].key),
            folded(series.streams[i].bins, series.bins.size(), 1, 1 / series.bin_s(), member),
            false));
  };
  of_streams("CE: ", &Series::Stream::ce, &Series::StreamBin::ce);
  of_streams("CNPs: ", &Series::Stream::cnps, &Series::StreamBin::cnps);
  return figure;
}

std::string priority_name(size_t priority) {
  return priority == ROCE_PFC_ALL ? "PAUSE (all priorities)" : fmt::format("priority {}", priority);
}

template <class Member>
Figure pauses(Figure figure, const Series &series, double scale, const Member &member) {
  figure.x = middles(series.bins.size(), series.bin_s());
  for (size_t i = 0; i < ROCE_PFC_COUNTS; i++)
    if (Curve curve = plain_curve(priority_name(i),
                                  folded(series.pauses[i], series.bins.size(), 1, scale, member));
        !flat_zero(curve))
      figure.curves.push_back(std::move(curve));
  return figure;
}

// The row below which half of a column's counts are.
float median_row(const auto &column, size_t first, size_t rows) {
  uint64_t total = 0, seen = 0;
  for (size_t row = 0; row < rows; row++)
    total += column[first + row];
  if (!total)
    return kNoValue;
  for (size_t row = 0; row < rows; row++)
    if ((seen += column[first + row]) * 2 >= total)
      return static_cast<float>(row) + 0.5f;
  return kNoValue;
}

Figure heat(const char *id, const std::string &title, const Series &series,
            const Series::HeatMap &map) {
  using Rows = Series::HeatRows;
  Figure figure = time_figure(id, title, "s", Shape::Heat);
  size_t first = Rows::kBuckets, last = 0;
  for (const auto &column : map)
    for (size_t row = 0; row < Rows::kBuckets; row++)
      if (column[row]) {
        first = std::min(first, row);
        last = std::max(last, row);
      }
  if (first > last)
    return figure;
  const size_t rows = last - first + 1;
  figure.cells.width = series.bin_s() * static_cast<double>(Series::kColumnBins);
  for (size_t row = first; row <= last + 1; row++)
    figure.cells.bounds.push_back(static_cast<double>(Rows::lowest(static_cast<unsigned>(row))) /
                                  1e9);
  figure.x = middles(map.size(), figure.cells.width);
  Curve median = plain_curve("median", {});
  for (const auto &column : map) {
    for (size_t row = 0; row < rows; row++)
      figure.cells.counts.push_back(static_cast<float>(column[first + row]));
    median.y.push_back(median_row(column, first, rows));
  }
  figure.curves.push_back(std::move(median));
  return figure;
}

// The exact times, or the upper bounds where there are no exact ones.
Figure heat_of(const char *id, const char *what, const Series &series, Series::Heat exact,
               Series::Heat bound) {
  const Series::HeatMap &map = series.heats[static_cast<size_t>(exact)];
  if (!map.empty())
    return heat(id, what, series, map);
  return heat(id, fmt::format("{}: upper bounds, as none is exact", what), series,
              series.heats[static_cast<size_t>(bound)]);
}

Figure microbursts(const Series &series, const Microbursts &bursts) {
  Figure figure = time_figure(
      "bursts", "Microbursts: the highest rate of all frames in a window, in each interval",
      "bit/s");
  figure.x = middles(series.bins.size(), series.bin_s());
  for (size_t i = 0; i < series.windows.size(); i++) {
    const auto window_s = static_cast<double>(Series::kWindowsNs[i]) / 1e9;
    std::vector<float> y(series.bins.size(), kNoValue);
    for (size_t k = 0; k < series.windows[i].size() && k < y.size(); k++)
      if (series.windows[i][k])
        y[k] = static_cast<float>(static_cast<double>(series.windows[i][k]) * 8 / window_s);
    figure.curves.push_back(
        plain_curve(fmt::format("{} us windows", Series::kWindowsNs[i] / 1000), std::move(y)));
  }
  for (const Microburst &burst : bursts.windows)
    if (burst.bytes && burst.window_ns)
      figure.marks.push_back({fmt::format("largest in any {} us", burst.window_ns / 1000),
                              {static_cast<float>(series.at_s(burst.first_ns))},
                              {static_cast<float>(static_cast<double>(burst.bytes) * 8e9 /
                                                  static_cast<double>(burst.window_ns))},
                              {}});
  return figure;
}

} // namespace

std::string stream_name(const roce_key &key) {
  return fmt::format("{} to {} QP {:#x}{}", names::address(key.src), names::address(key.dst),
                     roce_key_qp(&key),
                     roce_key_kind(&key) == ROCE_KIND_RESPONSE ? " answers" : "");
}

std::vector<std::string> left_out(const CaptureSeries &series) {
  std::vector<std::string> words;
  if (series.rest_streams)
    words.push_back(fmt::format("{} beyond the first {} {} one curve and {} no PSNs",
                                counted(series.rest_streams, "stream"), Series::kStreams,
                                verb(series.rest_streams, "is", "are"),
                                verb(series.rest_streams, "has", "have")));
  if (series.marks_left_out)
    words.push_back(fmt::format("{} (losses, NAKs, go-backs) beyond the first {} of a stream or {} "
                                "in all {} in the bars only",
                                counted(series.marks_left_out, "mark"), Series::kStreamMarks,
                                Series::kMarks, verb(series.marks_left_out, "is", "are")));
  if (series.untimed)
    words.push_back(fmt::format("{} without a time {} in no plot", counted(series.untimed, "frame"),
                                verb(series.untimed, "is", "are")));
  return words;
}

std::vector<Figure> capture_figures(const CaptureSeries &series, const Microbursts &bursts,
                                    const std::vector<PairRow> &pairs) {
  using Heat = Series::Heat;
  std::vector<Figure> all;
  if (series.bins.empty())
    return all;
  all.push_back(rates(series));
  all.push_back(psns(series, pairs));
  all.push_back(losses(series));
  all.push_back(congestion(series));
  all.push_back(pauses(
      time_figure("pauses", "Share of time for which PFC paused each priority", "", Shape::Bars),
      series, 1 / static_cast<double>(series.bin_ns), &Series::PauseBin::paused_ns));
  all.push_back(pauses(
      time_figure("xoff", "PFC and PAUSE frames that pause, in each interval", "", Shape::Bars),
      series, 1, &Series::PauseBin::xoffs));
  all.push_back(heat_of("rtt", "RTT: a request to its ACK", series, Heat::Ack, Heat::AckBound));
  all.push_back(
      heat_of("completion", "Completion of messages", series, Heat::Message, Heat::MessageBound));
  all.push_back(microbursts(series, bursts));
  std::erase_if(all, [](const Figure &figure) { return figure.curves.empty(); });
  return all;
}

} // namespace xr::plot
