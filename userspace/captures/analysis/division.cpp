// SPDX-License-Identifier: Apache-2.0
#include "analysis/division.h"

#include <bit>
#include <utility>

namespace xr {

namespace {

// A pair of hosts with a smaller part of all packets stays whole.
constexpr uint64_t kHeavy = 64;

uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15;
  return h ^ h >> 32;
}

} // namespace

Division::Hosts Division::hosts_of(const Way &way) {
  return is_upward(way) ? Hosts{way.src, way.dst} : Hosts{way.dst, way.src};
}

Division::Known &Division::add(const Way &way) {
  const size_t mask = ways_.size() - 1;
  const uint64_t hash = way.hash();
  size_t i = hash & mask;
  while (ways_[i].shard != kFree)
    i = (i + 1) & mask;
  ways_[i] = {hash, 0};
  return ways_[i];
}

uint8_t Division::shard_of_bytes(uint64_t bytes) const {
  return static_cast<uint8_t>(mix(bytes) % shards_);
}

// The shard of a packet that the first frames did not show.
uint8_t Division::shard_of_new(const Way &way) const {
  const Hosts hosts = hosts_of(way);
  const auto known = pairs_.find(hosts);
  if (known == pairs_.end())
    return static_cast<uint8_t>((Way{hosts.first, hosts.second, 0}.hash() >> 32) % shards_);
  const Pair &pair = known->second;
  if (pair.kind == Kind::Whole)
    return pair.shard;
  const bool fits =
      pair.kind == Kind::OneWay && way.qp != ROCE_QPN_GSI && pair.upward == is_upward(way);
  return fits ? static_cast<uint8_t>((way.hash() >> 32) % shards_) : kElsewhere;
}

Division Division::by_hosts() {
  Division division;
  division.shards_ = kShards;
  return division;
}

// What the first frames show.
class Division::Survey {
public:
  explicit Survey(const Snapshot &surveyed);
  void fill(Division &division);

private:
  struct Between { // two hosts
    uint64_t packets = 0;
    bool upward = false, downward = false, gsi = false;
    std::vector<size_t> ways;
    Kind kind = Kind::Whole;
  };
  struct Found {
    Way way;
    uint64_t packets = 0;
    bool linked = false;
    size_t root = 0; // of the ways that belong together
  };
  struct Unit { // what is in one shard
    uint64_t packets = 0;
    std::vector<uint8_t *> shards; // where that is kept
  };

  static std::array<uint32_t, 9> words(const Way &way);
  void see(const roce_stream &stream);
  size_t root_of(size_t way);
  void link(const roce_stream &stream);
  void decide(Between &pair) const;
  void divide(const Between &pair, Division &division, std::vector<Unit> &units);
  void share_out(const std::vector<Unit> &units) const;

  std::map<Hosts, Between> pairs_;
  std::vector<Between *> order_; // in which they appeared
  std::vector<Found> found_;
  std::map<std::array<uint32_t, 9>, size_t> numbers_; // of ways, in `found_`
  uint64_t packets_ = 0;
};

std::array<uint32_t, 9> Division::Survey::words(const Way &way) {
  std::array<uint32_t, 9> words{};
  std::ranges::copy(way.src, words.begin());
  std::ranges::copy(way.dst, words.begin() + 4);
  words[8] = way.qp;
  return words;
}

void Division::Survey::see(const roce_stream &stream) {
  const Way way = way_of(stream.key);
  const uint64_t packets = roce_stream_packets(&stream);
  const auto [of, first] = pairs_.try_emplace(hosts_of(way));
  Between &pair = of->second;
  if (first)
    order_.push_back(&pair);
  const auto [at, fresh] = numbers_.try_emplace(words(way), found_.size());
  if (fresh) {
    pair.ways.push_back(found_.size());
    found_.push_back({.way = way, .root = found_.size()});
  }
  (is_upward(way) ? pair.upward : pair.downward) = true;
  pair.gsi |= way.qp == ROCE_QPN_GSI;
  pair.packets += packets;
  found_[at->second].packets += packets;
  packets_ += packets;
}

