// SPDX-License-Identifier: Apache-2.0
#include "report/kept_samples.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace xr::report {

namespace {

constexpr size_t kFewestTimes = 50; // flows are left out before there are fewer
constexpr ExperimentSample::Kind kSampleKinds[] = {
    ExperimentSample::Kind::Flow, ExperimentSample::Kind::Queue, ExperimentSample::Kind::Total};

} // namespace

KeptSamples::Row &KeptSamples::row_of(Kind kind, uint32_t row) {
  auto &rows = rows_[at(kind)];
  if (rows.size() <= row)
    rows.resize(row + size_t{1});
  return rows[row];
}

void KeptSamples::name(Kind kind, uint32_t row) { row_of(kind, row).named = true; }

bool KeptSamples::has(Kind kind, uint32_t row) const {
  const auto &rows = rows_[at(kind)];
  return row < rows.size() && rows[row].seen && !rows[row].left_out;
}

uint16_t KeptSamples::column_of(const char *name) {
  for (size_t i = 0; i < columns_.size(); i++)
    if (columns_[i].name == name || std::string_view(columns_[i].name) == name)
      return static_cast<uint16_t>(i);
  Column column{name};
  const std::string_view text = name;
  if (text == "cnps" || text == "marked" || text == "dropped" || text == "paused_ns")
    column.joined = Joined::Sum;
  else if (text == "goodput_bps" || text == "wire_bps")
    column.joined = Joined::Mean;
  columns_.push_back(column);
  return static_cast<uint16_t>(columns_.size() - 1);
}

void KeptSamples::add(const std::vector<ExperimentSample> &samples) {
  for (const ExperimentSample &sample : samples) {
    if (instants_.empty() || instants_.back().t_ns != sample.t_ns) {
      close_instant();
      instants_.push_back({.t_ns = sample.t_ns, .weight = 1, .values = {}});
    }
    Row &row = row_of(sample.kind, sample.row);
    row.seen++;
    if (!row.left_out)
      instants_.back().values[at(sample.kind)].push_back(
          {.value = sample.value, .row = sample.row, .column = column_of(sample.column)});
  }
}

size_t KeptSamples::held() const {
  size_t sum = 0;
  for (const Instant &instant : instants_)
    for (const Values &values : instant.values)
      sum += values.size();
  return sum;
}

// Another time follows the last one.
void KeptSamples::close_instant() {
  if (instants_.empty())
    return;
  for (Values &values : instants_.back().values) {
    std::ranges::stable_sort(values, {}, &Value::row);
    values.shrink_to_fit();
    held_ += values.size();
  }
  if (const size_t n = instants_.size(); n > 1 && instants_[n - 2].weight < stride_) {
    join(instants_[n - 2], instants_[n - 1]);
    instants_.pop_back();
    held_ = held();
  }
  while (held_ > limits_.held) {
    const size_t before = held_;
    shrink();
    held_ = held();
    if (held_ == before)
      break;
  }
}

// Both by row; a row's columns keep their order.
KeptSamples::Values KeptSamples::joined(const Values &first, const Values &later) const {
  Values all;
  all.reserve(std::max(first.size(), later.size()));
  size_t a = 0, b = 0;
  while (a < first.size() || b < later.size()) {
    const uint32_t row = std::min(a < first.size() ? first[a].row : UINT32_MAX,
                                  b < later.size() ? later[b].row : UINT32_MAX);
    const auto begin = static_cast<std::ptrdiff_t>(all.size());
    for (; a < first.size() && first[a].row == row; a++)
      all.push_back(first[a]);
    for (; b < later.size() && later[b].row == row; b++) {
      const Value &value = later[b];
      const auto same = std::find_if(all.begin() + begin, all.end(), [&value](const Value &other) {
        return other.column == value.column;
      });
      if (same == all.end()) {
        all.push_back(value);
        continue;
      }
      const double before = same->count, now = value.count;
      switch (columns_[value.column].joined) {
      case Joined::Sum:
        same->value += value.value;
        break;
      case Joined::Mean:
        same->value = (same->value * before + value.value * now) / (before + now);
        break;
      case Joined::Last:
        same->value = value.value;
        break;
      }
      same->count =
          static_cast<uint16_t>(std::min<uint32_t>(same->count + value.count, UINT16_MAX));
    }
  }
  return all;
}

void KeptSamples::join(Instant &into, const Instant &later) const {
  into.t_ns = later.t_ns;
  into.weight += later.weight;
  for (size_t i = 0; i < into.values.size(); i++)
    into.values[i] = joined(into.values[i], later.values[i]);
}

void KeptSamples::halve() {
  std::vector<Instant> half;
  for (size_t i = 0; i < instants_.size(); i += 2) {
    half.push_back(std::move(instants_[i]));
    if (i + 1 < instants_.size())
      join(half.back(), instants_[i + 1]);
  }
  instants_ = std::move(half);
  stride_ *= 2;
}

size_t KeptSamples::rows_left(Kind kind) const {
  return static_cast<size_t>(std::ranges::count_if(
      rows_[at(kind)], [](const Row &row) { return row.seen && !row.left_out; }));
}

