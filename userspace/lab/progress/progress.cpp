// SPDX-License-Identifier: Apache-2.0
#include "progress/progress.h"

namespace xr::progress {

JobProgress::JobProgress(const job::Job &job) : job_(job) {
  const auto count = static_cast<uint32_t>(job.operations.size());
  missing_.resize(count);
  last_.assign(count, job::kNone);
  times_.resize(count);
  first_edge_.assign(size_t{count} + 1, 0);
  left_ = count;
  for (uint32_t i = 0; i < count; i++) {
    const auto needs = job.needs(i);
    const uint32_t fewest = job.operations[i].fewest;
    missing_[i] = fewest ? fewest : static_cast<uint32_t>(needs.size());
    for (const job::Need &need : needs)
      first_edge_[need.operation + 1]++;
  }
  for (uint32_t i = 0; i < count; i++)
    first_edge_[i + 1] += first_edge_[i];
  edges_.resize(first_edge_.back());
  std::vector<size_t> next(first_edge_.begin(), first_edge_.end() - 1);
  for (uint32_t i = 0; i < count; i++)
    for (const job::Need &need : job.needs(i))
      edges_[next[need.operation]++] = {i, need.when};
}

void JobProgress::start(uint64_t now) {
  std::vector<uint32_t> first;
  for (uint32_t i = 0; i < missing_.size(); i++)
    if (!missing_[i])
      first.push_back(i);
  for (const uint32_t operation : first)
    begin(now, operation);
}

uint32_t JobProgress::take() {
  if (ready_.empty())
    return job::kNone;
  const uint32_t operation = ready_.front();
  ready_.pop();
  return operation;
}

void JobProgress::begin(uint64_t now, uint32_t operation) {
  const job::Operation &what = job_.operations[operation];
  if (what.kind == job::Operation::Kind::Compute && what.channel != job::kNone) {
    Processor &processor = processors_[{what.rank, what.channel}];
    if (processor.busy) {
      processor.waiting.push(operation);
      return;
    }
    processor.busy = true;
  }
  times_[operation].begun = now;
  if (what.kind == job::Operation::Kind::Compute)
    due_.push({now + what.amount, operation});
  else if (what.kind != job::Operation::Kind::Join)
    ready_.push(operation);
  happened(now, operation, When::Begun);
  if (what.kind == job::Operation::Kind::Join)
    complete(now, operation);
}

// Chains of joins may be long: they are followed without recursion.
void JobProgress::happened(uint64_t now, uint32_t operation, When when) {
  pending_.emplace_back(operation, when);
  if (pending_.size() > 1)
    return;
  for (size_t next = 0; next < pending_.size(); next++) {
    const auto [from, what] = pending_[next];
    for (size_t i = first_edge_[from]; i < first_edge_[from + 1]; i++) {
      const Edge edge = edges_[i];
      if (edge.when != what || !missing_[edge.operation])
        continue;
      if (--missing_[edge.operation] == 0) {
        last_[edge.operation] = from;
        begin(now, edge.operation);
      }
    }
  }
  pending_.clear();
}

void JobProgress::sent(uint64_t now, uint32_t operation) {
  if (times_[operation].sent != kNever)
    return;
  times_[operation].sent = now;
  happened(now, operation, When::Sent);
}

void JobProgress::complete(uint64_t now, uint32_t operation) {
  if (times_[operation].complete != kNever)
    return;
  times_[operation].complete = now;
  left_--;
  happened(now, operation, When::Complete);
}

void JobProgress::advance(uint64_t now) {
  while (!due_.empty() && due_.top().first <= now) {
    const auto [at, operation] = due_.top();
    due_.pop();
    const job::Operation &what = job_.operations[operation];
    if (what.channel != job::kNone) {
      Processor &processor = processors_[{what.rank, what.channel}];
      processor.busy = false;
      if (!processor.waiting.empty()) {
        const uint32_t next = processor.waiting.front();
        processor.waiting.pop();
        begin(at, next);
      }
    }
    complete(at, operation);
    sent(at, operation);
  }
}

} // namespace xr::progress
