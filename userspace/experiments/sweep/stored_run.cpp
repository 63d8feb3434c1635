// SPDX-License-Identifier: Apache-2.0
#include "sweep/stored_run.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/experiment.h"

namespace xr::sweep {

using namespace report;

namespace {

using nlohmann::json;
using Kind = ExperimentSample::Kind;

constexpr size_t kBatch = 4096;                                   // samples
constexpr const char *kNames[] = {"name", "src", "dst", "alias"}; // what is no number of a row
// Runs of versions before 0.9 have the first only; those of 0.9 repeat the second under this name.
constexpr const char *kOldRate = "rate_bps", *kRate = "goodput_bps";
// Numbers that say nothing about how a run went.
constexpr const char *kIdentities[] = {"qp", "start_ns", "end_ns"};

void add_number(StoredRow &row, const std::string &column, const json &value) {
  if (value.is_number() &&
      std::find(std::begin(kIdentities), std::end(kIdentities), column) == std::end(kIdentities))
    row.numbers.emplace_back(column, value.get<double>());
}

// A nested object, as backlog_bytes is, has a column for each of its keys.
StoredRow stored_row(Kind kind, const json &object) {
  StoredRow row{.kind = kind, .name = object.at("name")};
  for (const auto &[key, value] : object.items()) {
    if (std::find(std::begin(kNames), std::end(kNames), key) != std::end(kNames))
      continue;
    if (key == kOldRate && object.contains(kRate))
      continue;
    if (!value.is_object())
      add_number(row, key == kOldRate ? kRate : key, value);
    else
      for (const auto &[inner, number] : value.items())
        add_number(row, fmt::format("{}.{}", key, inner), number);
  }
  return row;
}

template <typename T> std::optional<T> optional_at(const json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null())
    return {};
  return found->get<T>();
}

ExperimentPrediction prediction_of(const json &object) {
  ExperimentPrediction prediction;
  prediction.queue_bytes = optional_at<double>(object, "queue_bytes");
  prediction.share_bps = optional_at<double>(object, "share_bps");
  return prediction;
}

Verdict verdict_of(const std::string &name) {
  for (const Verdict verdict : {Verdict::Pass, Verdict::Fail})
    if (name == verdict_name(verdict))
      return verdict;
  return Verdict::Void;
}

} // namespace

Result<StoredRun> read_stored_run(const std::string &text) {
  try {
    const json stored = json::parse(text);
    StoredRun run;
    ExperimentResult &result = run.result;
    result.name = stored.at("experiment");
    result.place = stored.at("place");
    result.seed = stored.at("seed");
    result.version = stored.at("version");
    result.scale = stored.value("scale", 1.0);
    result.verdict = verdict_of(stored.at("verdict"));
    result.measured.why_void = stored.at("why_void").get<std::vector<std::string>>();
    result.measured.duration_ns = stored.at("duration_ns");
    result.measured.jain = optional_at<double>(stored, "jain");
    result.measured.packets = stored.at("packets");
    result.prediction = prediction_of(stored.at("prediction"));
    run.rows.push_back({.numbers = {{"packets", static_cast<double>(result.measured.packets)}}});
    if (result.measured.jain)
      run.rows.back().numbers.emplace_back("jain", *result.measured.jain);
    for (const json &flow : stored.at("flows")) {
      run.rows.push_back(stored_row(Kind::Flow, flow));
      ExperimentFlow experiment_flow;
      experiment_flow.name = flow.at("name");
      experiment_flow.fct_ns = optional_at<uint64_t>(flow, "fct_ns");
      experiment_flow.slowdown = optional_at<double>(flow, "slowdown");
      result.measured.flows.push_back(std::move(experiment_flow));
    }
    for (const json &queue : stored.at("queues")) {
      run.rows.push_back(stored_row(Kind::Queue, queue));
      result.measured.queues.emplace_back().name = queue.at("name");
    }
    return run;
  } catch (const json::exception &) {
    return Error{"it is no result.json of `run`"};
  }
}

Result<SeriesReader> SeriesReader::open(const std::string &path, const StoredRun &run) {
  SeriesReader reader;
  reader.path_ = path;
  errno = 0;
  reader.file_.open(path, std::ios::binary);
  if (!reader.file_)
    return errno_error(errno, fmt::format("cannot read {}", path));
  std::string header;
  std::getline(reader.file_, header);
  if (header + "\n" != series_header())
    return Error{fmt::format("{} is no series.csv of `run`", path)};
  const ExperimentMeasurement &m = run.result.measured;
  for (uint32_t i = 0; i < m.flows.size(); i++)
    reader.flows_.emplace(m.flows[i].name, i);
  for (uint32_t i = 0; i < m.queues.size(); i++)
    reader.queues_.emplace(m.queues[i].name, i);
  return reader;
}

// Names have no comma: they are words of a file's key, or made by the topology.
std::optional<ExperimentSample> SeriesReader::parse(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (size_t i = 0; i < fields.size(); i++) {
    const size_t comma = i + 1 < fields.size() ? line.find(',') : line.size();
    if (comma == std::string_view::npos)
      return {};
    fields[i] = line.substr(0, comma);
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  ExperimentSample sample;
  const auto number = [](std::string_view text, auto &value) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
  };
  if (!number(fields[0], sample.t_ns) || !number(fields[4], sample.value))
    return {};
  const auto *names = fields[1] == "flow" ? &flows_ : fields[1] == "queue" ? &queues_ : nullptr;
  sample.kind = names == &flows_ ? Kind::Flow : names ? Kind::Queue : Kind::Total;
  if (names) {
    const auto row = names->find(fields[2]);
    if (row == names->end())
      return {};
    sample.row = row->second;
  } else if (fields[1] != "total") {
    return {};
  }
  auto column = columns_.find(fields[3]);
  if (column == columns_.end())
    column = columns_.emplace(fields[3], std::make_unique<std::string>(fields[3])).first;
  sample.column = column->second->c_str();
  return sample;
}

Result<std::vector<ExperimentSample>> SeriesReader::next() {
  std::vector<ExperimentSample> samples;
  std::string line;
  while (samples.size() < kBatch && std::getline(file_, line)) {
    line_++;
    const auto sample = parse(line);
    if (!sample)
      return Error{
          fmt::format("{}:{}: '{}' is no sample of the result.json beside it", path_, line_, line)};
    const std::string_view column = sample->column;
    has_goodput_ = has_goodput_ || column == kRate;
    if (column != kOldRate)
      samples.push_back(*sample);
    else if (!has_goodput_)
      (samples.emplace_back(*sample)).column = kRate;
  }
  return samples;
}

} // namespace xr::sweep
