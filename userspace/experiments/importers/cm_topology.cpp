// SPDX-License-Identifier: Apache-2.0
#include "importers/cm_topology.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/cm_lines.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/topology.h"

namespace xr::importers {

namespace {

constexpr uint64_t kMostTopologyNodes = 100'000, kMostLatency = 1'000'000'000;
constexpr uint64_t kGigabit = 1'000'000'000, kMostGigabits = 10'000;
constexpr uint64_t kMostPorts = 256; // of a switch
constexpr uint64_t kMostTopologyLinks = 1'000'000;

// Keys of a tier, in lower case.
constexpr const char *kTierKeys[] = {
    "downlink_speed_gbps", "radix_down",          "radix_up",          "bundle",  "oversubscribed",
    "queue_down",          "downlink_latency_ns", "switch_latency_ns", "queue_up"};

struct Tier {
  std::map<std::string, uint64_t, std::less<>> values;

  uint64_t at(std::string_view key, uint64_t otherwise = 0) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
  uint64_t rate() const { return at("downlink_speed_gbps") * kGigabit; }
  uint64_t bundle() const { return at("bundle", 1); }
  uint64_t down() const { return at("radix_down"); }
  uint64_t up() const { return at("radix_up"); }
};

class CmTopologyReader {
public:
  CmTopologyReader(std::string_view text, const std::string &name)
      : name_(name), lines_(cm_lines(text, name)) {}

  Result<CmTopology> read() {
    for (const CmLine &line : lines_)
      if (line.words[0][0] != '#')
        XR_TRY(one(line));
    for (const char *key : {"nodes", "tiers", "podsize"})
      if (!header_.contains(key))
        return wrong(fmt::format("{} is missing", key), "Nodes, Tiers and Podsize");
    tiers_ = header_["tiers"];
    for (uint64_t i = 0; i < tiers_; i++)
      XR_TRY(complete(i));
    XR_TRY(sizes());
    latencies();
    out_.hosts = static_cast<uint32_t>(header_["nodes"]);
    out_.rate = out_.slowest = tier_[0].rate();
    for (uint64_t i = 0; i + 1 < tiers_; i++) // of what a host sends through tier i + 1
      out_.slowest = std::max<uint64_t>(out_.slowest / tier_[i].at("oversubscribed", 1), 1);
    out_.yaml = text();
    if (queues_)
      out_.notes.emplace_back("Queue_Down and Queue_Up of the topology: without an effect here; "
                              "`queue` of the experiment has its own");
    return std::move(out_);
  }

private:
  Error wrong(const std::string &what, std::string hint) const {
    return {fmt::format("{}: {}", name_, what), std::move(hint)};
  }

  Status one(const CmLine &line) {
    const std::string key = parse::lower(line.words[0]);
    if (line.words.size() > 2)
      return line.wrong(fmt::format("unexpected '{}'", line.words[2]), "remove it");
    if (key == "tier") {
      current_ = static_cast<int>(XR_TRY(line.whole(1, line.words[0], 0, 2)));
      if (!given_.insert(current_).second)
        return line.wrong(fmt::format("Tier {} is there twice", current_), "once");
      return {};
    }
    if (current_ < 0)
      return header(line, key);
    if (std::ranges::find(kTierKeys, key) == std::end(kTierKeys))
      return line.wrong(fmt::format("'{}' is not a key of a tier", line.words[0]),
                        parse::hint_from(key, {std::begin(kTierKeys), std::end(kTierKeys)}));
    if (current_ == 2 && (key == "radix_up" || key == "queue_up"))
      return line.wrong(fmt::format("{} of tier 2, which has no uplinks", line.words[0]),
                        "remove it");
    const bool zero = key == "switch_latency_ns" || key.starts_with("queue");
    const uint64_t most = key.ends_with("_ns")           ? kMostLatency
                          : key == "downlink_speed_gbps" ? kMostGigabits
                          : key.starts_with("queue")     ? UINT32_MAX
                                                         : kMostPorts;
    const uint64_t value = XR_TRY(line.whole(1, line.words[0], zero ? 0 : 1, most));
    queues_ |= key.starts_with("queue");
    if (!tier_[static_cast<size_t>(current_)].values.emplace(key, value).second)
      return line.wrong(fmt::format("{} of tier {} is there twice", line.words[0], current_),
                        "once");
    return {};
  }

