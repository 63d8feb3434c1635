// SPDX-License-Identifier: Apache-2.0
// The points of a sweep as their processes pass them on and point.json stores them.
#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "sweep/point.h"

namespace xr::sweep {

using namespace report;

namespace {

const ExperimentQueue *longest(const ExperimentMeasurement &m) {
  const auto found = std::max_element(m.queues.begin(), m.queues.end(),
                                      [](const ExperimentQueue &a, const ExperimentQueue &b) {
                                        return a.backlog_bytes.mean() < b.backlog_bytes.mean();
                                      });
  return found == m.queues.end() ? nullptr : &*found;
}

SweepHistogram compact(const Histogram &histogram) {
  SweepHistogram made{.counts = {}, .mean = histogram.mean()};
  histogram.each([&made](uint64_t lowest, uint64_t /*highest*/, uint64_t count) {
    made.counts.emplace_back(lowest, count);
  });
  if (!made.counts.empty())
    made.counts.back().first = histogram.max();
  return made;
}

SweepNumbers numbers_of(const ExperimentMeasurement &m) {
  SweepNumbers n{.rate = goodput_bps(m), .jain = m.jain, .queue = {}, .wall_s = m.wall_s};
  Histogram fct_ns;
  for (const ExperimentFlow &flow : m.flows) {
    n.least_rate =
        &flow == &m.flows.front() ? flow.goodput_bps : std::min(n.least_rate, flow.goodput_bps);
    n.most_rate = std::max(n.most_rate, flow.goodput_bps);
    n.cnps += flow.cnps;
    n.drops += flow.drops;
    n.retransmitted += flow.retransmitted;
    if (flow.fct_ns)
      fct_ns.add(*flow.fct_ns);
  }
  n.fct_ns = compact(fct_ns);
  if (const ExperimentQueue *queue = longest(m)) {
    n.queue = queue->name;
    n.queue_mean = queue->backlog_bytes.mean();
    n.queue_p99 = queue->backlog_bytes.quantile(0.99);
    n.queue_max = queue->backlog_bytes.max();
    n.utilisation = queue->utilisation;
    n.marked = queue->marked;
    n.backlog = compact(queue->backlog_bytes);
  }
  return n;
}

using nlohmann::json;

template <typename T> json maybe(const std::optional<T> &value) {
  return value ? json(*value) : json();
}

template <typename T> std::optional<T> optional(const json &value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

json packed(const ExperimentCheck &c) {
  return {c.text,         static_cast<int>(c.outcome),
          maybe(c.value), maybe(c.bound),
          c.row,          maybe(c.t_ns),
          c.why,          c.value_text,
          c.bound_text,   c.capture,
          c.frame,        c.unit};
}

ExperimentCheck unpacked(const json &c) {
  return {c[0],
          static_cast<ExperimentCheck::Outcome>(c[1].get<int>()),
          optional<double>(c[2]),
          optional<double>(c[3]),
          c[4],
          optional<uint64_t>(c[5]),
          c[6],
          c.at(7),
          c.at(8),
          c.at(9),
          c.at(10),
          false,
          c.at(11)};
}

json packed(const SweepHistogram &h) { return {h.counts, h.mean}; }

SweepHistogram unpacked_histogram(const json &h) {
  return {h.at(0).get<std::vector<std::pair<uint64_t, uint64_t>>>(), h.at(1)};
}

} // namespace

std::string pack_point(const ExperimentResult &result) {
  const SweepNumbers n = numbers_of(result.measured);
  json checks = json::array();
  for (const ExperimentCheck &check : result.checks)
    checks.push_back(packed(check));
  const json all = {result.name,
                    static_cast<int>(result.verdict),
                    result.measured.why_void,
                    checks,
                    result.seed,
                    {n.rate, n.least_rate, n.most_rate, maybe(n.jain), n.queue, n.queue_mean,
                     n.utilisation, n.wall_s, n.queue_p99, n.queue_max, n.marked, n.cnps, n.drops,
                     n.retransmitted, packed(n.fct_ns), packed(n.backlog)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool unpack_point(const std::string &text, SweepPoint &point) {
  try {
    const json all = json::parse(text);
    point.result.name = all.at(0);
    point.result.verdict = static_cast<Verdict>(all.at(1).get<int>());
    point.result.measured.why_void = all.at(2).get<std::vector<std::string>>();
    for (const json &check : all.at(3))
      point.result.checks.push_back(unpacked(check));
    point.seed = all.at(4);
    const json &n = all.at(5);
    point.numbers = {n.at(0),
                     n.at(1),
                     n.at(2),
                     optional<double>(n.at(3)),
                     n.at(4),
                     n.at(5),
                     n.at(6),
                     n.at(7),
                     n.at(8),
                     n.at(9),
                     n.at(10),
                     n.at(11),
                     n.at(12),
                     n.at(13),
                     unpacked_histogram(n.at(14)),
                     unpacked_histogram(n.at(15))};
    point.result.measured.wall_s = point.numbers.wall_s;
    return true;
  } catch (const json::exception &) {
    return false;
  }
}

std::string stored_point(const SweepPoint &point, const std::string &packed, uint64_t of) {
  const json all = {{"schema", 1},     {"run", point.run},   {"number", point.number},
                    {"of", of},        {"host", point.host}, {"settings", point.settings},
                    {"result", packed}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<StoredPoint> read_stored_point(const std::string &text) {
  try {
    const json all = json::parse(text);
    StoredPoint stored;
    SweepPoint &point = stored.point;
    point.run = all.at("run");
    point.number = all.at("number");
    stored.of = all.at("of");
    point.host = all.at("host");
    point.settings = all.at("settings").get<decltype(point.settings)>();
    if (point.number && point.number <= stored.of && unpack_point(all.at("result"), point))
      return stored;
  } catch (const json::exception &) {
  }
  return Error{"it is no point of a sweep, or another version's"};
}

} // namespace xr::sweep
