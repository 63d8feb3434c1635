// SPDX-License-Identifier: Apache-2.0
#include "plot/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "plot/headline.h"

namespace xr::plot {
namespace {

using Kind = ExperimentSample::Kind;
// If there are more curves, they are hidden at first and their statistics are shown.
constexpr size_t kMostShown = 16;
constexpr size_t kMostSummaryPoints = 400; // of a distribution

std::vector<float> times(const Recorder &recorder) {
  std::vector<float> x(recorder.intervals());
  for (size_t i = 0; i < x.size(); i++)
    x[i] = static_cast<float>((static_cast<double>(i) + 0.5) * recorder.interval_s());
  return x;
}

enum class Use : uint8_t {
  Value, // mean, with least and largest
  Sum,   // events of the interval, per second
  Share, // ns of the interval, as a share of it
};

Curve curve_of(const std::string &name, const Recorder::Cells &cells, Use use, double interval_s) {
  Curve curve{name, std::vector<float>(cells.size(), kNoValue), {}, {}, {}};
  if (use == Use::Value)
    curve.low = curve.high = curve.y;
  for (size_t i = 0; i < cells.size(); i++) {
    const Recorder::Cell &cell = cells[i];
    if (!cell.count)
      continue;
    switch (use) {
    case Use::Value:
      curve.y[i] = static_cast<float>(cell.sum / cell.count);
      curve.low[i] = cell.low;
      curve.high[i] = cell.high;
      break;
    case Use::Sum:
      curve.y[i] = static_cast<float>(cell.sum / interval_s);
      break;
    case Use::Share:
      curve.y[i] = static_cast<float>(cell.sum / 1e9 / interval_s);
      break;
    }
  }
  return curve;
}

// Statistics over all curves, in front of them.
void summarise(Figure &figure) {
  if (figure.curves.size() <= kMostShown)
    return;
  const size_t points = figure.x.size();
  Curve mean{"mean of all", std::vector<float>(points, kNoValue), {}, {}, {}};
  Curve median{"median", mean.y, {}, {}, {}};
  mean.low = mean.high = mean.y;
  std::vector<float> values;
  for (size_t i = 0; i < points; i++) {
    values.clear();
    double sum = 0;
    for (const Curve &curve : figure.curves)
      if (!std::isnan(curve.y[i])) {
        values.push_back(curve.y[i]);
        sum += static_cast<double>(curve.y[i]);
      }
    if (values.empty())
      continue;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    mean.y[i] = static_cast<float>(sum / static_cast<double>(values.size()));
    mean.low[i] = *std::min_element(values.begin(), values.end());
    mean.high[i] = *std::max_element(values.begin(), values.end());
    median.y[i] = *middle;
  }
  for (Curve &curve : figure.curves)
    curve.shown = false;
  figure.summary = true;
  figure.curves.insert(figure.curves.begin(), {std::move(mean), std::move(median)});
}

// A mean over many queues hides the one that matters.
void show_bottleneck(Figure &figure, const ExperimentResult &result) {
  const ExperimentQueue *queue = bottleneck(result.measured);
  for (Curve &curve : figure.curves)
    curve.shown = curve.shown || (queue && curve.name == queue->name);
}

struct Wanted {
  const char *id, *title, *y_unit, *column;
  Kind kind;
  Use use;
  bool zero_too; // drawn even if it is 0 all the time
};

// To plot another column of series.csv: a row here; plot_test, run_report.sh.
constexpr Wanted kOverTime[] = {
    {"rate", "Goodput of each flow", "bit/s", "goodput_bps", Kind::Flow, Use::Value, true},
    {"control", "Rate that congestion control allows", "bit/s", "control_bps", Kind::Flow,
     Use::Value, false},
    {"backlog", "Backlog of each queue", "bytes", "backlog_bytes", Kind::Queue, Use::Value, true},
    {"marks", "CE marks by each queue", "packets/s", "marked", Kind::Queue, Use::Sum, false},
    {"cnps", "CNPs to each flow", "packets/s", "cnps", Kind::Flow, Use::Sum, false},
    {"drops", "Drops by each queue", "packets/s", "dropped", Kind::Queue, Use::Sum, false},
    {"pauses", "Share of time for which PFC paused a priority of each queue", "", "paused_ns",
     Kind::Queue, Use::Share, false},
    {"jain", "Jain's index of the flows", "", "jain", Kind::Total, Use::Value, true},
};

Figure over_time(const Wanted &wanted, const ExperimentResult &result, const Recorder &recorder,
                 const HasCurve &has) {
  Figure figure;
  figure.id = wanted.id;
  figure.title = wanted.title;
  figure.x_unit = "s";
  figure.y_unit = wanted.y_unit;
  figure.kind = sample_kind_name(wanted.kind);
  figure.column = wanted.column;
  figure.x = times(recorder);
  const size_t rows = wanted.kind == Kind::Flow    ? result.measured.flows.size()
                      : wanted.kind == Kind::Queue ? result.measured.queues.size()
                                                   : 1;
  for (uint32_t row = 0; row < rows; row++) {
    const Recorder::Cells *cells = recorder.find(wanted.kind, row, wanted.column);
    if (!cells)
      continue;
    const std::string name = wanted.kind == Kind::Flow    ? result.measured.flows[row].name
                             : wanted.kind == Kind::Queue ? result.measured.queues[row].name
                                                          : "Jain's index";
    Curve curve = curve_of(name, *cells, wanted.use, recorder.interval_s());
    curve.left_out = has && wanted.kind != Kind::Total && !has(wanted.kind, row);
    if (wanted.kind != Kind::Queue || !flat_zero(curve)) // most queues of a topology stay empty
      figure.curves.push_back(std::move(curve));
  }
  if (!wanted.zero_too && std::all_of(figure.curves.begin(), figure.curves.end(), flat_zero))
    figure.curves.clear();
  return figure;
}

// Curves that are only in the statistics.
void leave_out(Figure &figure) {
  const size_t statistics = figure.summary ? 2 : 0, all = figure.curves.size() - statistics;
  std::erase_if(figure.curves, [](const Curve &curve) { return curve.left_out; });
  if (const size_t left = figure.curves.size() - statistics; left < all)
    figure.title += fmt::format(" ({} of {} have curves)", left, all);
}

// The share of `values` that is not larger than x.
Curve distribution(const std::string &name, std::vector<double> values, double scale) {
  std::sort(values.begin(), values.end());
  Curve curve{name, {}, {}, {}, {}};
  const size_t points = std::min(values.size(), kMostSummaryPoints);
  for (size_t i = 1; i <= points; i++) {
    const size_t at = i * values.size() / points - 1;
    curve.x.push_back(static_cast<float>(values[at] * scale));
    curve.y.push_back(static_cast<float>(at + 1) / static_cast<float>(values.size()));
  }
  return curve;
}

Curve distribution(const std::string &name, const Histogram &histogram) {
  constexpr int kSteps = 100;
  Curve curve{name, {}, {}, {}, {}};
  for (int i = 0; i <= kSteps; i++) {
    const float share = static_cast<float>(i) / kSteps;
    curve.x.push_back(static_cast<float>(histogram.quantile(static_cast<double>(share))));
    curve.y.push_back(share);
  }
  return curve;
}

Figure distribution_figure(const char *id, const char *title, const char *unit, const char *share) {
  Figure figure;
  figure.id = id;
  figure.title = title;
  figure.x_unit = unit;
  figure.y_unit = share;
  figure.time = false;
  return figure;
}

Figure of_flows(const char *id, const char *title, const char *unit, double scale,
                const ExperimentResult &result, double (*value)(const ExperimentFlow &)) {
  Figure figure = distribution_figure(id, title, unit, "share of flows");
  std::vector<double> values;
  for (const ExperimentFlow &flow : result.measured.flows)
    if (const double item = value(flow); item > 0)
      values.push_back(item);
  if (!values.empty())
    figure.curves.push_back(distribution("all flows", std::move(values), scale));
  return figure;
}

Figure of_backlogs(const ExperimentResult &result) {
  Figure figure =
      distribution_figure("backlog-cdf", "Distribution of backlog", "bytes", "share of time");
  for (const ExperimentQueue &queue : result.measured.queues)
    if (queue.backlog_bytes.max())
      figure.curves.push_back(distribution(queue.name, queue.backlog_bytes));
  for (size_t i = kMostShown; i < figure.curves.size(); i++)
    figure.curves[i].shown = false;
  show_bottleneck(figure, result);
  return figure;
}

// The first episodes, so that a page stays small.
constexpr size_t kMostEpisodes = 1000;

struct Episode {
  double from = 0, to = 0; // s
};

// A line for each QP at its own height, while it recovers. Between two lines of a QP there is a
// point without a value.
Figure of_episodes(const ExperimentResult &result) {
  Figure figure;
  figure.id = "episodes";
  figure.title = "Time line of episodes: each line is a QP that recovers a loss";
  figure.x_unit = "s";
  if (!result.answers)
    return figure;
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  std::map<std::string, std::vector<Episode>> all;
  std::set<double> points;
  size_t count = 0;
  for (const Recovery &recovery : result.answers->recoveries) {
    if (!recovery.recovery_ns)
      continue;
    if (++count > kMostEpisodes) {
      figure.title += fmt::format(" (the first {})", kMostEpisodes);
      break;
    }
    const uint64_t at = result.answers->from_ns + recovery.at_ns;
    const std::string name =
        recovery.qp.flow.empty() ? fmt::format("QP {:#x}", recovery.qp.dest_qp) : recovery.qp.flow;
    std::vector<Episode> &of = all[name];
    const Episode now{seconds(at), seconds(at + *recovery.recovery_ns)};
    if (!of.empty())
      points.insert((of.back().to + now.from) / 2);
    of.push_back(now);
    points.insert({now.from, now.to});
  }
  figure.x.assign(points.begin(), points.end());
  for (const auto &[name, episodes] : all) {
    Curve curve{name, std::vector<float>(points.size(), kNoValue), {}, {}, {}};
    curve.shown = figure.curves.size() < kMostShown;
    const auto height = static_cast<float>(figure.curves.size() + 1);
    size_t i = 0;
    for (const double at : points) {
      if (std::any_of(episodes.begin(), episodes.end(), [at](const Episode &episode) {
            return episode.from <= at && at <= episode.to;
          }))
        curve.y[i] = height;
      i++;
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

Figure of_rtts(const ExperimentResult &result) {
  Figure figure =
      distribution_figure("rtt-cdf", "Distribution of the RTT of ACKs", "s", "share of ACKs");
  for (const ExperimentFlow &flow : result.measured.flows) {
    if (flow.rtt.empty())
      continue;
    Curve curve{flow.name, {}, {}, {}, {}};
    double all = 0, below = 0;
    for (const ExperimentFlow::Rtt &rtt : flow.rtt)
      all += static_cast<double>(rtt.count);
    for (const ExperimentFlow::Rtt &item : flow.rtt) {
      below += static_cast<double>(item.count);
      curve.x.push_back(static_cast<float>(item.ns) / 1e9F);
      curve.y.push_back(static_cast<float>(below / all));
    }
    curve.shown = figure.curves.size() < kMostShown;
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

} // namespace

std::vector<Figure> figures(const ExperimentResult &result, const Recorder &recorder,
                            const std::vector<QueueLevels> &levels, const HasCurve &has) {
  std::vector<Figure> kept;
  const auto keep = [&](Figure figure) {
    if (!figure.curves.empty())
      kept.push_back(std::move(figure));
  };
  for (const Wanted &wanted : kOverTime) {
    Figure figure = over_time(wanted, result, recorder, has);
    summarise(figure);
    leave_out(figure);
    if (wanted.kind == Kind::Queue)
      show_bottleneck(figure, result);
    const std::string id = wanted.id;
    if (id == "backlog") {
      for (const QueueLevels &queue : levels)
        figure.levels.insert(figure.levels.end(), queue.levels.begin(), queue.levels.end());
      if (result.prediction.queue_bytes)
        figure.levels.push_back({"predicted", *result.prediction.queue_bytes});
    }
    if ((id == "rate" || id == "control") && result.prediction.share_bps)
      figure.levels.push_back({"fair share, predicted", *result.prediction.share_bps});
    keep(std::move(figure));
  }
  keep(of_flows(
      "fct-cdf", "Distribution of flow completion time", "s", 1e-9, result,
      [](const ExperimentFlow &flow) { return static_cast<double>(flow.fct_ns.value_or(0)); }));
  keep(of_flows("slowdown-cdf", "Distribution of slowdown", "", 1, result,
                [](const ExperimentFlow &flow) { return flow.slowdown.value_or(0); }));
  keep(of_backlogs(result));
  keep(of_rtts(result));
  keep(of_episodes(result));
  return kept;
}

bool is_drawn(ExperimentSample::Kind kind, std::string_view column) {
  return std::ranges::any_of(kOverTime, [&](const Wanted &wanted) {
    return wanted.kind == kind && column == wanted.column;
  });
}

} // namespace xr::plot
