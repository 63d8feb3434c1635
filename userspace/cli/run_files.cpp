// SPDX-License-Identifier: Apache-2.0
#include "cli/run_files.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/provenance.h"
#include "cli/run_plots.h"
#include "cli/run_samples.h"
#include "cli/run_tables.h"
#include "cli/scratch_directory.h"
#include "report/experiment.h"
#include "run_analysis/captures.h"

namespace xr::cli {

namespace {

Error cannot_write(const std::string &path) {
  return errno_error(errno, fmt::format("cannot write {}", path));
}

void record_result(const ExperimentResult &result) {
  record_seed(result.seed);
  record_clock(result.place == "virtual" ? "virtual" : "realtime");
}

Status write_result(const std::string &out, const ExperimentResult &result) {
  return write_whole(out + "/result.json", json_file(report::experiment_report(result)));
}

} // namespace

Status make_directory(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(Error{fmt::format("cannot make {}: {}", path, error.message())}) : Status();
}

Result<Fd> own_directory(const std::string &path, bool shared) {
  XR_TRY(make_directory(path));
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory)
    return errno_error(errno, fmt::format("cannot open {}", path));
  // File systems without locks have no owner.
  if (flock(directory.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    return Error{fmt::format("{}: another run writes into it", path),
                 "wait for its end, or another --out"};
  return directory;
}

Status write_whole(const std::string &path, const std::string &text) {
  return write_whole(path, [&text](std::ostream &file) {
    file << text;
    return Status();
  });
}

Status write_whole(const std::string &path, const std::function<Status(std::ostream &)> &write) {
  const std::string part = path + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  XR_TRY(write(file));
  file.close();
  if (!file)
    return cannot_write(path);
  if (rename(part.c_str(), path.c_str()) < 0)
    return cannot_write(path);
  return {};
}

Result<ExperimentResult>
run_experiment(const experiment::Experiment &experiment, const RunFiles &files,
               const std::function<bool(const places::RunProgress &)> &progress,
               const RunPlace &place) {
  places::RunHooks hooks{.progress = progress, .samples = {}, .partial = {}};
  const std::string &out = files.out;
  std::optional<ScratchDirectory> scratch; // of captures that are for the answers only
  if (out.empty() && experiment.only_for_answers) {
    scratch.emplace(XR_TRY(ScratchDirectory::make()));
  }
  const std::string &captures = scratch ? scratch->path() : out;
  hooks.answers = [&](const ExperimentResult &result) {
    return run_analysis::from_captures(experiment, result, captures);
  };
  std::unique_ptr<RunSamples> samples;
  Fd owner;
  if (!out.empty())
    owner = XR_TRY(own_directory(out));
  if (!out.empty() || !files.plots.empty()) {
    samples = XR_TRY(RunSamples::make(experiment, out));
    hooks.samples = [&](const std::vector<ExperimentSample> &some,
                        const experiment::Subject &subject) { return samples->add(some, subject); };
  }
  if (!out.empty())
    hooks.partial = [&](ExperimentResult partial) {
      partial.version = XR_VERSION;
      record_result(partial);
      return write_result(out, partial);
    };
  auto result = place(experiment, hooks, captures);
  if (!result)
    return result;
  result->version = XR_VERSION;
  record_result(result.get());
  if (!samples)
    return result;
  XR_TRY(samples->finish(result.get()));
  XR_TRY(write_plots(out, files.plots, experiment, result.get(), *samples));
  if (out.empty())
    return result;
  XR_TRY(write_result(out, result.get()));
  XR_TRY(write_run_tables(out, result.get()));
  XR_TRY(write_whole(out + "/junit.xml", report::junit_xml({&result.get()})));
  return result;
}

void show_progress(Progress &progress, const places::RunProgress &at) {
  const double seconds = progress.seconds();
  const double simulated = static_cast<double>(at.now_ns) / 1e9;
  progress.update(at.now_ns, at.duration_ns,
                  fmt::format("{:.1f} ms, {:.1f} M packet-hops/s, 1/{:.0f} of real time",
                              simulated * 1e3,
                              seconds > 0 ? static_cast<double>(at.packet_hops) / seconds / 1e6 : 0,
                              simulated > 0 ? seconds / simulated : 0));
}

} // namespace xr::cli
