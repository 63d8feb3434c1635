// SPDX-License-Identifier: Apache-2.0
// The algorithms by their names, and a collective's iterations as a job.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "job/algorithms.h"
#include "parse/words.h"

namespace xr::job {

namespace {

constexpr uint64_t kMostOperations = 50'000'000;

struct Algorithm {
  std::string_view kind, name, aidcb; // aidcb: the name of both in Keysight's data
  void (*add)(Builder &);
  // busbw = algbw x (bus x (n - 1) / n), or 1 where `bus` is 0.
  double bus;
  bool powers = false; // needs 2, 4, 8, ... ranks
};

constexpr std::array<Algorithm, 9> kAlgorithms = {{
    {"all_reduce", "ring", "all_reduce_unidirectional_ring", add_ring_all_reduce, 2},
    {"all_reduce", "bidirectional-ring", "all_reduce_bidirectional_ring", add_both_ways_all_reduce,
     2},
    {"all_reduce", "halving-doubling", "all_reduce_vector_halving_doubling", add_halving_doubling,
     2, true},
    {"all_reduce", "double-binary-tree", "all_reduce_double_binary_tree", add_double_tree, 2},
    {"all_gather", "ring", "all_gather_ring", add_ring_all_gather, 1},
    {"reduce_scatter", "ring", "reduce_scatter_ring", add_ring_reduce_scatter, 1},
    {"all_to_all", "parallel", "all_to_all_parallel", add_parallel_all_to_all, 1},
    {"all_to_all", "pxn", "all_to_all_pxn", add_pxn_all_to_all, 1},
    {"broadcast", "parallel", "broadcast_parallel", add_parallel_broadcast, 0},
}};

std::string kinds() {
  std::string text;
  for (const Algorithm &row : kAlgorithms)
    if (text.find(row.kind) == std::string::npos)
      text += (text.empty() ? "" : ", ") + std::string(row.kind);
  return text;
}

std::string algorithms_of(std::string_view kind) {
  std::string text;
  for (const Algorithm &row : kAlgorithms)
    if (row.kind == kind)
      text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

Result<const Algorithm *> algorithm_of(const Collective &collective) {
  const Algorithm *kind = nullptr;
  for (const Algorithm &row : kAlgorithms) {
    if (collective.kind == row.aidcb && collective.algorithm.empty())
      return &row;
    if (row.kind != collective.kind)
      continue;
    kind = kind ? kind : &row;
    if (collective.algorithm == row.name || collective.algorithm.empty())
      return &row;
  }
  if (!kind)
    return parse::wrong(collective.kind, "a kind of collective", kinds());
  return Error{fmt::format("{} has no algorithm '{}'", kind->kind, collective.algorithm),
               algorithms_of(kind->kind)};
}

Status check(const Collective &c, const Algorithm &algorithm, size_t ranks) {
  if (ranks < 2)
    return Error{"a collective needs two ranks", "ranks: 8"};
  if (algorithm.powers && (ranks & (ranks - 1)) != 0)
    return Error{fmt::format("{} needs 2, 4, 8, ... ranks, not {}", algorithm.name, ranks),
                 "algorithm: ring"};
  if (!c.size && c.matrix.empty())
    return Error{"the collective has no size", "size: 1M"};
  if (!c.channels || !c.qps || !c.iterations || !c.cts_slots || !c.node)
    return Error{"a count is 0", "channels, qps, iterations, cts-slots and node are at least 1"};
  if (c.root >= ranks)
    return Error{fmt::format("there is no rank {}", c.root), fmt::format("0 to {}", ranks - 1)};
  if (ranks % c.node)
    return Error{fmt::format("{} ranks do not fill nodes of {}", ranks, c.node),
                 "node: a divisor of the ranks"};
  if (!c.matrix.empty() && algorithm.add != add_parallel_all_to_all)
    return Error{"only all_to_all parallel sends different amounts", "algorithm: parallel"};
  for (const std::vector<uint64_t> &row : c.matrix)
    if (row.size() != ranks || c.matrix.size() != ranks)
      return Error{fmt::format("the matrix does not have {} rows of {}", ranks, ranks),
                   "a row for each rank"};
  for (const Collective::Late &late : c.late)
    if (late.rank >= ranks)
      return Error{fmt::format("late: there is no rank {}", late.rank),
                   fmt::format("0 to {}", ranks - 1)};
  return {};
}

std::string kind_of(const Algorithm &row) { return fmt::format("{} {}", row.kind, row.name); }

double bus_factor(const Algorithm &row, size_t ranks) {
  const auto n = static_cast<double>(ranks);
  return row.bus == 0 ? 1 : row.bus * (n - 1) / n;
}

} // namespace

std::string algorithm_names() {
  std::string text;
  for (const Algorithm &row : kAlgorithms)
    text += (text.empty() ? "" : ", ") + kind_of(row);
  return text;
}

Status add_collective(Job &job, const Collective &collective, std::span<const uint32_t> after,
                      uint32_t step, std::vector<uint32_t> &ends) {
  std::vector<uint32_t> ranks = collective.ranks;
  if (ranks.empty())
    for (uint32_t i = 0; i < job.hosts.size(); i++)
      ranks.push_back(i);
  const Algorithm &algorithm = *XR_TRY(algorithm_of(collective));
  XR_TRY(check(collective, algorithm, ranks.size()));
  Builder builder(job, collective, std::move(ranks), after, step);
  algorithm.add(builder);
  builder.finish(ends);
  if (job.operations.size() > kMostOperations)
    return Error{fmt::format("the job has more than {} operations", kMostOperations),
                 "fewer iterations or ranks, or larger chunks"};
  if (step < job.steps.size()) {
    job.steps[step].bytes += collective.size;
    job.steps[step].bus_factor = bus_factor(algorithm, builder.count());
  }
  return {};
}

Result<Job> expand(const Collective &collective) {
  const Algorithm &algorithm = *XR_TRY(algorithm_of(collective));
  Job job;
  job.name = collective.name;
  job.kind = kind_of(algorithm);
  job.start_ns = collective.start_ns;
  job.hosts = collective.hosts;
  std::vector<uint32_t> ends(job.hosts.size(), kNone), after;
  for (unsigned i = 1; i <= collective.iterations; i++) {
    const auto step = static_cast<uint32_t>(job.steps.size());
    job.steps.push_back({.name = fmt::format("{}", i)});
    after = ends;
    for (uint32_t rank = 0; rank < job.hosts.size(); rank++) {
      uint64_t ns = collective.compute_ns;
      for (const Collective::Late &late : collective.late)
        if (late.rank == rank && i >= late.from)
          ns += late.by_ns;
      const Need last{ends[rank]};
      if (ns || i == 1) // a step begins with an operation of each rank
        after[rank] =
            job.add({.kind = Operation::Kind::Compute, .rank = rank, .step = step, .amount = ns},
                    std::span(&last, ends[rank] == kNone ? 0 : 1));
    }
    XR_TRY(add_collective(job, collective, after, step, ends));
  }
  return job;
}

} // namespace xr::job
