// SPDX-License-Identifier: Apache-2.0
// The points of a sweep that differ in their seed only, as one: counters and histograms are added.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sweep/added_histogram.h"
#include "sweep/point.h"

namespace xr::sweep {

using namespace report;

namespace {

constexpr const char *kSeed = "seed";

// The points with the same settings, in the order of the first of them.
struct Alike {
  std::string settings;
  std::vector<const SweepPoint *> points;
  uint64_t left_out = 0;
};

std::vector<Alike> alike(const std::vector<SweepPoint> &points) {
  std::vector<Alike> all;
  std::map<std::string, size_t> places;
  for (const SweepPoint &point : points) {
    const auto [place, added] =
        places.try_emplace(settings_text(point.settings, kSeed), all.size());
    if (added)
      all.push_back({place->first, {}, 0});
    Alike &item = all[place->second];
    if (is_measured(point))
      item.points.push_back(&point);
    else
      item.left_out++;
  }
  std::erase_if(all, [](const Alike &entry) { return entry.points.size() + entry.left_out < 2; });
  return all;
}

std::vector<Value> seeds_row(const Alike &group) {
  AddedHistogram fct_ns, backlog;
  double rate = 0, least = 0, most = 0;
  uint64_t marked = 0, cnps = 0, drops = 0, retransmitted = 0;
  std::string queue;
  bool same_queue = true;
  for (const SweepPoint *point : group.points) {
    const SweepNumbers &n = point->numbers;
    const bool first = point == group.points.front();
    fct_ns.add(n.fct_ns);
    backlog.add(n.backlog);
    rate += n.rate / static_cast<double>(group.points.size());
    least = first ? n.rate : std::min(least, n.rate);
    most = std::max(most, n.rate);
    marked += n.marked;
    cnps += n.cnps;
    drops += n.drops;
    retransmitted += n.retransmitted;
    same_queue = same_queue && (first || queue == n.queue);
    queue = n.queue;
  }
  std::vector<Value> row = {group.settings.empty() ? "all" : group.settings,
                            uint64_t{group.points.size()},
                            group.left_out,
                            rate,
                            least,
                            most,
                            fct_ns.count()};
  fct_ns.append_to(row);
  row.emplace_back(same_queue ? queue : "several");
  backlog.append_to(row);
  row.insert(row.end(), {marked, cnps, drops, retransmitted});
  return row;
}

} // namespace

std::string settings_text(const std::vector<std::pair<std::string, std::string>> &settings,
                          std::string_view without) {
  std::string text;
  for (const auto &[key, value] : settings)
    if (key != without)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  return text;
}

Table seeds_table(const std::vector<SweepPoint> &points) {
  using enum Format;
  std::vector<std::vector<Value>> rows;
  for (const Alike &item : alike(points))
    rows.push_back(seeds_row(item));
  return make_table({{"point", "POINT"},
                     {"points", "POINTS", Count},
                     {"left_out", "LEFT OUT", Count, Hide::Zero, Tone::Alarm},
                     {"rate_bps", "BIT/S\nmean", Scaled},
                     {"least_rate_bps", "\nleast", Scaled},
                     {"most_rate_bps", "\nmost", Scaled},
                     {"fcts", "FCTS", Count, Hide::Zero},
                     {"fct_mean_ns", "FCT ns\nmean", Rate, Hide::Zero},
                     {"fct_p50_ns", "\np50", Count, Hide::Zero},
                     {"fct_p99_ns", "\np99", Count, Hide::Zero},
                     {"fct_p999_ns", "\np99.9", Count, Hide::Zero},
                     {"fct_max_ns", "\nmax", Count, Hide::Zero},
                     {"queue", "LONGEST\nQUEUE"},
                     {"queue_mean_bytes", "BYTES\nmean", Rate},
                     {"queue_p50_bytes", "\np50", Count},
                     {"queue_p99_bytes", "\np99", Count},
                     {"queue_p999_bytes", "\np99.9", Count},
                     {"queue_max_bytes", "\nmax", Count},
                     {"marked", "MARKED", Count, Hide::Zero},
                     {"cnps", "CNPS", Count, Hide::Zero},
                     {"drops", "DROPS", Count, Hide::Zero, Tone::Alarm},
                     {"retransmitted", "SENT\nAGAIN", Count, Hide::Zero}},
                    std::move(rows));
}

} // namespace xr::sweep
