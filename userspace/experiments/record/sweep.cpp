// SPDX-License-Identifier: Apache-2.0
#include "record/sweep.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/draw.h"
#include "base/stopwatch.h"
#include "parse/value.h"
#include "parse/yaml.h"
#include "record/processes.h"
#include "record/run_files.h"
#include "record/run_plots.h"
#include "results/files.h"

namespace xr::record {

namespace {

constexpr uint64_t kWhole = 1'000; // of a point, for the progress
constexpr const char *kPointFile = "/point.json";

// The directory of a point: its settings, without what a file name must not have.
std::string directory_name(size_t number, const experiment::Settings &point) {
  constexpr size_t kLongest = 80;
  std::string name;
  for (const auto &[key, value] : point)
    name += (name.empty() ? "" : ",") + key.substr(key.rfind('.') + 1) + "=" + value;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && !std::strchr("=,.-_", c))
      c = '-';
  return fmt::format("{:03}-{}", number + 1, name.substr(0, kLongest));
}

// How far each point is, of kWhole; written by its process.
class Fractions {
public:
  explicit Fractions(size_t points) : points_(points) {
    void *memory =
        mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
      fractions_ = static_cast<std::atomic<uint64_t> *>(memory);
  }
  ~Fractions() {
    if (fractions_)
      munmap(fractions_, bytes());
  }
  Fractions(const Fractions &) = delete;
  Fractions &operator=(const Fractions &) = delete;

  void set(size_t point, uint64_t fraction) const {
    if (fractions_)
      fractions_[point].store(std::min(fraction, kWhole), std::memory_order_relaxed);
  }
  uint64_t sum() const {
    uint64_t all = 0;
    for (size_t i = 0; fractions_ && i < points_; i++)
      all += fractions_[i].load(std::memory_order_relaxed);
    return all;
  }

private:
  size_t bytes() const { return std::max<size_t>(points_, 1) * sizeof(*fractions_); }

  size_t points_;
  std::atomic<uint64_t> *fractions_ = nullptr; // null: no memory, and no progress within points
};

class Sweep {
public:
  Sweep(const experiment::ExperimentFile &file, const experiment::Settings &settings,
        const std::vector<experiment::Settings> &points, const SweepOptions &options)
      : file_(file), settings_(settings), points_(points), options_(options) {
    const std::string run = run_id(), host = host_name();
    for (size_t i = options.share.index; i < points.size(); i += options.share.count) {
      rows_.push_back({.number = i + 1, .run = run, .host = host, .settings = points[i]});
      rows_.back().failure = "it did not run";
      if (!options.out.empty())
        rows_.back().directory = options.out + "/" + directory_name(i, points[i]);
    }
    fractions_.emplace(rows_.size());
  }

