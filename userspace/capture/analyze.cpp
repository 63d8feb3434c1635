// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "capture/analyzer.h"
#include "capture/following.h"

namespace xr {

namespace {

// The stop flag and the progress are checked once per 256 frames.
constexpr uint32_t kLookMask = 255;

// One job: all frames are read, those of its share are accounted.
struct Job {
  Job(CaptureSet captures, const Analyzer::Options &options)
      : set(std::move(captures)), analyzer(options) {}

  CaptureSet set;
  Analyzer analyzer;
  Next end = Next::End;
  std::optional<Error> failed; // by on_frame

  void read(const AnalyzeRun &run, bool tell) {
    CapturedFrame frame;
    uint64_t progress_at = run.progress_step;
    for (uint32_t n = 1; (end = set.next(frame)) == Next::Frame; n++) {
      const roce_key *stream = analyzer.frame(frame);
      if (run.on_frame)
        if (Status done = run.on_frame(frame, stream); !done) {
          failed = done.error();
          break;
        }
      if (n & kLookMask)
        continue;
      if (run.stop && run.stop->load(std::memory_order_relaxed))
        break;
      if (tell && run.on_progress && set.progress().bytes >= progress_at) {
        run.on_progress(set.progress());
        progress_at = set.progress().bytes + run.progress_step;
      }
    }
  }
};

// Counters of 64 bits.
template <typename Counts> void add(Counts &to, const Counts &from) {
  static_assert(sizeof(Counts) % sizeof(uint64_t) == 0);
  auto *sums = reinterpret_cast<uint64_t *>(&to);
  const auto *more = reinterpret_cast<const uint64_t *>(&from);
  for (size_t i = 0; i < sizeof(to) / sizeof(uint64_t); i++)
    sums[i] += more[i];
}

// For each part, the number that one job would have given to a QP, by the part's own number.
std::vector<std::vector<uint32_t>> numbers_of(const std::vector<Snapshot> &parts) {
  struct Given {
    uint64_t frame;
    size_t part, number;
  };
  std::vector<Given> given;
  std::vector<std::vector<uint32_t>> numbers;
  for (size_t part = 0; part < parts.size(); part++) {
    const std::vector<uint64_t> &frames = parts[part].number_frames;
    numbers.emplace_back(frames.size() + 1);
    for (size_t i = 0; i < frames.size(); i++)
      given.push_back({frames[i], part, i + 1});
  }
  std::ranges::stable_sort(given, {}, &Given::frame);
  for (size_t i = 0; i < given.size(); i++)
    numbers[given[i].part][given[i].number] = static_cast<uint32_t>(i + 1);
  return numbers;
}

// As one job would have found them: streams in the order in which they began, and numbers of QPs in
// that order.
Snapshot merged(const std::vector<Snapshot> &parts) {
  struct Place {
    size_t part, stream;
  };
  Snapshot all = parts[0];
  std::vector<Place> places;
  for (size_t part = 0; part < parts.size(); part++) {
    if (part) {
      add(all.totals, parts[part].totals);
      for (size_t i = 0; i < all.opcodes.size(); i++)
        add(all.opcodes[i], parts[part].opcodes[i]);
      for (size_t i = 0; i < all.classes.size(); i++)
        add(all.classes[i], parts[part].classes[i]);
    }
    for (size_t i = 0; i < parts[part].streams.size(); i++)
      places.push_back({part, i});
  }
  std::ranges::stable_sort(places, [&](const Place &a, const Place &b) {
    return parts[a.part].first_frames[a.stream] < parts[b.part].first_frames[b.stream];
  });
  all.streams.clear();
  all.qp_numbers.clear();
  all.first_frames.clear();
  const std::vector<std::vector<uint32_t>> numbers = numbers_of(parts);
  for (const Place &place : places) {
    const Snapshot &part = parts[place.part];
    all.streams.push_back(part.streams[place.stream]);
    all.qp_numbers.push_back(numbers[place.part].at(part.qp_numbers[place.stream]));
    all.first_frames.push_back(part.first_frames[place.stream]);
  }
  return all;
}

template <typename T> void append(std::vector<T> &to, std::vector<T> &from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Rows of pairs in the order in which their requests began.
template <typename Row> void sort_pairs(std::vector<Row> &rows, const Snapshot &snapshot) {
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

// The times between CNPs are those of the first part.
void add_found(Episodes &to, Episodes &from) {
  append(to.episodes, from.episodes);
  append(to.findings, from.findings);
  append(to.pairs, from.pairs);
  to.pairs_full += from.pairs_full;
  to.episodes_dropped += from.episodes_dropped;
  to.findings_dropped += from.findings_dropped;
  to.holes_forgotten += from.holes_forgotten;
  to.cnps_forgotten += from.cnps_forgotten;
  to.unpaired += from.unpaired;
}

Result<std::vector<std::unique_ptr<Job>>> begin(const std::vector<std::string> &paths,
                                                const AnalyzeRun &run) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (unsigned i = 0; i < run.jobs; i++) {
    auto set = CaptureSet::open(paths, run.stop);
    if (!set)
      return std::move(set).error();
    Analyzer::Options options = run.options;
    options.share = {i, run.jobs};
    jobs.push_back(std::make_unique<Job>(std::move(set).get(), options));
  }
  return jobs;
}

} // namespace

Result<Analysis> analyze(std::vector<std::string> paths, const AnalyzeRun &run) {
  auto begun = begin(paths, run);
  if (!begun)
    return std::move(begun).error();
  std::vector<std::unique_ptr<Job>> &jobs = begun.get();
  jobs[0]->analyzer.on_event(run.on_event);
  std::vector<std::thread> others;
  for (size_t i = 1; i < jobs.size(); i++)
    others.emplace_back([&run, job = jobs[i].get()] { job->read(run, false); });
  jobs[0]->read(run, true);
  for (std::thread &other : others)
    other.join();

  Analysis analysis;
  std::vector<Snapshot> parts(jobs.size());
  for (size_t i = 0; i < jobs.size(); i++) {
    jobs[i]->analyzer.snapshot(parts[i]);
    if (i)
      jobs[0]->analyzer.merge(jobs[i]->analyzer);
    if (!run.options.episodes)
      continue;
    Episodes found;
    jobs[i]->analyzer.episodes(found);
    if (!i)
      analysis.episodes = std::move(found);
    else
      add_found(analysis.episodes, found);
  }
  if (jobs.size() > 1) {
    analysis.snapshot = merged(parts);
    Snapshot sums; // the iCRCs of all
    jobs[0]->analyzer.snapshot(sums);
    analysis.snapshot.icrc = sums.icrc;
    std::ranges::stable_sort(analysis.episodes.episodes, {},
                             [](const EpisodeRow &row) { return episode_start(row.episode); });
    std::ranges::stable_sort(analysis.episodes.findings, {},
                             [](const FindingRow &row) { return row.finding.frame; });
  } else {
    analysis.snapshot = std::move(parts[0]);
  }
  sort_pairs(analysis.episodes.pairs, analysis.snapshot);
  jobs[0]->analyzer.passive_latency(analysis.passive);
  sort_pairs(analysis.passive.streams, analysis.snapshot);
  analysis.microbursts = jobs[0]->analyzer.microbursts();
  if (run.options.connections)
    analysis.connections = jobs[0]->analyzer.connections();
  analysis.latency = jobs[0]->analyzer.latency();
  const Job &first = *jobs[0];
  analysis.snapshot.name = paths.size() == 1 ? paths[0] : fmt::format("{} captures", paths.size());
  if (paths.size() > 1)
    analysis.snapshot.files = analysis.episodes.files = paths;
  analysis.snapshot.truncated = first.end == Next::Truncated;
  analysis.files = std::move(paths);
  analysis.troubles = first.set.errors();
  if (first.failed)
    analysis.troubles.push_back(*first.failed);
  if (analysis.troubles.empty())
    analysis.stopped = run.stop && run.stop->load();
  return analysis;
}

} // namespace xr