  Status header(const CmLine &line, const std::string &key) {
    if (key != "nodes" && key != "tiers" && key != "podsize")
      return line.wrong(fmt::format("'{}' is not a key before the first tier", line.words[0]),
                        "Nodes, Tiers, Podsize");
    const bool tiers = key == "tiers";
    const uint64_t value =
        XR_TRY(line.whole(1, line.words[0], tiers ? 2 : 1, tiers ? 3 : kMostTopologyNodes));
    if (!header_.emplace(key, value).second)
      return line.wrong(fmt::format("{} is there twice", line.words[0]), "once");
    return {};
  }

  Status complete(uint64_t i) const {
    const Tier &tier = tier_[i];
    for (const char *key : {"downlink_speed_gbps", "downlink_latency_ns", "radix_down", "radix_up"})
      if (!tier.at(key) && (i + 1 < tiers_ || std::string_view(key) != "radix_up"))
        return wrong(fmt::format("{} of tier {} is missing", key, i), fmt::format("{} N", key));
    if (i + 1 == tiers_)
      return {};
    // What goes up of a switch is what comes from below / Oversubscribed.
    const uint64_t below = tier.down() * tier.rate(), above = tier.up() * tier_[i + 1].rate();
    if (below != above * tier.at("oversubscribed", 1))
      return wrong(fmt::format("a switch of tier {} has {} below and {} above, and Oversubscribed "
                               "is {}",
                               i, parse::rate_text(below), parse::rate_text(above),
                               tier.at("oversubscribed", 1)),
                   "below = above x Oversubscribed");
    return {};
  }

  Status fits(bool fit, const std::string &what, const std::string &hint) const {
    if (fit)
      return {};
    return wrong(what, hint);
  }

  Status sizes() {
    const uint64_t nodes = header_["nodes"], pod = tiers_ == 3 ? header_["podsize"] : nodes;
    XR_TRY(fits(header_["podsize"] <= nodes && nodes % header_["podsize"] == 0,
                "Podsize is no part of Nodes", "Nodes = pods x Podsize"));
    XR_TRY(fits(tier_[0].bundle() == 1, "Bundle of tier 0: a host has one link", "Bundle 1"));
    XR_TRY(fits(pod % tier_[0].down() == 0, "Radix_Down of tier 0 is no part of the hosts",
                "Podsize = switches x Radix_Down"));
    pods_ = nodes / pod;
    tors_ = pod / tier_[0].down();
    const uint64_t bundle = tier_[1].bundle();
    aggs_ = tier_[0].up() / bundle;
    XR_TRY(fits(aggs_ > 0 && aggs_ * bundle == tier_[0].up() && tier_[1].down() == tors_ * bundle,
                fmt::format("Radix_Down {} of tier 1 does not fit {} switches of tier 0 with "
                            "{} uplinks in bundles of {}",
                            tier_[1].down(), tors_, tier_[0].up(), bundle),
                fmt::format("Radix_Down {}", tors_ * bundle)));
    const uint64_t links =
        nodes + pods_ * tors_ * tier_[0].up() + (tiers_ == 3 ? pods_ * aggs_ * tier_[1].up() : 0);
    XR_TRY(fits(links <= kMostTopologyLinks, fmt::format("the topology has {} links", links),
                fmt::format("at most {}", kMostTopologyLinks)));
    if (tiers_ == 2)
      return {};
    const uint64_t core_bundle = tier_[2].bundle();
    XR_TRY(fits(tier_[1].up() % core_bundle == 0 && tier_[2].down() == pods_ * core_bundle,
                fmt::format("Radix_Down {} of tier 2 does not fit {} pods with {} uplinks of a "
                            "switch in bundles of {}",
                            tier_[2].down(), pods_, tier_[1].up(), core_bundle),
                fmt::format("Radix_Down {}", pods_ * core_bundle)));
    cores_ = aggs_ * (tier_[1].up() / core_bundle);
    return {};
  }

  // A link's delay has half of the latency of each switch at its ends, so that each path has its
  // switches' latencies.
  void latencies() {
    for (uint64_t i = 0; i < tiers_; i++) {
      const uint64_t twice =
          tier_[i].at("switch_latency_ns") + (i ? tier_[i - 1].at("switch_latency_ns") : 0);
      delay_[i] = tier_[i].at("downlink_latency_ns") + (twice + 1) / 2;
      switches_ |= twice != 0;
      odd_ |= twice % 2 != 0;
    }
    if (switches_)
      out_.notes.push_back(fmt::format("Switch_Latency_ns is part of the delays of links, half of "
                                       "it at each end{}",
                                       odd_ ? ", rounded up to whole nanoseconds" : ""));
  }

  bool same_core() const {
    return tiers_ == 2 || (tier_[1].rate() == tier_[2].rate() && delay_[1] == delay_[2]);
  }

