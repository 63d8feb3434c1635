// SPDX-License-Identifier: Apache-2.0
#include "job/simai.h"

#include <algorithm>

#include <fmt/format.h>

#include "job/collective.h"
#include "job/simai_workload.h"

namespace xr::job {

namespace {

constexpr uint64_t kMostSimAiOperations = 20'000'000;

uint64_t messages_of(const SimAiPart &part, uint64_t ranks) {
  if (part.kind == "broadcast")
    return ranks - 1;
  return ranks * (ranks - 1) * (part.kind == "all_reduce" ? 2 : 1);
}

// What a layer adds, all its parts once, with a Join of each rank at the end of a collective.
uint64_t operations_of(const SimAiWorkload &workload, const SimAiLayer &layer) {
  uint64_t all = 0;
  for (const SimAiPart &part : layer.parts) {
    all += part.compute_ns ? workload.ranks : 0;
    const auto group = workload.groups.find(part.group);
    if (part.kind.empty() || !part.bytes || group->second.size < 2)
      continue;
    const uint64_t ranks = group->second.size;
    all += (messages_of(part, ranks) + ranks) * (workload.ranks / ranks) +
           (layer.update_ns ? workload.ranks : 0);
  }
  return all;
}

// The layers that are made: indexes, the last one included.
struct Layers {
  size_t first = 0, last = 0;
};

Result<Layers> layers_of(const SimAiWorkload &workload, const std::string &name,
                         const JobFileOptions &options) {
  const size_t count = workload.layers.size();
  if (!options.first_layer)
    return Layers{0, count - 1};
  if (options.last_layer > count)
    return Error{fmt::format("{}: layers {}-{}: there are {}", name, options.first_layer,
                             options.last_layer, count),
                 fmt::format("like 1-{}", count)};
  return Layers{options.first_layer - 1, options.last_layer - 1U};
}

class SimAiJob {
public:
  SimAiJob(const SimAiWorkload &workload, Layers layers, const std::string &name)
      : workload_(workload), layers_(layers), stage_(workload.ranks / workload.stages) {
    job_.name = name;
    job_.kind = "simai";
    job_.steps.push_back({.name = "pass"});
    for (uint32_t rank = 0; rank < workload.ranks; rank++)
      job_.hosts.push_back(fmt::format("host-{}", rank + 1));
    now_.assign(workload.ranks, kNone);
    const size_t count = layers.last - layers.first + 1;
    chunks_ = workload.stages > 1 ? std::min<size_t>(workload.chunks, count) : 1;
  }

  // Stage by stage, as each waits for what the one before has sent.
  Result<Job> make() {
    std::vector<std::vector<uint32_t>> arrived;
    for (uint32_t stage = 0; stage < workload_.stages; stage++)
      XR_TRY(pass(stage, true, arrived));
    arrived.clear();
    for (uint32_t stage = workload_.stages; stage-- > 0;)
      XR_TRY(pass(stage, false, arrived));
    // of collectives of different kinds and groups none is defined
    job_.steps[0].bytes = 0;
    job_.steps[0].bus_factor = 0;
    return std::move(job_);
  }

private:
  // `arrived`: by chunk and place in the stage, the transfers from the stage before; then those to
  // the next one.
  Status pass(uint32_t stage, bool forward, std::vector<std::vector<uint32_t>> &arrived) {
    first_ = stage * stage_;
    weights_.clear();
    const bool sends = stage != (forward ? workload_.stages - 1 : 0);
    std::vector<std::vector<uint32_t>> sent;
    for (size_t chunk = 0; chunk < chunks_; chunk++) {
      if (chunk < arrived.size())
        wait_for(arrived[chunk]);
      const size_t count = layers_.last - layers_.first + 1, from = count * chunk / chunks_,
                   to = count * (chunk + 1) / chunks_;
      for (size_t i = from; i < to; i++)
        XR_TRY(forward ? fp(workload_.layers[layers_.first + i]) : gradients(layers_.last - i));
      if (sends && workload_.transfer_bytes)
        sent.push_back(transfer(forward));
    }
    arrived = std::move(sent);
    return {};
  }

  void wait_for(const std::vector<uint32_t> &arrived) {
    for (uint32_t i = 0; i < stage_; i++) {
      uint32_t &last = now_[first_ + i];
      last = last == kNone
                 ? arrived[i]
                 : job_.add({.kind = Operation::Kind::Join, .rank = first_ + i, .step = 0},
                            {Need{.operation = last}, Need{.operation = arrived[i]}});
    }
  }

  // To the ranks at the same places of the next stage, or of the one before.
  std::vector<uint32_t> transfer(bool forward) {
    std::vector<uint32_t> sent;
    for (uint32_t rank = first_; rank < first_ + stage_; rank++) {
      const Operation operation{.kind = Operation::Kind::Message,
                                .rank = rank,
                                .peer = forward ? rank + stage_ : rank - stage_,
                                .step = 0,
                                .amount = workload_.transfer_bytes};
      sent.push_back(now_[rank] == kNone ? job_.add(operation)
                                         : job_.add(operation, {Need{.operation = now_[rank]}}));
    }
    return sent;
  }

