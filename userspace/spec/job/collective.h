// SPDX-License-Identifier: Apache-2.0
// Collective communication as messages between ranks and what they wait for. The algorithms are
// those of MPI's and NCCL's literature (Thakur, Rabenseifner and Gropp 2005; Sanders, Speck and
// Traeff 2009); the names are those of Keysight's aidcb and nccl-tests.
// To add an algorithm: a function that adds its operations, its row in kAlgorithms
// (collective_table.cpp); docs/jobs.md; job_collective_test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// Kinds and their algorithms, for help and errors: "all_reduce ring, ...".
std::string algorithm_names();

struct Collective {
  std::string name;               // of the job
  std::string kind;               // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast
  std::string algorithm;          // "": the first of its kind
  std::vector<std::string> hosts; // by rank
  // add_collective: which ranks of the job take part, in this order; empty: all.
  std::vector<uint32_t> ranks;
  // Bytes of the buffer as nccl-tests has it: what each rank reduces, has in the end (all_gather),
  // has in the beginning (reduce_scatter, all_to_all), or gets (broadcast).
  uint64_t size = 0;
  unsigned channels = 1; // parts of the buffer that go their ways beside one another
  // Connections of each pair of ranks and channel. Split: each message goes in as many parts;
  // otherwise whole messages take turns (NCCL_IB_SPLIT_DATA_ON_QPS 0).
  unsigned qps = 1;
  bool split = false;
  uint64_t chunk = 0; // bytes that are handed on as they come; 0: what a step of the algorithm has
  unsigned iterations = 1;
  uint64_t compute_ns = 0; // before each iteration, of each rank
  uint64_t start_ns = 0;
  // Ranks that compute longer, from an iteration on (counted from 1).
  struct Late {
    uint32_t rank = 0;
    uint64_t by_ns = 0;
    unsigned from = 1;
  };
  std::vector<Late> late;
  // Receivers send a clear-to-send of `cts_size` bytes when there is room for a message, for at
  // most `cts_slots` messages of a connection that have not come.
  bool cts = false;
  uint64_t cts_size = 64;
  unsigned cts_slots = 8;
  uint32_t root = 0; // broadcast
  // all_to_all: ranks of one node, between which bytes move at `local_rate` bit/s (0: in no time);
  // needed by pxn.
  unsigned node = 1;
  uint64_t local_rate = 0;
  // all_to_all: bytes from rank to rank, by rows; empty: all the same.
  std::vector<std::vector<uint64_t>> matrix;
};

// Errors: unknown names, counts that the algorithm cannot have, too many operations; with a hint.
Result<Job> expand(const Collective &collective);

// Adds one iteration to `job`, of which hosts, iterations, compute and start are not used. `after`:
// by rank of the job, the operation for which its part waits (kNone: none). `ends`: by rank of the
// job, what is complete when the rank has finished; of ranks that take no part, `after`. What is
// added counts for `step`.
Status add_collective(Job &job, const Collective &collective, std::span<const uint32_t> after,
                      uint32_t step, std::vector<uint32_t> &ends);

// Bytes of `parts` parts of `size`: part `index` of them.
uint64_t part_begin(uint64_t size, uint64_t parts, uint64_t index);

// all_to_all of `ranks` ranks whose destinations are chosen like the experts of a mixture: the
// popularity of the k-th is 1 / k^exponent, in an order by the seed. Each rank sends `size` bytes
// in all, its own part included, which stays.
std::vector<std::vector<uint64_t>> zipf_matrix(uint32_t ranks, uint64_t size, double exponent,
                                               uint64_t seed);

// The hosts of `ranks` ranks. "linear": in their order; "random", "random SEED": by a seed.
Result<std::vector<std::string>> place(std::string_view words, uint32_t ranks,
                                       const std::vector<std::string> &hosts, uint64_t seed);

} // namespace xr::job