  std::string text() const {
    const auto rate = [](const Tier &tier) { return parse::rate_text(tier.rate()); };
    const std::string links = fmt::format("rate: {}, delay: {}, core-rate: {}, core-delay: {}",
                                          rate(tier_[0]), parse::duration_text(delay_[0]),
                                          rate(tier_[1]), parse::duration_text(delay_[1]));
    const bool bundles = tier_[1].bundle() > 1 || (tiers_ == 3 && tier_[2].bundle() > 1);
    if (tiers_ == 2 && !bundles && tors_ < kMostPorts && aggs_ + tier_[0].down() <= kMostPorts)
      return fmt::format("topology:\n  leaf-spine: {{leaves: {}, spines: {}, hosts: {}, {}}}\n",
                         tors_, aggs_, tier_[0].down(), links);
    const uint64_t half = pods_ / 2;
    if (tiers_ == 3 && !bundles && same_core() && pods_ % 2 == 0 &&
        pods_ <= simulate::kMostFatTree && tors_ == half && aggs_ == half &&
        tier_[0].down() == half && cores_ == half * half)
      return fmt::format("topology:\n  fat-tree: {{k: {}, {}}}\n", pods_, links);
    return graph();
  }

  std::string graph() const {
    std::vector<std::string> switches, hosts;
    std::string links;
    const auto join = [&](std::string_view a, uint64_t i, std::string_view b, uint64_t j,
                          size_t tier) {
      for (uint64_t n = 0; n < tier_[tier].bundle(); n++)
        links +=
            fmt::format("      - [{}-{}, {}-{}, {}, {}]\n", a, i + 1, b, j + 1,
                        parse::rate_text(tier_[tier].rate()), parse::duration_text(delay_[tier]));
    };
    for (uint64_t i = 0; i < pods_ * tors_ * tier_[0].down(); i++) {
      hosts.push_back(fmt::format("host-{}", i + 1));
      join("host", i, "tor", i / tier_[0].down(), 0);
    }
    for (uint64_t i = 0; i < pods_ * tors_; i++) {
      switches.push_back(fmt::format("tor-{}", i + 1));
      for (uint64_t j = 0; j < aggs_; j++)
        join("tor", i, "agg", i / tors_ * aggs_ + j, 1);
    }
    for (uint64_t i = 0; i < pods_ * aggs_; i++) {
      switches.push_back(fmt::format("agg-{}", i + 1));
      for (uint64_t core = i % aggs_; core < cores_; core += aggs_)
        join("agg", i, "core", core, 2);
    }
    for (uint64_t i = 0; i < cores_; i++)
      switches.push_back(fmt::format("core-{}", i + 1));
    return fmt::format("topology:\n  graph:\n    switches: [{}]\n    hosts: [{}]\n    links:\n{}",
                       fmt::join(switches, ", "), fmt::join(hosts, ", "), links);
  }

  std::string name_;
  std::vector<CmLine> lines_;
  CmTopology out_;
  std::map<std::string, uint64_t, std::less<>> header_;
  std::array<Tier, 3> tier_;
  std::array<uint64_t, 3> delay_ = {}; // ns
  std::set<int> given_;
  int current_ = -1; // tier
  bool queues_ = false, switches_ = false, odd_ = false;
  uint64_t tiers_ = 0, pods_ = 0, cores_ = 0;
  uint64_t tors_ = 0, aggs_ = 0; // of a pod
};

} // namespace

Result<CmTopology> read_cm_topology(std::string_view text, const std::string &name) {
  return CmTopologyReader(text, name).read();
}

Result<CmTopology> fat_tree_of(uint32_t hosts, const std::string &name) {
  uint64_t k = 2;
  while (k * k * k / 4 < hosts)
    k += 2;
  if (k > simulate::kMostFatTree)
    return Error{fmt::format("{}: {} hosts are too many for the fat tree that is made without a "
                             ".topo",
                             name, hosts),
                 "run --import cm FILE.cm FILE.topo"};
  const uint64_t made = k * k * k / 4;
  return CmTopology{
      .hosts = static_cast<uint32_t>(made),
      .rate = 100 * kGigabit,
      .slowest = 100 * kGigabit,
      .yaml = fmt::format("topology:\n  fat-tree: {{k: {}, rate: 100gbit, delay: 1us, core-rate: "
                          "100gbit, core-delay: 1us}}\n",
                          k),
      .notes = {fmt::format("without a .topo: a fat tree of k = {} with {} hosts, of which {} are "
                            "used, 100 Gbit/s and 1 us a link",
                            k, made, hosts)}};
}

} // namespace xr::importers
