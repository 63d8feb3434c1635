// SPDX-License-Identifier: Apache-2.0
#include "model/episodes.h"

#include <algorithm>
#include <map>

#include "model/episode_times.h"
#include "roce/rnr.h"

namespace xr {

namespace {

constexpr uint32_t kNoStream = 0xffffffff; // ROCE_NO_STREAM

// One CNP may be meant for several QPs.
void find_unanswered_ce(Episodes &into, const roce_follow &f, const PairName &name) {
  if (!f.sum.ce || !f.sum.acks || f.sum.cnps)
    return;
  std::array<uint32_t, 4> receiver{};
  std::copy_n(name.key.dst, 4, receiver.begin());
  const auto at =
      std::lower_bound(into.cnps.begin(), into.cnps.end(), receiver,
                       [](const CnpRow &row, const auto &src) { return row.src < src; });
  if (at != into.cnps.end() && at->src == receiver)
    return;
  roce_finding found{};
  found.type = ROCE_FINDING_CE_WITHOUT_CNP;
  found.frame = f.ce_frame;
  found.psn = f.sum.ce_psn;
  found.value = f.sum.ce;
  into.findings.push_back({name, found});
}

// Where requests passed elsewhere too, so may the missing answers have.
void find_ignored_reads(Episodes &into, const roce_follow &f, const PairName &name) {
  if (f.sum.unseen)
    return;
  for (uint32_t i = 0; i < std::min<uint32_t>(f.overs, ROCE_OVERS); i++) {
    const roce_over &over = f.over[i];
    const auto turns = static_cast<int32_t>(f.turns - over.turn);
    if (!over.open || over.from == over.to || turns < ROCE_OVER_TURNS)
      continue;
    roce_finding found{};
    found.type = ROCE_FINDING_READ_NOT_OBEYED;
    found.time_ns = over.ns;
    found.frame = over.frame;
    found.psn = over.from;
    found.value = (over.to - over.from) & ROCE_PSN_MASK;
    into.findings.push_back({name, found});
  }
}

// A reaction to a NAK is far shorter than any of these.
constexpr uint64_t kSureTimer = 500'000'000;
constexpr uint64_t kLeastTimer = 4'096ull << 10; // of RNICs whose reactions are known
constexpr uint64_t kLeastLadder = 4'096ull << 12;
constexpr uint64_t kFarOutside = 10; // times the pair's median
constexpr size_t kReactions = 3;     // least, for a median

// A retry timer is 4.096 us x 2^n, and may expire a little later.
bool is_retry_timer(uint64_t ns) {
  for (uint64_t timer = kLeastLadder; timer <= ns; timer *= 2)
    if (ns - timer <= timer / 10)
      return true;
  return false;
}

// The go-backs of a pair that something asked for.
struct Reaction {
  EpisodeRow *row = nullptr;
  uint64_t after = 0; // it, without the wait that an RNR NAK demands
  uint64_t pause = 0; // since the request before, if that is known and longer
};

Reaction reaction_of(EpisodeRow &row) {
  const roce_episode &e = row.episode;
  const uint64_t since = episode_times(e).nak_reaction.value_or(0);
  const uint64_t wait = e.rnr_timer ? uint64_t{1000} * roce_rnr_us(e.rnr_timer - 1) : 0;
  const uint64_t back = e.reread_ns ? e.reread_ns : e.resent_ns;
  const uint64_t pause = e.last_sent_ns && back > e.last_sent_ns ? back - e.last_sent_ns : 0;
  const auto rest = [wait](uint64_t ns) { return ns > wait ? ns - wait : 0; };
  return {&row, rest(since), std::max(rest(pause), rest(since))};
}

// `timeout`: the pair's smallest that was seen; 0: none.
void decide_reactions(std::vector<Reaction> &reactions, uint64_t timeout) {
  std::vector<uint64_t> times;
  times.reserve(reactions.size());
  for (const Reaction &reaction : reactions)
    times.push_back(reaction.after);
  std::ranges::sort(times);
  const uint64_t median = times.size() > kReactions ? times[times.size() / 2] : 0;
  const auto is_timer = [&](const Reaction &r) {
    return r.after >= kSureTimer || (timeout && r.pause >= timeout - timeout / 20) ||
           (median && r.after >= kLeastTimer && r.after > kFarOutside * median) ||
           (r.after >= kLeastLadder && is_retry_timer(r.pause) &&
            (!median || r.after > kFarOutside * median));
  };
  for (Reaction &reaction : reactions)
    reaction.row->by_timer = is_timer(reaction);
}

void decide_reactions(Episodes &found) {
  std::map<uint32_t, std::vector<Reaction>> reactions; // by stream of requests
  std::map<uint32_t, uint64_t> timeouts;
  for (EpisodeRow &row : found.episodes) {
    const EpisodeTimes times = episode_times(row.episode);
    if (times.nak_reaction)
      reactions[row.episode.request].push_back(reaction_of(row));
    if (times.timeout) {
      uint64_t &least = timeouts[row.episode.request];
      least = least ? std::min(least, *times.timeout) : *times.timeout;
    }
  }
  for (auto &[request, of_pair] : reactions)
    decide_reactions(of_pair, timeouts.contains(request) ? timeouts[request] : 0);
}

} // namespace

const char *cnps_paced_by(const CnpRow &c) {
  const auto keeps = [&c](uint64_t ns) { return ns >= c.qp_ns - c.qp_ns / 5; };
  if (!c.qp_ns || c.qps < 2 || !c.destinations)
    return "";
  const bool in_turn = c.port_steady && c.qp_ns <= uint64_t{2} * c.qps * c.port_ns;
  if (c.destinations > 1 && (keeps(c.port_ns) || in_turn))
    return "port";
  if (c.qps > c.destinations)
    return keeps(c.destination_ns) || in_turn ? "destination" : "qp";
  return "";
}

uint64_t episode_start(const roce_episode &e) {
  uint64_t first = UINT64_MAX;
  for (const uint64_t ns : {e.seen_ns, e.nak_ns, e.reread_ns, e.resent_ns})
    if (ns)
      first = std::min(first, ns);
  return first;
}

uint64_t episode_end(const roce_episode &e) {
  return std::max({e.seen_ns, e.nak_ns, e.reread_ns, e.resent_ns, e.recovered_ns});
}

std::vector<UnansweredRow> unanswered(const Episodes &found) {
  constexpr uint64_t kTimes = 3; // fewer may be a capture's end
  std::vector<UnansweredRow> all;
  for (const PairRow &pair : found.pairs) {
    UnansweredRow row{pair.name, !pair.answers, pair.oldest_psn, pair.unanswered, 0, 1};
    uint64_t resent = 0;
    for (const EpisodeRow &of : found.episodes) {
      const roce_episode &e = of.episode;
      if (e.cause == ROCE_CAUSE_DUPLICATE || e.first_missing != row.psn || !e.resent_ns ||
          !roce_key_equal(&of.name.key, &pair.name.key))
        continue;
      row.times++;
      resent += e.resent_packets;
    }
    // In a capture of one direction, go-backs repeat a small part of all.
    row.packets = pair.requests - std::min(pair.requests, resent);
    const bool most = pair.answers || 2 * resent >= row.packets * (row.times - 1);
    if (row.psns && row.times >= kTimes && most)
      all.push_back(row);
  }
  return all;
}

void add_pair(Episodes &into, const roce_follow &f, const PairName &name) {
  PairRow &row = into.pairs.emplace_back();
  row.name = name;
  row.answers = f.response != kNoStream;
  row.requests = f.requests;
  row.acks = f.sum.acks;
  row.acked_psns = f.sum.acked_psns;
  row.naks = f.sum.naks;
  row.go_backs = f.sum.go_backs;
  row.selective = f.sum.selective;
  row.timers_grown = f.sum.timers_grown;
  row.timers_fixed = f.sum.timers_fixed;
  row.msn_unchecked = f.sum.msn_unchecked;
  row.reads_again = f.sum.reads_again;
  row.reads_cut = f.sum.reads_cut;
  row.ce = f.sum.ce;
  row.answers_ce = f.sum.answers_ce;
  row.cnps = f.sum.cnps;
  row.cnp_ns = f.sum.cnp_least_ns;
  row.oldest_psn = f.acked;
  row.unanswered = static_cast<uint32_t>(std::max(0, roce_psn_diff(f.next, f.acked)));
  std::copy(std::begin(f.sum.causes), std::end(f.sum.causes), std::begin(row.causes));
  into.holes_forgotten += f.round.forgotten;
  find_unanswered_ce(into, f, name);
  find_ignored_reads(into, f, name);
}

void finish_found(Episodes &found) {
  std::ranges::stable_sort(found.episodes, {},
                           [](const EpisodeRow &row) { return episode_start(row.episode); });
  std::ranges::stable_sort(found.findings, {},
                           [](const FindingRow &row) { return row.finding.frame; });
  decide_reactions(found);
}

} // namespace xr
