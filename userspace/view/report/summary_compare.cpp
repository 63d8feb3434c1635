// SPDX-License-Identifier: Apache-2.0
// The answer of `compare`.
#include <algorithm>

#include <fmt/format.h>

#include "report/phrases.h"
#include "report/summary.h"

namespace xr::report {

namespace {

constexpr size_t kMostSentences = 3;

// Packets from a place to its neighbour.
struct Way {
  std::string from, to;
  bool to_port = false;
  uint64_t ns = 0; // time of the packets seen at the first place
  const ComparedCounts *counts = nullptr;
  // Packets whose arrival could be seen.
  uint64_t compared() const { return counts->seen_from - counts->outside_from; }
};

// Ports by their names, captures by the letters of the title.
std::string place_name(const Comparison &c, uint32_t place) {
  return c.places[place].port ? c.places[place].name
                              : std::string(1, static_cast<char>('A' + place));
}

std::vector<Way> compared_ways(const Comparison &c) {
  std::vector<Way> ways;
  for (const ComparedLeg &leg : c.legs)
    for (const bool backward : {false, true}) {
      const ComparedCounts &counts = leg.ways[backward].counts;
      const uint32_t from = leg.from + backward, to = leg.from + !backward;
      if (leg.apart == ComparedLeg::Apart::No && (counts.matched || counts.lost || counts.only_to))
        ways.push_back({place_name(c, from), place_name(c, to), c.places[to].port,
                        c.places[from].last_ns - c.places[from].first_ns, &counts});
    }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way &a, const Way &b) { return a.counts->lost > b.counts->lost; });
  return ways;
}

std::vector<std::string> changes_of(const ComparedCounts &c) {
  std::vector<std::string> words;
  const auto say = [&words](uint64_t packets, const char *what) {
    if (packets)
      words.push_back(fmt::format("{} {}", number_words(packets), what));
  };
  say(c.corrupted + c.only_to_bad, "corrupted");
  say(c.duplicated, "duplicated");
  say(c.reordered, "reordered");
  say(c.ce, "marked CE");
  say(c.ecn, "with other ECN");
  say(c.dscp, "with another DSCP");
  say(c.vlan, "with another VLAN tag");
  say(c.only_to - std::min(c.only_to, c.only_to_bad), "seen at the second place only");
  return words;
}

std::string way_sentence(const Way &way) {
  const ComparedCounts &c = *way.counts;
  if (c.lost && !c.matched && !c.only_to)
    return fmt::format("Nothing {} {} in {}: all {} from {} were lost.",
                       way.to_port ? "entered" : "arrived at", way.to, time_words(way.ns),
                       counted(c.lost, "packet"), way.from);
  const std::vector<std::string> changes = changes_of(c);
  const std::string end = changes.empty() ? "no other change" : listed(changes);
  if (!c.lost)
    return fmt::format("Nothing lost from {} to {}: {}, {}.", way.from, way.to,
                       counted(way.compared(), "packet"), changes.empty() ? "no change" : end);
  return fmt::format("{} of {} ({}) from {} did not arrive at {}; {}.", number_words(c.lost),
                     counted(way.compared(), "packet"), percent(c.lost, way.compared()), way.from,
                     way.to, end);
}

// Places without a packet in common. One that saw nothing at all while its neighbour did is said
// with the time, as all may have been lost.
std::string apart_sentence(const Comparison &c, const ComparedLeg &leg) {
  const ComparedPlace &first = c.places[leg.from], &second = c.places[leg.from + 1];
  if (leg.apart != ComparedLeg::Apart::NoPackets || !(first.packets || second.packets))
    return fmt::format("{} and {} have no packet in common: nothing is known of what happened "
                       "between.",
                       place_name(c, leg.from), place_name(c, leg.from + 1));
  const bool second_empty = !second.packets;
  const ComparedPlace &full = second_empty ? first : second;
  return fmt::format("Nothing arrived at {} in {}: all {} of {} were lost, or went elsewhere.",
                     place_name(c, leg.from + second_empty),
                     time_words(full.last_ns - full.first_ns), counted(full.packets, "packet"),
                     place_name(c, leg.from + !second_empty));
}

} // namespace

Summary compare_summary(const Comparison &comparison) {
  Summary summary;
  ComparedCounts all;
  for (const ComparedLeg &leg : comparison.legs)
    if (leg.apart != ComparedLeg::Apart::No && summary.sentences.size() < kMostSentences)
      summary.sentences.push_back(apart_sentence(comparison, leg));
  const std::vector<Way> ways = compared_ways(comparison);
  uint64_t compared = 0, rest = 0, rest_lost = 0;
  for (const Way &way : ways) {
    all.add(*way.counts);
    compared += way.compared();
    if (summary.sentences.size() < kMostSentences - (ways.size() > kMostSentences)) {
      summary.sentences.push_back(way_sentence(way));
    } else {
      rest++;
      rest_lost += way.counts->lost;
    }
  }
  if (rest)
    summary.sentences.push_back(fmt::format("{}: {} lost.", counted(rest, "further way"),
                                            rest_lost ? number_words(rest_lost) : "none"));
  if (summary.sentences.empty())
    summary.sentences.emplace_back("No RoCE packet was seen at two places.");
  summary.fact("lost", all.lost, "packets", compared);
  summary.fact("corrupted", all.corrupted + all.only_to_bad, "packets", compared);
  summary.fact("duplicated", all.duplicated, "packets", compared);
  summary.fact("reordered", all.reordered, "packets", compared);
  summary.fact("ce", all.ce, "packets", compared);
  summary.fact("only_next", all.only_to, "packets", compared);
  return summary;
}

} // namespace xr::report
