// SPDX-License-Identifier: Apache-2.0
#include "importers/job_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/counted.h"
#include "importers/experiment_text.h"
#include "job/files.h"

namespace xr::importers {

namespace {

constexpr const char *kRate = "100gbit", *kDelay = "1us";
constexpr size_t kMostSwitchLinks = 256; // of a switch
constexpr size_t kMostPods = 32;         // of a fat tree

// Ranks that one switch does not have links for are in the smallest fat tree that has hosts.
Result<std::string> topology(size_t ranks) {
  if (ranks > kMostSwitchLinks) {
    size_t k = 4;
    while (k < kMostPods && k * k * k / 4 < ranks)
      k += 2;
    if (k * k * k / 4 < ranks)
      return Error{fmt::format("the job has {} ranks, more than the hosts of a fat tree", ranks),
                   fmt::format("at most {}", k * k * k / 4)};
    return fmt::format("topology:\n  fat-tree: {{k: {}, rate: {}, delay: {}}}\n", k, kRate, kDelay);
  }
  std::string text = "topology:\n  graph:\n    switches: [s]\n    links:\n";
  for (size_t rank = 0; rank < ranks; rank++)
    text += fmt::format("      - [n{}, s, {}, {}]\n", rank, kRate, kDelay);
  return text;
}

} // namespace

bool is_job_file(const std::string &format) {
  return std::ranges::count(job::file_formats(), format) > 0;
}

Result<ImportedExperiment> job_file(const std::string &format, const std::string &path) {
  auto file = std::filesystem::absolute(path).lexically_normal();
  if (file.filename().empty()) // a directory's name may end with a slash
    file = file.parent_path();
  const auto job = XR_TRY(job::read_job(format, path, format));
  const size_t ranks = job.hosts.size();
  const std::string network = XR_TRY(topology(ranks));
  ImportedExperiment out;
  out.yaml = fmt::format("# Imported from {0}\nexperiment: {1}\nseed: 1\nuntil: done\n{2}"
                         "jobs:\n  - {{{0}: {3}}}\n",
                         format, quoted(file.filename().string()), network, quoted(file.string()));
  out.notes.push_back(
      fmt::format("{}, {}; the network is chosen here: a host for "
                  "each rank at {}, {}, {}",
                  counted(ranks, "rank"), counted(job.operations.size(), "operation"),
                  ranks > kMostSwitchLinks ? "a fat tree" : "one switch", kRate, kDelay));
  return out;
}

} // namespace xr::importers