  Status fp(const SimAiLayer &layer) {
    compute(layer.parts[0].compute_ns, now_, 0);
    return collective(layer.parts[0], layer.update_ns, now_);
  }

  Status gradients(size_t index) {
    const SimAiLayer &layer = workload_.layers[index];
    if (layer.again) {
      size_t from = index;
      while (!workload_.layers[from].checkpoint)
        from--;
      for (; from < index; from++)
        XR_TRY(fp(workload_.layers[from]));
    }
    compute(layer.parts[1].compute_ns, now_, 0);
    XR_TRY(collective(layer.parts[1], layer.update_ns, now_));
    compute(layer.parts[2].compute_ns, now_, 0);
    return weights(layer.parts[2], layer.update_ns);
  }

  // After what is in `last`, by rank.
  void compute(uint64_t ns, std::vector<uint32_t> &last, uint32_t processor) {
    for (uint32_t rank = first_; ns && rank < first_ + stage_; rank++) {
      const Operation operation{.kind = Operation::Kind::Compute,
                                .rank = rank,
                                .channel = processor,
                                .step = 0,
                                .amount = ns};
      last[rank] = last[rank] == kNone ? job_.add(operation)
                                       : job_.add(operation, {Need{.operation = last[rank]}});
    }
  }

  Status collective(const SimAiPart &part, uint64_t update_ns, std::vector<uint32_t> &last) {
    if (part.kind.empty() || !part.bytes)
      return {};
    const SimAiGroup group = workload_.groups.find(part.group)->second;
    if (group.size < 2)
      return {};
    Collective made;
    made.name = job_.name;
    made.kind = part.kind;
    made.size = part.bytes;
    std::vector<uint32_t> ends = last;
    for (uint32_t place = 0; place < stage_; place++) {
      if (place / group.stride % group.size) // not the first of its group
        continue;
      made.ranks.clear();
      for (uint32_t i = 0; i < group.size; i++)
        made.ranks.push_back(first_ + place + i * group.stride);
      if (Status s = add_collective(job_, made, last, 0, ends); !s)
        return s.error().in(job_.name);
    }
    last = std::move(ends);
    compute(update_ns, last, kNone);
    return {};
  }

  // Collectives of the same groups follow one another, as on one communicator.
  Status weights(const SimAiPart &part, uint64_t update_ns) {
    if (part.kind.empty() || !part.bytes)
      return {};
    std::vector<uint32_t> last = now_;
    std::vector<uint32_t> &before = weights_[part.group];
    for (uint32_t rank = first_; rank < first_ + stage_ && !before.empty(); rank++)
      if (last[rank] == kNone)
        last[rank] = before[rank];
      else if (before[rank] != kNone)
        last[rank] = job_.add({.kind = Operation::Kind::Join, .rank = rank, .step = 0},
                              {Need{.operation = last[rank]}, Need{.operation = before[rank]}});
    XR_TRY(collective(part, update_ns, last));
    before = std::move(last);
    return {};
  }

  const SimAiWorkload &workload_;
  Layers layers_;
  uint32_t stage_;     // ranks of a stage
  uint32_t first_ = 0; // rank of the stage that is made
  size_t chunks_ = 1;
  Job job_;
  std::vector<uint32_t> now_; // by rank: what it did last
  // Of the stage that is made, by group: the last of wg, by rank.
  std::map<std::string, std::vector<uint32_t>> weights_;
};

} // namespace

Result<Job> read_simai(std::string_view text, const std::string &name,
                       const JobFileOptions &options) {
  const SimAiWorkload workload = XR_TRY(read_simai_workload(text, name, options.hosts));
  const Layers layers = XR_TRY(layers_of(workload, name, options));
  uint64_t operations = 0;
  for (size_t i = layers.first; i <= layers.last; i++)
    operations += operations_of(workload, workload.layers[i]);
  if (operations > kMostSimAiOperations)
    return Error{fmt::format("{}: {} layers of {} ranks have {} operations, more than {}", name,
                             layers.last - layers.first + 1, workload.ranks, operations,
                             kMostSimAiOperations),
                 "fewer of them: layers: 1-10 in the entry of jobs"};
  return SimAiJob(workload, layers, name).make();
}

Result<JobSize> measure_simai(std::string_view text, const std::string &name,
                              const JobFileOptions &options) {
  const SimAiWorkload workload = XR_TRY(read_simai_workload(text, name, options.hosts));
  JobSize size{.ranks = workload.ranks, .operations = 0, .part = {}};
  size_t fit = 0;
  for (const SimAiLayer &layer : workload.layers) {
    size.operations += operations_of(workload, layer);
    fit += size.operations <= kMostSimAiOperations;
  }
  if (!fit)
    return Error{fmt::format("{}: a layer of {} ranks has more than {} operations", name,
                             workload.ranks, kMostSimAiOperations),
                 "a workload of fewer GPUs"};
  if (fit < workload.layers.size())
    size.part = fmt::format("layers: 1-{}", fit);
  return size;
}

} // namespace xr::job
