// SPDX-License-Identifier: Apache-2.0
// Messages of collectives with the habits of NCCL's network: QPs, clear-to-send.
#include <algorithm>

#include "job/algorithms.h"

namespace xr::job {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

} // namespace

Builder::Builder(Job &job, const Collective &collective, std::vector<uint32_t> ranks,
                 std::span<const uint32_t> after, uint32_t step)
    : job_(job), collective_(collective), ranks_(std::move(ranks)), step_(step),
      ends_(ranks_.size()) {
  for (const uint32_t rank : ranks_)
    begins_.push_back(after.empty() ? kNone : after[rank]);
}

void Builder::needs_of(uint32_t rank, std::vector<Need> &needs) const {
  if (begins_[rank] != kNone)
    needs.push_back({begins_[rank]});
}

uint32_t Builder::send(uint32_t from, uint32_t to, uint32_t channel, uint64_t bytes,
                       std::span<const uint32_t> needs) {
  std::vector<Need> all;
  needs_of(from, all);
  for (const uint32_t need : needs)
    if (need != kNone)
      all.push_back({need});
  if (!bytes)
    return all.empty() ? kNone
                       : job_.add({.rank = ranks_[to], .step = step_}, std::span<const Need>(all));
  Connection &connection = connections_[{from, to, channel}];
  if (collective_.cts) {
    // the receiver takes part, and has room
    std::vector<Need> room;
    needs_of(to, room);
    connection.window.resize(collective_.cts_slots, kNone);
    uint32_t &oldest = connection.window[connection.messages % collective_.cts_slots];
    if (oldest != kNone)
      room.push_back({oldest});
    all.push_back({job_.add({.kind = Operation::Kind::Message,
                             .control = true,
                             .rank = ranks_[to],
                             .peer = ranks_[from],
                             .channel = channel * collective_.qps,
                             .step = step_,
                             .amount = collective_.cts_size},
                            std::span<const Need>(room))});
    oldest = message(from, to, channel, bytes, all);
    connection.messages++;
    return oldest;
  }
  return message(from, to, channel, bytes, all);
}

uint32_t Builder::message(uint32_t from, uint32_t to, uint32_t channel, uint64_t bytes,
                          std::vector<Need> &needs) {
  const uint32_t qps = collective_.qps;
  Connection &connection = connections_[{from, to, channel}];
  Operation operation{.kind = Operation::Kind::Message,
                      .rank = ranks_[from],
                      .peer = ranks_[to],
                      .channel = channel * qps,
                      .step = step_,
                      .amount = bytes};
  if (!collective_.split || qps == 1) {
    operation.channel += connection.turn++ % qps;
    return job_.add(operation, std::span<const Need>(needs));
  }
  std::vector<Need> parts;
  for (uint32_t i = 0; i < qps; i++) {
    operation.amount = part_begin(bytes, qps, i + 1) - part_begin(bytes, qps, i);
    operation.channel = channel * qps + i;
    if (operation.amount)
      parts.push_back({job_.add(operation, std::span<const Need>(needs))});
  }
  return job_.add({.rank = ranks_[to], .step = step_}, std::span<const Need>(parts));
}

uint32_t Builder::join(uint32_t rank, std::span<const uint32_t> needs) {
  std::vector<Need> all;
  needs_of(rank, all);
  for (const uint32_t need : needs)
    if (need != kNone)
      all.push_back({need});
  return job_.add({.rank = ranks_[rank], .step = step_}, std::span<const Need>(all));
}

uint32_t Builder::move(uint32_t rank, uint64_t bytes, uint32_t need) {
  std::vector<Need> all;
  needs_of(rank, all);
  if (need != kNone)
    all.push_back({need});
  const uint64_t rate = collective_.local_rate;
  const uint64_t ns =
      rate ? static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * 8 * kSecond / rate) : 0;
  return job_.add({.kind = Operation::Kind::Compute,
                   .rank = ranks_[rank],
                   .channel = 1, // beside the compute of the rank
                   .step = step_,
                   .amount = ns},
                  std::span<const Need>(all));
}

void Builder::end(uint32_t rank, uint32_t operation) {
  if (operation != kNone)
    ends_[rank].push_back(operation);
}

void Builder::finish(std::vector<uint32_t> &ends) {
  for (uint32_t rank = 0; rank < count(); rank++)
    ends[ranks_[rank]] = join(rank, ends_[rank]);
}

} // namespace xr::job
