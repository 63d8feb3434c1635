// SPDX-License-Identifier: Apache-2.0
#include "model/episodes.h"

#include <algorithm>

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
  std::copy(std::begin(f.sum.causes), std::end(f.sum.causes), std::begin(row.causes));
  into.holes_forgotten += f.round.forgotten;
  find_unanswered_ce(into, f, name);
  find_ignored_reads(into, f, name);
}

void sort_found(Episodes &found) {
  std::ranges::stable_sort(found.episodes, {},
                           [](const EpisodeRow &row) { return episode_start(row.episode); });
  std::ranges::stable_sort(found.findings, {},
                           [](const FindingRow &row) { return row.finding.frame; });
}

} // namespace xr
