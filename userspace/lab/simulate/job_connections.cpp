// SPDX-License-Identifier: Apache-2.0
#include "simulate/job_connections.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace xr::simulate {

namespace {

using job::Job;
using job::Operation;

constexpr uint32_t kMostRanks = 1U << 24, kMostChannels = 1U << 15;

uint64_t connection_key(const Operation &operation) {
  return uint64_t{operation.rank} << 40 | uint64_t{operation.peer} << 16 |
         uint64_t{operation.channel} << 1 | uint64_t{operation.control};
}

std::string connection_name(const Job &job, const Operation &operation) {
  std::string name = fmt::format("{}:{}-{}", job.name, operation.rank, operation.peer);
  if (operation.channel)
    name += fmt::format(".{}", operation.channel);
  return operation.control ? name + ".cts" : name;
}

Status check_job(const Job &job) {
  if (job.hosts.size() > kMostRanks)
    return Error{fmt::format("{}: {} ranks are too many", job.name, job.hosts.size()),
                 "at most 16 million"};
  for (const Operation &operation : job.operations)
    if (operation.kind == Operation::Kind::Message && operation.channel >= kMostChannels)
      return Error{
          fmt::format("{}: two ranks have more than {} connections", job.name, kMostChannels),
          "fewer channels or QPs"};
  return {};
}

} // namespace

Result<JobConnections> connections_of(const Job &job) {
  XR_TRY(check_job(job));
  JobConnections connections;
  std::unordered_map<uint64_t, uint32_t> known;
  connections.of_operation.assign(job.operations.size(), job::kNone);
  for (size_t i = 0; i < job.operations.size(); i++) {
    const Operation &operation = job.operations[i];
    if (operation.kind != Operation::Kind::Message ||
        job.hosts[operation.rank] == job.hosts[operation.peer])
      continue;
    const auto [entry, added] =
        known.try_emplace(connection_key(operation), static_cast<uint32_t>(connections.all.size()));
    if (added)
      connections.all.push_back({.name = connection_name(job, operation),
                                 .rank = operation.rank,
                                 .peer = operation.peer});
    connections.of_operation[i] = entry->second;
    uint64_t &largest = connections.all[entry->second].largest;
    largest = std::max(largest, operation.amount);
  }
  return connections;
}

} // namespace xr::simulate