// First times, then flows and queues, as long as there are more than the files will have.
void KeptSamples::shrink() {
  if (instants_.size() >= 2 * kFewestTimes)
    return halve();
  const bool flows = leave(Kind::Flow, std::max(limits_.flows, rows_left(Kind::Flow) / 2));
  const bool queues = leave(Kind::Queue, std::max(limits_.queues, rows_left(Kind::Queue) / 2));
  if (!flows && !queues && instants_.size() > 1)
    halve();
}

std::vector<double> KeptSamples::means(Kind kind, const char *column) const {
  std::vector<double> sums(rows_[at(kind)].size()), counts(sums.size());
  for (const Instant &instant : instants_)
    for (const Value &value : instant.values[at(kind)])
      if (std::string_view(columns_[value.column].name) == column) {
        sums[value.row] += value.value * value.count;
        counts[value.row] += value.count;
      }
  for (size_t i = 0; i < sums.size(); i++)
    sums[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
  return sums;
}

// Rows that have samples: named ones, then by what choose() says.
std::vector<uint32_t> KeptSamples::by_difference(Kind kind) const {
  const auto &rows = rows_[at(kind)];
  const std::vector<double> mean =
      means(kind, kind == Kind::Flow ? "goodput_bps" : "backlog_bytes");
  std::vector<uint32_t> named, others;
  for (uint32_t row = 0; row < rows.size(); row++)
    if (has(kind, row))
      (rows[row].named ? named : others).push_back(row);
  std::vector<uint32_t> falling = others;
  std::ranges::stable_sort(falling, std::greater<>(), [&](uint32_t row) { return mean[row]; });
  if (kind == Kind::Flow) { // highest, lowest, second highest ...
    std::vector<uint32_t> rising = others;
    std::ranges::stable_sort(rising, {}, [&](uint32_t row) { return mean[row]; });
    std::vector<bool> taken(rows.size());
    others.clear();
    for (size_t i = 0; i < falling.size(); i++)
      for (const uint32_t row : {falling[i], rising[i]})
        if (!taken[row]) {
          taken[row] = true;
          others.push_back(row);
        }
    falling = std::move(others);
  }
  named.insert(named.end(), falling.begin(), falling.end());
  return named;
}

// Leaves `most` of them, and all that are named. Whether there were more.
bool KeptSamples::leave(Kind kind, size_t most) {
  if (rows_left(kind) <= most)
    return false;
  auto &rows = rows_[at(kind)];
  const std::vector<uint32_t> order = by_difference(kind);
  bool left = false;
  for (size_t i = most; i < order.size(); i++)
    if (Row &row = rows[order[i]]; !row.named)
      left = row.left_out = true;
  for (Instant &instant : instants_) {
    Values &values = instant.values[at(kind)];
    std::erase_if(values, [&rows](const Value &value) { return rows[value.row].left_out; });
    values.shrink_to_fit();
  }
  return left;
}

size_t KeptSamples::cells() const {
  size_t columns = 0;
  for (const Kind kind : kSampleKinds) {
    std::vector<bool> known(rows_[at(kind)].size() * columns_.size());
    for (const Instant &instant : instants_)
      for (const Value &value : instant.values[at(kind)])
        known[value.row * columns_.size() + value.column] = true;
    columns += static_cast<size_t>(std::ranges::count(known, true));
  }
  return columns * instants_.size();
}

void KeptSamples::distances(ExperimentSamples &into) const {
  const auto between = [](uint64_t from, uint64_t to, size_t times) {
    return times > 1 ? (to - from) / (times - 1) : 0;
  };
  std::vector<uint64_t> of_flows;
  for (const Instant &instant : instants_)
    if (!instant.values[at(Kind::Flow)].empty())
      of_flows.push_back(instant.t_ns);
  if (!instants_.empty())
    into.sample_ns = between(instants_.front().t_ns, instants_.back().t_ns, instants_.size());
  if (!of_flows.empty())
    into.flow_sample_ns = between(of_flows.front(), of_flows.back(), of_flows.size());
}

ExperimentSamples KeptSamples::choose() {
  close_instant();
  leave(Kind::Flow, limits_.flows);
  leave(Kind::Queue, limits_.queues);
  while (instants_.size() > 1 && cells() > limits_.cells)
    halve();
  ExperimentSamples chosen;
  for (const Kind kind : kSampleKinds)
    for (const Row &row : rows_[at(kind)])
      if (row.left_out)
        (kind == Kind::Flow ? chosen.flows_left_out : chosen.queues_left_out)++;
      else
        chosen.thinned += row.seen;
  chosen.flows = rows_left(Kind::Flow);
  chosen.thinned -= held();
  distances(chosen);
  return chosen;
}

void KeptSamples::each(const Each &each) const {
  std::vector<ExperimentSample> samples;
  for (const Instant &instant : instants_) {
    samples.clear();
    for (const Kind kind : kSampleKinds)
      for (const Value &value : instant.values[at(kind)])
        samples.push_back(
            {instant.t_ns, kind, value.row, columns_[value.column].name, value.value});
    each(samples);
  }
}

} // namespace xr::report
