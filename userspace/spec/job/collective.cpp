// SPDX-License-Identifier: Apache-2.0
// The algorithms. Ranks 0 to n - 1; a part of the buffer is handed on as its chunks come.
#include <algorithm>
#include <array>
#include <bit>

#include "job/algorithms.h"

namespace xr::job {

namespace {

// Bytes from `begin` to `end` of the buffer.
struct Span {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
  Span part(uint64_t parts, uint64_t index) const {
    return {begin + part_begin(size(), parts, index), begin + part_begin(size(), parts, index + 1)};
  }
};

// The channel's part of the buffer.
Span channel_of(const Builder &builder, uint32_t channel) {
  const Collective &c = builder.collective();
  return Span{0, c.size}.part(c.channels, channel);
}

uint64_t chunks_of(const Builder &builder, uint64_t bytes) {
  const uint64_t chunk = builder.collective().chunk;
  return chunk && bytes ? (bytes + chunk - 1) / chunk : 1;
}

// `steps` steps, in each of which each rank hands one of n parts on to the next rank: what it got
// in the step before. `ahead`: to rank + 1, otherwise to rank - 1.
void add_ring(Builder &builder, Span buffer, uint32_t channel, uint32_t steps, bool ahead) {
  const uint32_t n = builder.count();
  const auto next = [&](uint32_t rank) { return ahead ? (rank + 1) % n : (rank + n - 1) % n; };
  // by rank: of the part that it hands on, the operations that brought its chunks
  std::vector<std::vector<uint32_t>> has(n), gets(n);
  for (uint32_t step = 0; step < steps; step++) {
    for (uint32_t rank = 0; rank < n; rank++) {
      // in step 0 each rank hands on its own part; in step s that of the rank s before it
      const uint32_t owner = ahead ? (rank + n - step % n) % n : (rank + step) % n;
      const Span part = buffer.part(n, owner);
      const uint64_t chunks = chunks_of(builder, part.size());
      std::vector<uint32_t> &to = gets[next(rank)];
      to.clear();
      for (uint64_t i = 0; i < chunks; i++)
        to.push_back(builder.send(rank, next(rank), channel, part.part(chunks, i).size(),
                                  step ? has[rank][i] : kNone));
    }
    std::swap(has, gets);
    // what a rank reduces or keeps is its own once it has arrived
    for (uint32_t rank = 0; rank < n; rank++)
      for (const uint32_t operation : has[rank])
        builder.end(rank, operation);
  }
}

void add_rings(Builder &builder, uint32_t steps) {
  for (uint32_t channel = 0; channel < builder.collective().channels; channel++)
    add_ring(builder, channel_of(builder, channel), channel, steps, true);
}

// Up and down one tree, each chunk by itself. `parent`: kNone for the root.
void add_tree(Builder &builder, Span buffer, uint32_t channel,
              const std::vector<uint32_t> &parent) {
  const uint32_t n = builder.count();
  std::vector<std::vector<uint32_t>> children(n);
  uint32_t root = 0;
  for (uint32_t rank = 0; rank < n; rank++)
    if (parent[rank] == kNone)
      root = rank;
    else
      children[parent[rank]].push_back(rank);
  std::vector<uint32_t> order{root}; // parents before children
  for (size_t i = 0; i < order.size(); i++)
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  const uint64_t chunks = chunks_of(builder, buffer.size());
  for (uint64_t chunk = 0; chunk < chunks; chunk++) {
    const uint64_t bytes = buffer.part(chunks, chunk).size();
    std::vector<std::vector<uint32_t>> arrived(n); // from the children
    for (size_t i = order.size(); i-- > 1;) {
      const uint32_t rank = order[i];
      arrived[parent[rank]].push_back(
          builder.send(rank, parent[rank], channel, bytes, arrived[rank]));
    }
    std::vector<uint32_t> has(n, kNone);
    has[root] = builder.join(root, arrived[root]);
    builder.end(root, has[root]);
    for (const uint32_t rank : order)
      for (const uint32_t child : children[rank]) {
        has[child] = builder.send(rank, child, channel, bytes, has[rank]);
        builder.end(child, has[child]);
      }
  }
}

// A binary tree in which the leaves are the even numbers, by the lowest bit that is set: its
// parent is the number with that bit moved up, or where that is not a rank, down to one that is.
std::vector<uint32_t> binary_tree(uint32_t n) {
  std::vector<uint32_t> parent(n, kNone);
  uint32_t top = std::bit_floor(n); // the root's number among 1 ... n
  for (uint32_t number = 1; number <= n; number++) {
    if (number == top)
      continue;
    uint32_t up = number;
    do {
      const uint32_t bit = up & -up;
      up = (up & ~bit) | bit << 1;
    } while (up > n);
    parent[number - 1] = up - 1;
  }
  return parent;
}

} // namespace

void add_ring_all_reduce(Builder &builder) { add_rings(builder, 2 * (builder.count() - 1)); }
void add_ring_all_gather(Builder &builder) { add_rings(builder, builder.count() - 1); }
void add_ring_reduce_scatter(Builder &builder) { add_rings(builder, builder.count() - 1); }

// Half of the buffer goes round each way.
void add_both_ways_all_reduce(Builder &builder) {
  const uint32_t channels = builder.collective().channels;
  for (uint32_t channel = 0; channel < channels; channel++) {
    const Span all = channel_of(builder, channel);
    for (const uint32_t way : {0U, 1U})
      add_ring(builder, all.part(2, way), channel + way * channels, 2 * (builder.count() - 1),
               way == 0);
  }
}

// Reduce-scatter by halving, then all-gather by doubling: each rank keeps the half with its bit.
void add_halving_doubling(Builder &builder) {
  const uint32_t n = builder.count();
  for (uint32_t channel = 0; channel < builder.collective().channels; channel++) {
    std::vector<Span> keeps(n, channel_of(builder, channel));
    std::vector<uint32_t> has(n, kNone), gets(n, kNone);
    const auto exchange = [&](uint32_t bit, auto what) {
      for (uint32_t rank = 0; rank < n; rank++)
        gets[rank ^ bit] = builder.send(rank, rank ^ bit, channel, what(rank), has[rank]);
      for (uint32_t rank = 0; rank < n; rank++) {
        const std::array<uint32_t, 2> both{has[rank], gets[rank]};
        has[rank] = builder.join(rank, both);
      }
    };
    for (uint32_t bit = n / 2; bit; bit /= 2) {
      exchange(bit, [&](uint32_t rank) { return keeps[rank].part(2, rank & bit ? 0 : 1).size(); });
      for (uint32_t rank = 0; rank < n; rank++)
        keeps[rank] = keeps[rank].part(2, rank & bit ? 1 : 0);
    }
    for (uint32_t bit = 1; bit < n; bit *= 2) {
      exchange(bit, [&](uint32_t rank) { return keeps[rank].size(); });
      const std::vector<Span> before = keeps;
      for (uint32_t rank = 0; rank < n; rank++)
        keeps[rank] = {std::min(before[rank].begin, before[rank ^ bit].begin),
                       std::max(before[rank].end, before[rank ^ bit].end)};
    }
    for (uint32_t rank = 0; rank < n; rank++)
      builder.end(rank, has[rank]);
  }
}

// Half of the buffer in each of two trees: in the second one the ranks have moved on by one, so
// that who is a leaf in one tree is mostly not in the other.
void add_double_tree(Builder &builder) {
  const uint32_t n = builder.count(), channels = builder.collective().channels;
  const std::vector<uint32_t> first = binary_tree(n);
  std::vector<uint32_t> second(n, kNone);
  for (uint32_t rank = 0; rank < n; rank++)
    second[(rank + 1) % n] = first[rank] == kNone ? kNone : (first[rank] + 1) % n;
  for (uint32_t channel = 0; channel < channels; channel++) {
    const Span all = channel_of(builder, channel);
    add_tree(builder, all.part(2, 0), channel, first);
    add_tree(builder, all.part(2, 1), channel + channels, second);
  }
}

// Each rank sends to all at once, first to the next one.
void add_parallel_all_to_all(Builder &builder) {
  const Collective &c = builder.collective();
  const uint32_t n = builder.count();
  for (uint32_t channel = 0; channel < c.channels; channel++)
    for (uint32_t distance = 1; distance < n; distance++)
      for (uint32_t rank = 0; rank < n; rank++) {
        const uint32_t to = (rank + distance) % n;
        const Span all =
            c.matrix.empty() ? Span{0, c.size}.part(n, to) : Span{0, c.matrix[rank][to]};
        const Span part = all.part(c.channels, channel);
        const uint64_t chunks = chunks_of(builder, part.size());
        if (!part.size())
          continue;
        for (uint64_t i = 0; i < chunks; i++)
          builder.end(to, builder.send(rank, to, channel, part.part(chunks, i).size()));
      }
}

// Within a node the bytes for rank j of other nodes are first brought to its j-th rank (PXN), which
// then sends them in one message to its counterpart.
void add_pxn_all_to_all(Builder &builder) {
  const Collective &c = builder.collective();
  const uint32_t n = builder.count(), each = c.node;
  for (uint32_t channel = 0; channel < c.channels; channel++)
    for (uint32_t distance = 0; distance < n / each; distance++)
      for (uint32_t rank = 0; rank < n; rank++) { // who sends
        const uint32_t node = rank / each, local = rank % each;
        const uint32_t to = (node + distance) % (n / each) * each + local;
        const uint64_t part = Span{0, c.size}.part(n, to).part(c.channels, channel).size();
        std::vector<uint32_t> brought;
        for (uint32_t peer = 0; peer < each; peer++)
          if (peer != local)
            brought.push_back(
                builder.move(rank, part, builder.join(node * each + peer, std::span<uint32_t>())));
        if (to == rank)
          for (const uint32_t operation : brought)
            builder.end(rank, operation);
        else
          builder.end(to, builder.send(rank, to, channel, part * each, brought));
      }
}

void add_parallel_broadcast(Builder &builder) {
  const Collective &c = builder.collective();
  for (uint32_t channel = 0; channel < c.channels; channel++)
    for (uint32_t rank = 0; rank < builder.count(); rank++) {
      const Span part = channel_of(builder, channel);
      const uint64_t chunks = chunks_of(builder, part.size());
      if (rank != c.root)
        for (uint64_t i = 0; i < chunks; i++)
          builder.end(rank, builder.send(c.root, rank, channel, part.part(chunks, i).size()));
    }
}

} // namespace xr::job
