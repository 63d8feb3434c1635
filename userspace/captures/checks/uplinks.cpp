// SPDX-License-Identifier: Apache-2.0
// To add a hash: its function and its row in kHashes; checks_test has a known value of each.
#include "checks/uplinks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "checks/hosts.h"
#include "roce/wire.h"

namespace xr::checks {

namespace {

// CRC-16/CCITT, from 0xffff.
uint32_t crc16(std::span<const uint8_t> bytes) {
  uint32_t crc = 0xffff;
  for (const uint8_t byte : bytes) {
    crc ^= uint32_t{byte} << 8;
    for (int bit = 0; bit < 8; bit++)
      crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

uint32_t crc32(std::span<const uint8_t> bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// MurmurHash3, 32 bits, seed 0.
uint32_t murmur(std::span<const uint8_t> bytes) {
  const auto mixed = [](uint32_t word) { return std::rotl(word * 0xcc9e2d51, 15) * 0x1b873593; };
  uint32_t hash = 0, word = 0;
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    word = bytes[at] | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 |
           uint32_t{bytes[at + 3]} << 24;
    hash = std::rotl(hash ^ mixed(word), 13) * 5 + 0xe6546b64;
  }
  word = 0;
  for (size_t i = bytes.size(); i > at; i--)
    word = word << 8 | bytes[i - 1];
  hash ^= mixed(word) ^ static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6b;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return hash ^ hash >> 16;
}

// FNV-1a, 32 bits.
uint32_t fnv(std::span<const uint8_t> bytes) {
  uint32_t hash = 0x811c9dc5;
  for (const uint8_t byte : bytes)
    hash = (hash ^ byte) * 0x01000193;
  return hash;
}

// Words of 16 bits, folded.
uint32_t folded(std::span<const uint8_t> bytes) {
  uint32_t hash = 0;
  for (size_t i = 0; i < bytes.size(); i++)
    hash ^= i & 1 ? bytes[i] : uint32_t{bytes[i]} << 8;
  return (hash ^ hash >> 8) & 0xff;
}

constexpr PathHash kHashes[] = {
    {"crc16", crc16}, {"crc32", crc32}, {"murmur", murmur}, {"fnv", fnv}, {"xor", folded}};

std::vector<uint8_t> tuple_of(const roce_key &key, uint16_t port) {
  std::vector<uint8_t> bytes;
  const bool ipv4 = key.qp_kind & ROCE_KEY_IPV4;
  for (const __u32 *address : {key.src, key.dst})
    for (size_t word = ipv4 ? 3 : 0; word < 4; word++)
      for (int shift = 24; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<uint8_t>(roce_swap32(address[word]) >> shift));
  bytes.push_back(ROCE_IPPROTO_UDP);
  for (const uint16_t each : {port, uint16_t{ROCE_UDP_PORT}}) {
    bytes.push_back(static_cast<uint8_t>(each >> 8));
    bytes.push_back(static_cast<uint8_t>(each));
  }
  return bytes;
}

// Bytes by 5-tuple.
std::map<std::vector<uint8_t>, double> flows_of(const Snapshot &s) {
  std::map<std::vector<uint8_t>, double> flows;
  for (const roce_stream &stream : s.streams) {
    const StreamTraffic &traffic = traffic_of(s, stream);
    if (is_v1(stream) || !is_controlled(stream) || !traffic.of(TrafficPart::Data).packets())
      continue;
    const double bytes =
        static_cast<double>(roce_stream_bytes(&stream)) / std::max<uint32_t>(1, traffic.ports_used);
    for (uint32_t i = 0; i < traffic.ports_used; i++)
      flows[tuple_of(stream.key, traffic.ports[i])] += bytes;
  }
  return flows;
}

// The chance that none of `paths` has more than `most` of the flows: paths take theirs one after
// the other, by the binomial distribution of what is left.
double none_above(uint64_t flows, uint32_t paths, uint64_t most) {
  std::vector<double> left(flows + 1);
  left[flows] = 1;
  for (uint32_t path = 0; path + 1 < paths; path++) {
    const double share = 1.0 / (paths - path);
    std::vector<double> next(flows + 1);
    for (uint64_t n = 0; n <= flows; n++) {
      if (left[n] < 1e-15)
        continue;
      // In logarithms, as (1 - share)^n is no number for many flows.
      double chance = static_cast<double>(n) * std::log1p(-share);
      for (uint64_t taken = 0; taken <= std::min(n, most); taken++) {
        next[n - taken] += left[n] * std::exp(chance);
        chance += std::log(static_cast<double>(n - taken) / static_cast<double>(taken + 1) * share /
                           (1 - share));
      }
    }
    left = std::move(next);
  }
  double sum = 0;
  for (uint64_t n = 0; n <= std::min(flows, most); n++)
    sum += left[n];
  return std::min(sum, 1.0);
}

} // namespace

std::span<const PathHash> path_hashes() { return kHashes; }

std::vector<std::string> path_hash_names() {
  std::vector<std::string> names;
  for (const PathHash &hash : kHashes)
    names.emplace_back(hash.name);
  return names;
}

Busiest busiest_by_chance(uint64_t flows, uint32_t paths, uint64_t least) {
  if (!flows || paths < 2)
    return {static_cast<double>(flows), 1};
  const double even = static_cast<double>(flows) / paths;
  if (flows > kExactFlows) { // what one has above the even share grows as the square root
    const double root = std::sqrt(static_cast<double>(flows) / kExactFlows);
    const double above = (static_cast<double>(least) - even) / root;
    const double exact_even = static_cast<double>(kExactFlows) / paths;
    const Busiest exact = busiest_by_chance(
        kExactFlows, paths, static_cast<uint64_t>(std::max(0.0, std::round(exact_even + above))));
    return {even + (exact.mean - exact_even) * root, exact.chance};
  }
  constexpr double kSure = 1 - 1e-9;
  Busiest busiest;
  double below = 0; // the chance of fewer than `count`
  const auto first = static_cast<uint64_t>(std::ceil(even));
  busiest.mean = static_cast<double>(first);
  busiest.chance = least <= first ? 1 : 0;
  for (uint64_t most = first; most <= flows && below < kSure; most++) {
    below = none_above(flows, paths, most);
    busiest.mean += 1 - below;
    if (most + 1 == least)
      busiest.chance = 1 - below;
  }
  return busiest;
}

UplinkSpread spread_over(const Snapshot &snapshot, uint32_t paths, size_t hash) {
  const auto flows = flows_of(snapshot);
  std::vector<uint64_t> count(paths);
  std::vector<double> bytes(paths);
  double all = 0;
  for (const auto &[tuple, amount] : flows) {
    const uint32_t path = kHashes[hash].of(tuple) % paths;
    count[path]++;
    bytes[path] += amount;
    all += amount;
  }
  UplinkSpread spread;
  spread.flows = flows.size();
  if (flows.empty())
    return spread;
  spread.busiest_flows = std::ranges::max(count);
  spread.busiest_bytes = all > 0 ? std::ranges::max(bytes) / all : 0;
  const Busiest by_chance = busiest_by_chance(spread.flows, paths, spread.busiest_flows);
  spread.expected = by_chance.mean / static_cast<double>(spread.flows);
  spread.chance = by_chance.chance;
  return spread;
}

} // namespace xr::checks
