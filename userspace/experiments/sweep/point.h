// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: what each shows, how a process passes one on, and their report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/experiment_result.h"
#include "report/document.h"

namespace xr::sweep {

using report::Document;
using report::Table;
using report::Value;

// A Histogram in little memory: a value of each bucket that has any, the largest value of the last
// one, and how many there are.
struct SweepHistogram {
  std::vector<std::pair<uint64_t, uint64_t>> counts;
  double mean = 0;
};

// What a sweep shows of a point: rates are bit/s, sizes bytes; of the queue with the longest mean.
struct SweepNumbers {
  double rate = 0, least_rate = 0, most_rate = 0;
  std::optional<double> jain = {}; // unset: no flow passed anything
  std::string queue = {};
  double queue_mean = 0, utilisation = 0, wall_s = 0;
  uint64_t queue_p99 = 0, queue_max = 0, marked = 0, cnps = 0, drops = 0, retransmitted = 0;
  double wire = 0, frames = 0; // of all flows at their receivers: bit/s, and frames a second
  double line = 0;             // bit/s, of the links of the hosts that receive; 0: not known
  uint64_t sent = 0, lost = 0; // packets, of the whole run
  SweepHistogram fct_ns = {};  // of the flows that ended
  SweepHistogram backlog = {}; // of the queue, weighted by time
};
// One point of a sweep. `failure`: why it did not run, or "".
struct SweepPoint {
  using Setting = std::pair<std::string, std::string>; // KEY, VALUE

  uint64_t number = 1;   // of the file's points, from 1
  std::string run = {};  // of the same sweep: file, settings and version
  std::string host = {}; // where it ran
  uint64_t seed = 0;
  std::vector<Setting> settings = {};
  std::string directory = {}; // of its files, "" if none were written
  std::string failure = {};
  ExperimentResult result = {}; // without the rows of flows and queues
  SweepNumbers numbers = {};
};
bool is_measured(const SweepPoint &point); // it ran, and is not void
Verdict verdict_of(const SweepPoint &point);
// The first expectation that does not hold, or why the point is void; "": none.
std::string reason(const SweepPoint &point);
std::string reason_of(const ExperimentCheck &check);               // "TEXT: VALUE"
Value setting_of(const SweepPoint &point, const std::string &key); // a text; unknown: it sets none
// The keys that the points set, in their order.
std::vector<std::string> setting_keys(const std::vector<SweepPoint> &points);
// KEY=VALUE of each setting but `without`, as text.
std::string settings_text(const std::vector<std::pair<std::string, std::string>> &settings,
                          std::string_view without);
// A point as the process that ran it passes it on.
std::string pack_point(const ExperimentResult &result);
// Fills in `result`, `numbers` and `seed`. False if `text` is not of pack_point().
bool unpack_point(const std::string &text, SweepPoint &point);
// The contents of point.json: number, run, host and settings of the point, what pack_point() made
// of its result, and how many points the sweep has.
struct StoredPoint {
  SweepPoint point;
  uint64_t of = 0;
};
std::string stored_point(const SweepPoint &point, const std::string &packed, uint64_t of);
// Error: `text` is no point.json of this version.
Result<StoredPoint> read_stored_point(const std::string &text);
// Points that differ in their seed only, added up: counters are sums, percentiles are of the added
// histograms. A point that did not run or is void is left out, and counted.
Table seeds_table(const std::vector<SweepPoint> &points);
// A row a point: number, settings, seed, numbers, verdict. A setting has a further column with its
// value in ns, bytes, bit/s ... where all values of its key have such a unit. Points that are not
// measured have no numbers but a reason.
Table sweep_table(const std::vector<SweepPoint> &points);
// `missing`: numbers of points that are not among them.
Document sweep_report(const std::string &name, const std::vector<SweepPoint> &points,
                      const std::vector<uint64_t> &missing = {});

} // namespace xr::sweep
