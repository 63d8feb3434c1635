// SPDX-License-Identifier: Apache-2.0
#include "importers/job_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/counted.h"
#include "importers/experiment_text.h"
#include "importers/hpcc_network.h"
#include "job/files.h"
#include "parse/yaml.h"
#include "simulate/topology.h"

namespace xr::importers {

namespace {

constexpr const char *kRate = "100gbit", *kDelay = "1us";
constexpr size_t kMostSwitchLinks = 256; // of a switch

// Ranks that one switch does not have links for are in the smallest fat tree that has hosts.
Result<std::string> topology_of(size_t ranks) {
  if (ranks > kMostSwitchLinks) {
    size_t k = 4;
    while (k < simulate::kMostFatTree && k * k * k / 4 < ranks)
      k += 2;
    if (k * k * k / 4 < ranks)
      return Error{fmt::format("the job has {} ranks, more than the hosts of a fat tree", ranks),
                   fmt::format("at most {}, or a topology", k * k * k / 4)};
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

Result<ImportedExperiment> job_file(const std::string &format, const std::string &path,
                                    const std::string &topology) {
  auto file = std::filesystem::absolute(path).lexically_normal();
  if (file.filename().empty()) // a directory's name may end with a slash
    file = file.parent_path();
  std::string network, where;
  uint32_t hosts = 0;
  if (!topology.empty()) {
    const auto read =
        XR_TRY(read_hpcc_network(XR_TRY(parse::read_file(topology)), parse::file_name(topology)));
    network = hpcc_topology(read);
    hosts = read.hosts();
    where = fmt::format("the network is {}, in which rank 0 is its first host", topology);
  }
  const auto size = XR_TRY(job::measure_job(format, path, {.hosts = hosts}));
  if (hosts && size.ranks > hosts)
    return Error{fmt::format("{}: the job has {} ranks, and {} has {} hosts", path, size.ranks,
                             topology, hosts),
                 "a topology with as many hosts"};
  if (!hosts) {
    network = XR_TRY(topology_of(size.ranks));
    where = fmt::format("the network is chosen here: a host for each rank at {}, {}, {}",
                        size.ranks > kMostSwitchLinks ? "a fat tree" : "one switch", kRate, kDelay);
  }
  ImportedExperiment out;
  out.yaml = fmt::format("# Imported from {0}\nexperiment: {1}\nseed: 1\nuntil: done\n{2}"
                         "jobs:\n  - {{{0}: {3}{4}}}\n",
                         format, quoted(file.filename().string()), network, quoted(file.string()),
                         size.part.empty() ? "" : ", " + size.part);
  if (!size.part.empty())
    out.notes.push_back(fmt::format("{}: the whole has {}, more than can run", size.part,
                                    counted(size.operations, "operation")));
  out.notes.push_back(fmt::format("{}, {}; {}", counted(size.ranks, "rank"),
                                  counted(size.operations, "operation"), where));
  return out;
}

} // namespace xr::importers