  Result<std::vector<sweep::SweepPoint>> run() {
    const Stopwatch stopwatch;
    const size_t stored = take_stored();
    if (stored && options_.on_found)
      options_.on_found(stored);
    size_t over = stored;
    for (size_t next = 0; over < rows_.size();) {
      while (!stopped() && next < rows_.size() && processes_.running() < options_.jobs) {
        const size_t row = next++;
        if (!rows_[row].failure.empty())
          XR_TRY(processes_.start(row, [this, row] { return run_point(row); }));
      }
      if (!processes_.running())
        break;
      if (stopped())
        processes_.signal(SIGTERM);
      for (const Processes::Ended &ended : processes_.wait()) {
        finish(ended);
        over++;
      }
      options_.progress(fractions_->sum(), (rows_.size() - stored) * kWhole,
                        fmt::format("{} of {}, {}{} running", over, counted(rows_.size(), "point"),
                                    pace(over - stored, stopwatch.wall_s()), processes_.running()));
    }
    return std::move(rows_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop->load(); }

  static std::string pace(size_t points, double seconds) {
    const double each = seconds / static_cast<double>(std::max<size_t>(points, 1));
    return !points    ? ""
           : each < 1 ? fmt::format("{:.1f} points/s, ", 1 / each)
                      : fmt::format("{:.1f} s a point, ", each);
  }

  // Equal for equal file, settings and version: their sweeps have equal points.
  std::string run_id() const {
    uint64_t hash = mix(points_.size());
    const auto add = [&hash](const std::string &text) {
      for (const char c : text)
        hash = mix(hash ^ static_cast<uint8_t>(c));
      hash = mix(hash + text.size());
    };
    add(XR_VERSION);
    add(file_.text());
    for (const auto &[key, value] : settings_) {
      add(key);
      add(value);
    }
    return fmt::format("{:016x}", hash);
  }

  static std::string host_name() {
    char name[256] = "";
    return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
  }

  // How many points are in their directories already.
  size_t take_stored() {
    size_t taken = 0;
    for (sweep::SweepPoint &row : rows_) {
      const auto text = row.directory.empty() ? Result<std::string>(Error{""})
                                              : parse::read_file(row.directory + kPointFile);
      if (!text)
        continue;
      auto stored = sweep::read_stored_point(text.get());
      if (!stored || stored->point.run != row.run || stored->point.number != row.number)
        continue;
      stored->point.directory = row.directory;
      row = std::move(stored->point);
      taken++;
    }
    return taken;
  }

  Result<std::string> run_point(size_t point) const {
    auto experiment = XR_TRY(file_.read(joined(settings_, rows_[point].settings)));
    if (!rows_[point].directory.empty())
      sample_for_plots(experiment);
    const auto result = XR_TRY(run_experiment(
        experiment, {rows_[point].directory, ""},
        [&](const places::RunProgress &at) {
          fractions_->set(point, at.now_ns * kWhole / std::max<uint64_t>(at.duration_ns, 1));
          return !stopped();
        },
        options_.place));
    return sweep::pack_point(result);
  }

  void finish(const Processes::Ended &ended) {
    fractions_->set(ended.job, kWhole);
    sweep::SweepPoint &row = rows_[ended.job];
    row.failure = ended.failure;
    if (row.failure.empty() && !sweep::unpack_point(ended.text, row))
      row.failure = "its process ended without a result";
    if (!row.failure.empty())
      row.result.measured.why_void = {row.failure};
    else if (!row.directory.empty() && row.result.verdict != Verdict::Void)
      if (Status s = write_whole(row.directory + kPointFile,
                                 sweep::stored_point(row, ended.text, points_.size()));
          !s)
        row.failure = s.error().message;
  }

  const experiment::ExperimentFile &file_;
  const experiment::Settings &settings_;
  const std::vector<experiment::Settings> &points_;
  const SweepOptions &options_;
  Processes processes_;
  std::vector<sweep::SweepPoint> rows_;
  std::optional<Fractions> fractions_;
};

} // namespace

namespace {

// A scheduler's name of a rank or index, and of how many there are (null: not known).
struct RankVariables {
  const char *index, *count, *first; // first: of the least index, null: 0
};
constexpr RankVariables kRanks[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"SLURM_PROCID", "SLURM_NTASKS", nullptr},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"PMI_RANK", "PMI_SIZE", nullptr},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr},
};

std::optional<uint64_t> in_environment(const char *name) {
  const char *text = name ? getenv(name) : nullptr;
  const auto value = text ? parse::integer(text, 0, UINT32_MAX) : Result<uint64_t>(Error{""});
  return value ? std::optional(value.get()) : std::nullopt;
}

Result<SweepShare> automatic_share(std::optional<uint64_t> count) {
  for (const RankVariables &rank_variables : kRanks) {
    const auto index = in_environment(rank_variables.index);
    if (!index)
      continue;
    const uint64_t from = in_environment(rank_variables.first).value_or(0);
    const uint64_t of = count.value_or(in_environment(rank_variables.count).value_or(0));
    if (!of)
      return Error{fmt::format("auto: {} is set, but not of how many", rank_variables.index),
                   "auto/N"};
    if (*index < from || *index - from >= of)
      return Error{fmt::format("auto: {} is {}, of {}", rank_variables.index, *index, of)};
    return SweepShare{*index - from, of};
  }
  return Error{"auto: no scheduler has set its variables",
               "SLURM_ARRAY_TASK_ID, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK or "
               "JOB_COMPLETION_INDEX; else I/N"};
}

} // namespace

Result<SweepShare> parse_share(const std::string &word) {
  const size_t slash = word.find('/');
  std::optional<uint64_t> count;
  if (slash != std::string::npos) {
    const auto n = parse::integer(word.substr(slash + 1), 1, UINT32_MAX);
    if (!n)
      return Error{fmt::format("'{}' is not a share", word), "I/N like 2/8, auto or auto/N"};
    count = n.get();
  }
  const std::string first = word.substr(0, slash);
  if (first == "auto")
    return automatic_share(count);
  const auto index = count ? parse::integer(first, 1, *count) : Result<uint64_t>(Error{""});
  if (!index)
    return Error{fmt::format("'{}' is not a share", word), "I/N like 2/8, auto or auto/N"};
  return SweepShare{index.get() - 1, *count};
}

experiment::Settings joined(const experiment::Settings &first, const experiment::Settings &second) {
  experiment::Settings all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

Result<std::vector<sweep::SweepPoint>> sweep(const experiment::ExperimentFile &file,
                                             const experiment::Settings &settings,
                                             const std::vector<experiment::Settings> &points,
                                             const SweepOptions &options) {
  return Sweep(file, settings, points, options).run();
}

} // namespace xr::record
