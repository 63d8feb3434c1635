// SPDX-License-Identifier: Apache-2.0
// The points of a sweep as their processes pass them on and point.json stores them.
#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "sweep/point.h"

// What is passed on, by name. Unset: null.
template <typename T> struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json &to, const std::optional<T> &value) {
    to = value ? json(*value) : json();
  }
  static void from_json(const json &from, std::optional<T> &value) {
    value = from.is_null() ? std::nullopt : std::optional(from.get<T>());
  }
};

namespace xr {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExperimentCheck, text, outcome, value, bound, row, t_ns, why,
                                   value_text, bound_text, capture, frame, unit)

} // namespace xr

namespace xr::sweep {

using namespace report;
using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepHistogram, counts, mean)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepNumbers, rate, least_rate, most_rate, jain, queue,
                                   queue_mean, utilisation, wall_s, queue_p99, queue_max, marked,
                                   cnps, drops, retransmitted, wire, frames, line, sent, lost,
                                   fct_ns, backlog)

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
    n.wire += flow.wire_bps;
    if (flow.ran_to_ns > flow.ran_from_ns)
      n.frames += static_cast<double>(flow.packets - std::min(flow.drops, flow.packets)) * 1e9 /
                  static_cast<double>(flow.ran_to_ns - flow.ran_from_ns);
    if (flow.fct_ns)
      fct_ns.add(*flow.fct_ns);
  }
  n.fct_ns = compact(fct_ns);
  n.line = m.links_bps;
  const ExperimentFlowCounts whole = whole_run(m).flows;
  n.sent = whole.packets;
  n.lost = whole.drops;
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

} // namespace

std::string pack_point(const ExperimentResult &result) {
  const json all = {{"name", result.name},
                    {"verdict", result.verdict},
                    {"why_void", result.measured.why_void},
                    {"checks", result.checks},
                    {"seed", result.seed},
                    {"numbers", numbers_of(result.measured)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool unpack_point(const std::string &text, SweepPoint &point) {
  try {
    const json all = json::parse(text);
    all.at("name").get_to(point.result.name);
    all.at("verdict").get_to(point.result.verdict);
    all.at("why_void").get_to(point.result.measured.why_void);
    all.at("checks").get_to(point.result.checks);
    all.at("seed").get_to(point.seed);
    all.at("numbers").get_to(point.numbers);
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