size_t Division::Survey::root_of(size_t way) {
  while (found_[way].root != way)
    way = found_[way].root = found_[found_[way].root].root;
  return way;
}

// The stream's sender is the QP to which the other way's packets go.
void Division::Survey::link(const roce_stream &stream) {
  if (!(stream.flags & ROCE_STREAM_SRC_QP))
    return;
  const Way way = way_of(stream.key);
  const auto other = numbers_.find(words({way.dst, way.src, stream.src_qp}));
  if (other == numbers_.end())
    return;
  const size_t one = numbers_.at(words(way));
  found_[one].linked = found_[other->second].linked = true;
  found_[root_of(one)].root = root_of(other->second);
}

void Division::Survey::decide(Between &pair) const {
  if (pair.gsi || pair.ways.size() < 2 || pair.packets * kHeavy < packets_)
    return;
  if (pair.upward != pair.downward)
    pair.kind = Kind::OneWay;
  else if (std::ranges::all_of(pair.ways, [this](size_t way) { return found_[way].linked; }))
    pair.kind = Kind::TwoWay;
}

Division::Survey::Survey(const Snapshot &surveyed) {
  for (const roce_stream &stream : surveyed.streams)
    see(stream);
  for (const roce_stream &stream : surveyed.streams)
    link(stream);
  for (auto &[hosts, pair] : pairs_)
    decide(pair);
}

// A unit for all of the two hosts, or one for each QP pair.
void Division::Survey::divide(const Between &pair, Division &division, std::vector<Unit> &units) {
  constexpr size_t kNone = SIZE_MAX;
  std::map<size_t, size_t> of_root;
  size_t all = kNone;
  for (const size_t way : pair.ways) {
    size_t &unit =
        pair.kind == Kind::Whole ? all : of_root.try_emplace(root_of(way), kNone).first->second;
    if (unit == kNone) {
      unit = units.size();
      units.emplace_back();
    }
    units[unit].packets += found_[way].packets;
    units[unit].shards.push_back(&division.add(found_[way].way).shard);
  }
  Pair &of = division.pairs_[hosts_of(found_[pair.ways[0]].way)];
  of.kind = pair.kind;
  of.upward = pair.upward;
  if (all != kNone)
    units[all].shards.push_back(&of.shard);
}

// The heavy ones first, each to the shard that has the least; then the light ones in the order in
// which they appeared, so many to a shard that it has its part.
void Division::Survey::share_out(const std::vector<Unit> &units) const {
  constexpr uint64_t kLight = 8; // of a shard's part
  std::array<uint64_t, kShards> load{};
  const auto least = [&load] {
    return static_cast<size_t>(std::ranges::min_element(load) - load.begin());
  };
  const auto give = [&load](const Unit &unit, size_t to) {
    load[to] += unit.packets;
    for (uint8_t *shard : unit.shards)
      *shard = static_cast<uint8_t>(to);
  };
  const uint64_t part = packets_ / kShards;
  std::vector<const Unit *> heavy, light;
  for (const Unit &unit : units)
    (unit.packets * kLight > part ? heavy : light).push_back(&unit);
  std::ranges::stable_sort(heavy, std::ranges::greater{}, &Unit::packets);
  for (const Unit *unit : heavy)
    give(*unit, least());
  size_t at = least();
  for (const Unit *unit : light) {
    if (load[at] >= part)
      at = least();
    give(*unit, at);
  }
}

void Division::Survey::fill(Division &division) {
  std::vector<Unit> units;
  division.ways_.resize(std::bit_ceil(2 * found_.size() + 1));
  for (const Between *pair : order_)
    divide(*pair, division, units);
  share_out(units);
}

Division Division::by_qps(const Snapshot &surveyed) {
  Division division = by_hosts();
  Survey(surveyed).fill(division);
  return division;
}

} // namespace xr
