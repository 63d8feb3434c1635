// SPDX-License-Identifier: Apache-2.0
// How peers recover, how near QPs are to an error, and whether one path is slower than the others.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/counted.h"
#include "checks/hosts.h"
#include "checks/judgement.h"

namespace xr::checks {

namespace {

constexpr uint32_t kRetries = 7;   // most that a QP can have: three bits
constexpr uint32_t kNearError = 2; // timeouts that are left
constexpr uint32_t kRnrStorm = 10; // RNR NAKs of a pair
constexpr uint64_t kTimer =
    1'000'000;                   // a pause that nothing but a timer ends, where no answers pass
constexpr uint64_t kTimed = 100; // requests, for a p99
constexpr size_t kPairs = 3;     // least, to compare one with the others
constexpr uint64_t kSlower = 10;

// Which other checks use.
bool of_another_check(uint8_t type) {
  return type == ROCE_FINDING_CE_WITHOUT_CNP || type == ROCE_FINDING_CNP_WITHOUT_CE ||
         type == ROCE_FINDING_PMTU || type == ROCE_FINDING_ICRC;
}

std::string qp_text(const roce_key &key) {
  return fmt::format("{} QP 0x{:06x}", text_of(hosts_of(key)), roce_key_qp(&key));
}

struct Retries {
  PairName name;
  uint32_t timeouts = 0, psn = 0; // the most of one PSN
  uint64_t frame = 0;
  uint32_t rnr_naks = 0;
  uint64_t rnr_frame = 0;
};

using PairKey = std::pair<Hosts, uint32_t>;

// Whether requests went back, and no answer to them is in the capture: a timer's work.
bool is_silent(const Episodes &episodes, const PairName &name) {
  return std::ranges::any_of(episodes.pairs, [&name](const PairRow &row) {
    return roce_key_equal(&row.name.key, &name.key) && !row.answers;
  });
}

// Retries of each pair that had any. Episodes are in the order of time.
std::map<PairKey, Retries> retries_of(const Episodes &episodes) {
  std::map<PairKey, Retries> all;
  std::map<std::pair<PairKey, uint32_t>, uint32_t> timeouts;
  for (const EpisodeRow &row : episodes.episodes) {
    const roce_episode &e = row.episode;
    const bool silent = e.cause == ROCE_CAUSE_UNKNOWN && e.last_sent_ns &&
                        e.resent_ns - e.last_sent_ns >= kTimer && is_silent(episodes, row.name);
    if (e.cause != ROCE_CAUSE_TIMEOUT && e.cause != ROCE_CAUSE_RNR && !silent)
      continue;
    const PairKey key = {hosts_of(row.name.key), row.name.key.qp_kind};
    Retries &retries = all[key];
    retries.name = row.name;
    if (e.cause == ROCE_CAUSE_RNR) {
      retries.rnr_naks += std::max(1u, e.naks);
      retries.rnr_frame = e.nak_frame;
    } else if (const uint32_t n = ++timeouts[{key, e.first_missing}]; n > retries.timeouts) {
      retries.timeouts = n;
      retries.psn = e.first_missing;
      retries.frame = e.resent_frame;
    }
  }
  return all;
}

bool timers_grow(const Episodes &episodes, const PairName &name) {
  return std::ranges::any_of(episodes.pairs, [&name](const PairRow &row) {
    return roce_key_equal(&row.name.key, &name.key) && row.timers_grown;
  });
}

// On a port, pairs are remembered from before the time of the check.
bool has_requests(const Snapshot &snapshot) {
  return std::ranges::any_of(snapshot.streams, [](const roce_stream &stream) {
    return roce_key_kind(&stream.key) == ROCE_KIND_REQUEST;
  });
}

// NAKs, implied ones and RNR NAKs after which only a timer made the requester send again.
void add_not_obeyed(const Episodes &episodes, Judgement &judgement) {
  std::array<uint64_t, ROCE_CAUSES> timers{}, all{};
  std::array<uint64_t, ROCE_CAUSES> frames{};
  for (const EpisodeRow &row : episodes.episodes) {
    const size_t cause = row.episode.cause % ROCE_CAUSES;
    all[cause]++;
    if (row.by_timer && !timers[cause]++)
      frames[cause] = row.episode.resent_frame;
  }
  constexpr std::pair<roce_cause, const char *> kAsked[] = {
      {ROCE_CAUSE_NAK, "NAKs"}, {ROCE_CAUSE_READ, "implied NAKs"}, {ROCE_CAUSE_RNR, "RNR NAKs"}};
  for (const auto &[cause, name] : kAsked)
    if (timers[cause])
      judgement.add(Status::Warn,
                    fmt::format("{} of {} {} brought nothing, a timer did: lost after this tap, or "
                                "not obeyed",
                                timers[cause], all[cause], name),
                    frames[cause]);
}

} // namespace

Judgement go_back_n(const Facts &facts) {
  if (!facts.episodes)
    return {Status::Unknown, "QP pairs were not followed"};
  const Episodes &episodes = *facts.episodes;
  const bool answered = std::ranges::any_of(episodes.pairs, &PairRow::answers);
  if (!answered || !has_requests(facts.snapshot))
    return {Status::Unknown, "no RC or XRC requests with their answers"};
  Judgement judgement(Status::Ok, counted(episodes.episodes.size(), "episode") + ", no finding");
  std::array<uint64_t, ROCE_FINDINGS> counts{};
  for (const FindingRow &row : episodes.findings)
    if (!of_another_check(row.finding.type) && !counts[row.finding.type % ROCE_FINDINGS]++)
      judgement.frame(row.finding.frame);
  for (size_t type = 0; type < counts.size(); type++)
    if (counts[type])
      judgement.add(Status::Fail, fmt::format("{}: {}", kFindingNames[type], counts[type]));
  add_not_obeyed(episodes, judgement);
  return judgement;
}

Judgement retries(const Facts &facts) {
  if (!facts.episodes)
    return {Status::Unknown, "QP pairs were not followed"};
  if (facts.episodes->pairs.empty() || !has_requests(facts.snapshot))
    return {Status::Unknown, "no RC or XRC requests"};
  Judgement judgement(Status::Ok, "no PSN timed out twice");
  for (const auto &[key, pair] : retries_of(*facts.episodes)) {
    if (pair.timeouts >= 2) {
      const uint32_t left = kRetries - std::min(kRetries, pair.timeouts);
      judgement.add(
          left <= kNearError ? Status::Fail : Status::Warn,
          fmt::format("{} is {} from error: PSN {} timed out {} of {} times{}",
                      qp_text(pair.name.key), counted(left, "timeout"), pair.psn, pair.timeouts,
                      kRetries,
                      timers_grow(*facts.episodes, pair.name) ? ", and its timer grows" : ""),
          pair.frame);
    }
    if (pair.rnr_naks >= kRnrStorm)
      judgement.add(
          Status::Warn,
          fmt::format("{}: {}", qp_text(pair.name.key), counted(pair.rnr_naks, "RNR NAK")),
          pair.rnr_frame);
  }
  return judgement;
}

Judgement rtt(const Facts &facts) {
  if (!facts.latency)
    return {Status::Unknown, "QP pairs were not timed"};
  std::map<Hosts, uint64_t> p99; // the largest of their QPs
  for (const PassiveRow &row : facts.latency->streams) {
    const PassiveTimes &times = row.times;
    if (times.kind != ROCE_LATENCY_ACK || times.count < kTimed || !times.p99_known)
      continue;
    uint64_t &most = p99[hosts_of(row.name.key)];
    most = std::max(most, times.p99);
  }
  if (p99.size() < kPairs)
    return {Status::Unknown,
            fmt::format("{} with {} timed requests; {} are needed",
                        counted(p99.size(), "pair of hosts", "pairs of hosts"), kTimed, kPairs)};
  Judgement judgement(Status::Ok, "");
  uint64_t longest = 0;
  for (const auto &[hosts, time] : p99) {
    std::vector<uint64_t> others;
    for (const auto &[other, its] : p99)
      if (other != hosts)
        others.push_back(its);
    std::ranges::nth_element(others, others.begin() + static_cast<ptrdiff_t>(others.size() / 2));
    const uint64_t usual = others[others.size() / 2];
    longest = std::max(longest, time);
    if (time >= kSlower * std::max<uint64_t>(usual, 1))
      judgement.add(Status::Warn,
                    fmt::format("{}: p99 of request to ACK {:.1f} us, of the others {:.1f} us",
                                text_of(hosts), static_cast<double>(time) / 1000,
                                static_cast<double>(usual) / 1000));
  }
  if (judgement.status() == Status::Ok)
    return {Status::Ok, fmt::format("p99 of request to ACK {:.1f} us at most",
                                    static_cast<double>(longest) / 1000)};
  return judgement;
}

} // namespace xr::checks
