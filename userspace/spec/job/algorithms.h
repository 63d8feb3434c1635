// SPDX-License-Identifier: Apache-2.0
// For this folder only: what the algorithms of collectives add their messages to.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "job/collective.h"

namespace xr::job {

// Ranks are numbered from 0 among those that take part.
class Builder {
public:
  Builder(Job &job, const Collective &collective, std::vector<uint32_t> ranks,
          std::span<const uint32_t> after, uint32_t step);

  const Collective &collective() const { return collective_; }
  uint32_t count() const { return static_cast<uint32_t>(ranks_.size()); }

  // A message of `bytes` on a channel, which waits until its sender takes part, and for `needs`.
  // Returns what is complete when the receiver has all of it; kNone for no bytes, where `needs` has
  // none.
  uint32_t send(uint32_t from, uint32_t to, uint32_t channel, uint64_t bytes,
                std::span<const uint32_t> needs = {});
  uint32_t send(uint32_t from, uint32_t to, uint32_t channel, uint64_t bytes, uint32_t need) {
    return send(from, to, channel, bytes, std::span(&need, need == kNone ? 0 : 1));
  }
  // Takes no time; complete with all of `needs`.
  uint32_t join(uint32_t rank, std::span<const uint32_t> needs);
  // `bytes` inside a node, to `rank`.
  uint32_t move(uint32_t rank, uint64_t bytes, uint32_t need);
  // The rank has not finished before `operation` is complete; kNone: nothing.
  void end(uint32_t rank, uint32_t operation);
  // By rank of the job.
  void finish(std::vector<uint32_t> &ends);

private:
  // One of the connections of two ranks.
  struct Connection {
    uint32_t turn = 0;            // of its QPs
    std::vector<uint32_t> window; // the newest messages, a ring of cts_slots
    uint64_t messages = 0;
  };

  uint32_t message(uint32_t from, uint32_t to, uint32_t channel, uint64_t bytes,
                   std::vector<Need> &needs);
  void needs_of(uint32_t rank, std::vector<Need> &needs) const;

  Job &job_;
  const Collective &collective_;
  std::vector<uint32_t> ranks_;
  std::vector<uint32_t> begins_; // by rank: what it waits for
  uint32_t step_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Connection> connections_;
  std::vector<std::vector<uint32_t>> ends_; // by rank
};

void add_ring_all_reduce(Builder &builder);
void add_both_ways_all_reduce(Builder &builder);
void add_ring_all_gather(Builder &builder);
void add_ring_reduce_scatter(Builder &builder);
void add_halving_doubling(Builder &builder);
void add_double_tree(Builder &builder);
void add_parallel_all_to_all(Builder &builder);
void add_pxn_all_to_all(Builder &builder);
void add_parallel_broadcast(Builder &builder);

} // namespace xr::job
