// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/analyzer.h"
#include "analysis/captured_packet.h"
#include "analysis/pipeline.h"

namespace xr {

namespace {

// Rows of pairs in the order in which their requests began.
template <typename Row> void sort_pairs(std::vector<Row> &rows, const Snapshot &snapshot) {
  if (rows.empty())
    return;
  std::map<std::string_view, size_t> places;
  const auto bytes = [](const roce_key &key) {
    return std::string_view(reinterpret_cast<const char *>(&key), sizeof(key));
  };
  for (size_t i = 0; i < snapshot.streams.size(); i++)
    places.emplace(bytes(snapshot.streams[i].key), i);
  std::ranges::stable_sort(rows, {}, [&](const Row &row) {
    const auto place = places.find(bytes(row.name.key));
    return place == places.end() ? places.size() : place->second;
  });
}

// The bytes of the captures; 0: they cannot be read a second time.
uint64_t bytes_of(const std::vector<std::string> &paths) {
  uint64_t bytes = 0;
  for (const std::string &path : paths) {
    std::error_code error;
    if (path == "-" || !std::filesystem::is_regular_file(path, error))
      return 0;
    bytes += std::filesystem::file_size(path, error);
  }
  return bytes;
}

// What takes all frames in order, or has handed frames to its caller, is not divided.
bool may_divide(const std::vector<std::string> &paths, const AnalyzeRun &run) {
  const Analyzer::Options &options = run.options;
  return bytes_of(paths) > run.divide_from && options.track && !options.decap && !options.series &&
         options.clock == FrameClock::Capture && !options.outcome && !run.on_event && !run.on_frame;
}

// How the streams of the first frames divide: of a small part of the bytes, or kFrames.
Division survey(const std::vector<std::string> &paths, const AnalyzeRun &run) {
  constexpr uint64_t kFrames = 1 << 16, kLeast = 1 << 10, kPart = 64;
  auto set = CaptureSet::open(paths, run.stop, false, run.read);
  if (!set)
    return Division::by_hosts();
  NativeDatapath datapath({.udp_port = run.options.udp_port});
  CapturedFrame frame;
  uint64_t left = bytes_of(paths) / kPart;
  for (uint64_t n = 0; n < kFrames && (left || n < kLeast) && set->next(frame) == Next::Frame;
       n++) {
    left -= std::min<uint64_t>(left, frame.captured);
    roce_packet packet;
    const roce_class class_ = parse_captured(datapath, frame, packet);
    datapath.account(view_of(frame), class_, packet);
  }
  Snapshot surveyed;
  datapath.snapshot(surveyed);
  return Division::by_qps(surveyed);
}

// Divided by QPs, if these do not fit by hosts; undivided, if a table is full that all share.
Result<std::unique_ptr<Pipeline>> run_divided(const std::vector<std::string> &paths,
                                              const AnalyzeRun &run,
                                              std::vector<uint64_t> &processor_ns) {
  Division division = may_divide(paths, run) ? survey(paths, run) : Division();
  for (;;) {
    auto pipeline = XR_TRY(Pipeline::open(paths, run, division));
    processor_ns = pipeline->run();
    if (pipeline->full())
      division = Division();
    else if (pipeline->undivided())
      division = Division::by_hosts();
    else
      return pipeline;
  }
}

} // namespace

Result<Analysis> analyze(std::vector<std::string> paths, const AnalyzeRun &run) {
  AnalyzeRun with = run;
  if (run.copies == Copies::LeaveOut)
    with.options.copies_ns = MirroredCopies::kLongest;
  else if (run.copies == Copies::Auto)
    with.options.copies_ns =
        find_copies(paths, {.udp_port = run.options.udp_port, .decap = run.options.decap}, run.read)
            .value_or(0);
  Analysis analysis;
  auto pipeline = XR_TRY(run_divided(paths, with, analysis.processor_ns));
  Analyzer &analyzer = pipeline->analyzer();
  analyzer.snapshot(analysis.snapshot);
  if (run.options.episodes)
    analyzer.episodes(analysis.episodes);
  sort_pairs(analysis.episodes.pairs, analysis.snapshot);
  analyzer.passive_latency(analysis.passive);
  sort_pairs(analysis.passive.streams, analysis.snapshot);
  analysis.microbursts = analyzer.microbursts();
  analysis.frame_times = analyzer.frame_times();
  if (run.options.connections)
    analysis.connections = analyzer.connections();
  analysis.first_ns = analyzer.first_ns();
  if (run.options.job)
    analysis.job = analyzer.job();
  if (run.options.series)
    analysis.series = analyzer.series();
  analysis.latency = analyzer.latency();
  analysis.snapshot.name = paths.size() == 1 ? paths[0] : fmt::format("{} captures", paths.size());
  if (paths.size() > 1)
    analysis.snapshot.files = analysis.episodes.files = paths;
  analysis.snapshot.notes = pipeline->notes();
  analysis.snapshot.notes.copies = analyzer.copies();
  analysis.snapshot.notes.windows = analyzer.windows();
  analysis.snapshot.truncated = pipeline->truncated();
  analysis.files = std::move(paths);
  analysis.troubles = pipeline->troubles();
  if (analysis.troubles.empty())
    analysis.stopped = run.stop && run.stop->load();
  return analysis;
}

} // namespace xr
