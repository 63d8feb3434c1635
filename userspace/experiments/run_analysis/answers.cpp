// SPDX-License-Identifier: Apache-2.0
#include "run_analysis/answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "names/names.h"
#include "native/following.h"
#include "report/episodes.h"
#include "roce/psn.h"

namespace xr::run_analysis {

namespace {

constexpr size_t kMostRecoveries = 1 << 16; // rows; more are counted

class Answerer {
public:
  explicit Answerer(const Question &question)
      : q_(question), trace_(q_.trace), episodes_(q_.episodes) {
    for (size_t i = 0; i < trace_.hits.size(); i++)
      if (trace_.hits[i].lost)
        of_[trace_.hits[i].qp].lost.push_back(i);
    for (const Cnp &cnp : trace_.cnps)
      of_[cnp.qp].cnps.push_back(cnp.ns);
    for (size_t i = 0; i < episodes_.episodes.size(); i++)
      of_[qp_key(episodes_.episodes[i].name.key)].episodes.push_back(i);
    for (const FindingRow &found : episodes_.findings)
      of_[qp_key(found.name.key)].findings[found.finding.type % ROCE_FINDINGS]++;
    for (const PairRow &pair : episodes_.pairs)
      of_[qp_key(pair.name.key)].src_qp = pair.name.src_qp;
  }

  RunAnswers make() {
    const size_t recoveries = std::min(episodes_.episodes.size(), kMostRecoveries);
    for (size_t i = 0; i < recoveries; i++)
      out_.recoveries.push_back(recovery(episodes_.episodes[i]));
    for (const Hit &hit : trace_.hits)
      out_.hits.push_back(hit_packet(hit));
    add_tails();
    split_rounds();
    order_recoveries();
    for (const FindingRow &found : episodes_.findings)
      out_.findings.push_back(finding(found));
    for (const PairRow &pair : episodes_.pairs)
      out_.go_back_n.push_back(go_back_n(pair));
    for (const CnpRow &row : episodes_.cnps)
      out_.cnp_pacing.push_back(pacing(row));
    add_silent();
    out_.counts = check_counts(q_);
    const size_t dropped = episodes_.episodes.size() - recoveries + tails_dropped_;
    note_losses(trace_, episodes_, dropped, out_);
    out_.from_ns = scaled(episodes_.first_ns - std::min(episodes_.first_ns, q_.begun_ns));
    return std::move(out_);
  }

private:
  // A QP's incoming packets, in order of time.
  struct Qp {
    std::vector<size_t> lost, episodes; // hits; episodes
    std::vector<uint64_t> cnps;         // their times
    std::array<uint64_t, ROCE_FINDINGS> findings{};
    std::optional<uint32_t> src_qp;
  };
  const Qp &of(const QpKey &key) const {
    static const Qp kNone;
    const auto at = of_.find(key);
    return at == of_.end() ? kNone : at->second;
  }

  uint64_t scaled(uint64_t ns) const {
    return q_.scale == 1 ? ns
                         : static_cast<uint64_t>(std::llround(static_cast<double>(ns) * q_.scale));
  }
  uint64_t since_first(uint64_t ns) const { return scaled(ns - std::min(ns, episodes_.first_ns)); }
  std::optional<uint64_t> between(uint64_t from, uint64_t to) const {
    return from && to >= from ? std::optional(scaled(to - from)) : std::nullopt;
  }

  // `frame` as in Episodes.
  static CaptureFrame frame_of(uint64_t frame) {
    return run_analysis::frame_of(frame >> kFileShift ? kRight : kLeft,
                                  frame & ((uint64_t{1} << kFileShift) - 1));
  }

  AnsweredQp named(const QpKey &key) const {
    AnsweredQp qp{{}, names::address(key.src.data()), names::address(key.dst.data()), key.dest_qp};
    for (const Question::Flow &flow : q_.flows)
      if (key.dest_qp >= flow.qp && key.dest_qp - flow.qp < flow.qps)
        qp.flow = flow.name;
    return qp;
  }

  // A dropped packet may have been the last that was sent.
  uint64_t last_sent(const roce_episode &e, const QpKey &qp) const {
    const std::vector<size_t> &lost = of(qp).lost;
    const auto after = std::ranges::lower_bound(lost, e.resent_ns, {},
                                                [&](size_t i) { return trace_.hits[i].ns; });
    return after == lost.begin() ? e.last_sent_ns
                                 : std::max<uint64_t>(e.last_sent_ns, trace_.hits[*(after - 1)].ns);
  }

  Recovery recovery(const EpisodeRow &row) const {
    const roce_episode &e = row.episode;
    const QpKey qp = qp_key(row.name.key);
    Recovery r{.qp = named(qp),
               .cause = static_cast<roce_cause>(e.cause % ROCE_CAUSES),
               .first_missing = e.first_missing,
               .missing = e.missing,
               .resent = e.resent_packets,
               .resent_needlessly = e.resent_needlessly,
               .resent_bytes = e.resent_bytes,
               .naks = e.naks,
               .at_ns = since_first(episode_start(e)),
               .frame = frame_of(e.resent_frame),
               .nak_frame = frame_of(e.nak_frame)};
    if (e.cause == ROCE_CAUSE_NAK)
      r.nak_generation_ns = between(e.seen_ns, e.nak_ns);
    r.nak_reaction_ns = e.cause == ROCE_CAUSE_READ ? between(e.seen_ns, e.reread_ns)
                                                   : between(e.nak_ns, e.resent_ns);
    if (e.cause == ROCE_CAUSE_TIMEOUT)
      r.timeout_ns = between(last_sent(e, qp), e.reread_ns ? e.reread_ns : e.resent_ns);
    r.recovery_ns = between(episode_start(e), e.recovered_ns);
    return r;
  }

  // The first episode after it in which its PSN was missing or was sent again.
  std::optional<size_t> episode_of(const Hit &hit) const {
    const auto start = [&](size_t i) { return episode_start(episodes_.episodes[i].episode); };
    const std::vector<size_t> &all = of(hit.qp).episodes;
    for (auto at = std::ranges::lower_bound(all, hit.ns, {}, start); at != all.end(); ++at) {
      const roce_episode &e = episodes_.episodes[*at].episode;
      const uint32_t missing = (e.end - e.first_missing) & ROCE_PSN_MASK;
      const uint32_t reach = std::max({missing, e.resent_packets, 1U});
      if (((hit.psn - e.first_missing) & ROCE_PSN_MASK) < reach)
        return *at < out_.recoveries.size() ? std::optional(*at) : std::nullopt;
    }
    return std::nullopt;
  }

  // Where the sender went back, and sent the packet next after those that had passed before.
  std::optional<size_t> go_back_before(const Hit &hit) const {
    for (const size_t i : of(hit.qp).episodes) {
      if (i >= out_.recoveries.size())
        break;
      const roce_episode &e = episodes_.episodes[i].episode;
      if (e.resent_ns > hit.ns && e.resent_ns <= hit.before_ns &&
          ((e.first_missing + out_.recoveries[i].resent) & ROCE_PSN_MASK) == hit.psn)
        return i;
    }
    return std::nullopt;
  }

  void join(const Hit &hit, size_t episode) {
    const roce_episode &e = episodes_.episodes[episode].episode;
    Recovery &r = out_.recoveries[episode];
    if (r.cause ==
        ROCE_CAUSE_UNKNOWN) { // no answer came, and nothing showed the loss but the timer
      r.cause = ROCE_CAUSE_TIMEOUT;
      r.timeout_ns = between(last_sent(e, hit.qp), e.resent_ns);
    }
    if (!r.missing)
      r.first_missing = hit.psn;
    r.missing++;
    r.resent++;
    r.resent_bytes += hit.resent_bytes;
    r.recovery_ns = r.recovery_ns ? between(episode_start(e), hit.passed_ns) : std::nullopt;
  }

  // Losses after which nothing came that could show a gap: only the timer sends them again.
  void add_tails() {
    const Hit *last = nullptr; // of the newest of these recoveries
    uint64_t began = 0;        // that one
    for (size_t i = 0; i < out_.hits.size(); i++) {
      const Hit &hit = trace_.hits[i];
      if (!hit.lost || !hit.resent_ns || out_.hits[i].episode)
        continue;
      if (const auto went_back = go_back_before(hit)) {
        join(hit, *went_back);
        out_.hits[i].episode = *went_back;
        continue;
      }
      if (!last || !(last->qp == hit.qp) || hit.before_ns != last->resent_ns) {
        if (out_.recoveries.size() == kMostRecoveries) {
          tails_dropped_++;
          continue;
        }
        out_.recoveries.push_back({.qp = out_.hits[i].qp,
                                   .cause = ROCE_CAUSE_TIMEOUT,
                                   .first_missing = hit.psn,
                                   .at_ns = since_first(hit.resent_ns),
                                   .timeout_ns = between(hit.before_ns, hit.resent_ns),
                                   .frame = run_analysis::frame_of(hit.port, hit.resent_frame)});
        began = hit.resent_ns;
      }
      last = &hit;
      Recovery &tail = out_.recoveries.back();
      // All that is missing must have passed.
      tail.recovery_ns =
          !tail.missing || tail.recovery_ns ? between(began, hit.passed_ns) : std::nullopt;
      tail.missing++;
      tail.resent++;
      tail.resent_bytes += hit.resent_bytes;
      out_.hits[i].episode = out_.recoveries.size() - 1;
    }
  }

  // The losses of one packet, each but the first of a retransmission.
  std::vector<std::vector<size_t>> chains() const {
    std::map<size_t, std::vector<size_t>> by_first;
    std::vector<size_t> first(trace_.hits.size());
    for (size_t i = 0; i < trace_.hits.size(); i++) {
      const Hit &hit = trace_.hits[i];
      first[i] = hit.before ? first[*hit.before] : i;
      if (hit.lost && hit.resent_ns)
        by_first[first[i]].push_back(i);
    }
    std::vector<std::vector<size_t>> all;
    for (auto &[i, chain] : by_first)
      if (chain.size() > 1)
        all.push_back(std::move(chain));
    return all;
  }

  // A retransmission that is lost again does not reach the place where episodes are followed, so
  // that they mix its round with the next one. Each round gets a row of its own: its first packet
  // is the chain's.
  void split_rounds() {
    std::vector<bool> gone(out_.recoveries.size());
    for (const std::vector<size_t> &chain : chains())
      split_chain(chain, gone);
    gone.resize(out_.recoveries.size());
    std::vector<size_t> place(gone.size());
    std::vector<Recovery> kept;
    for (size_t i = 0; i < gone.size(); i++) {
      place[i] = kept.size();
      if (!gone[i])
        kept.push_back(std::move(out_.recoveries[i]));
    }
    out_.recoveries = std::move(kept);
    for (HitPacket &hit : out_.hits)
      if (hit.episode)
        hit.episode = gone[*hit.episode] ? std::nullopt : std::optional(place[*hit.episode]);
  }

  // In which round of the chain it was sent.
  size_t round_of(const std::vector<size_t> &chain, uint64_t ns) const {
    size_t round = 0;
    while (round + 1 < chain.size() && trace_.hits[chain[round + 1]].resent_ns <= ns)
      round++;
    return round;
  }

  void split_chain(const std::vector<size_t> &chain, std::vector<bool> &gone) {
    const Hit &lost = trace_.hits[chain.front()], &last = trace_.hits[chain.back()];
    const size_t followed = std::min(episodes_.episodes.size(), kMostRecoveries);
    std::vector<size_t> parts; // episodes that are rounds of it, or parts of such
    const roce_episode *begun = nullptr;
    for (const size_t i : of(lost.qp).episodes) {
      const roce_episode &e = episodes_.episodes[i].episode;
      const bool own = e.first_missing == lost.psn;
      if (i >= followed || gone[i] || e.kind != ROCE_KIND_REQUEST || e.resent_ns < lost.resent_ns ||
          e.resent_ns > last.resent_ns || !(own || e.cause == ROCE_CAUSE_DUPLICATE))
        continue;
      parts.push_back(i);
      begun = begun || !own ? begun : &e;
    }
    if (!begun || out_.recoveries.size() + chain.size() > kMostRecoveries)
      return;
    const size_t first_row = out_.recoveries.size();
    for (size_t round = 0; round < chain.size(); round++)
      out_.recoveries.push_back(round_of_chain(trace_.hits[chain[round]], round ? nullptr : begun));
    for (const size_t i : parts) {
      const roce_episode &e = episodes_.episodes[i].episode;
      Recovery &row = out_.recoveries[first_row + round_of(chain, e.resent_ns)];
      const bool has_it = e.resent_ns == last.resent_ns && last.passed_ns;
      row.resent += e.resent_packets - has_it;
      row.resent_bytes += e.resent_bytes - (has_it ? last.resent_bytes : 0);
      row.resent_needlessly += e.resent_needlessly;
      row.missing = std::max<uint64_t>(row.missing, out_.recoveries[i].missing);
      gone[i] = true;
    }
    for (size_t round = 0; round < chain.size(); round++) {
      auto &episode = out_.hits[chain[round]].episode;
      if (episode && *episode >= followed && out_.recoveries[*episode].missing == 1)
        gone[*episode] = true; // a tail of this packet alone
      episode = first_row + round;
    }
    gone.resize(out_.recoveries.size());
  }

  // `begun`: the episode that the first loss began.
  Recovery round_of_chain(const Hit &hit, const roce_episode *begun) const {
    Recovery r{.qp = named(hit.qp),
               .cause = ROCE_CAUSE_TIMEOUT,
               .first_missing = hit.psn,
               .missing = 1,
               .resent = 1,
               .resent_bytes = hit.resent_bytes,
               .at_ns = since_first(hit.resent_ns),
               .frame = run_analysis::frame_of(hit.port, hit.resent_frame)};
    uint64_t start = hit.resent_ns;
    if (begun && begun->nak_ns && begun->nak_ns <= hit.resent_ns) {
      start = episode_start(*begun);
      r.cause = ROCE_CAUSE_NAK;
      r.at_ns = since_first(start);
      r.naks = begun->naks;
      r.nak_frame = frame_of(begun->nak_frame);
      r.nak_generation_ns = between(begun->seen_ns, begun->nak_ns);
      r.nak_reaction_ns = between(begun->nak_ns, hit.resent_ns);
    } else {
      r.timeout_ns = between(hit.before_ns, hit.resent_ns);
    }
    r.recovery_ns = between(start, hit.passed_ns);
    return r;
  }

  // By time; the hits name them by their new places.
  void order_recoveries() {
    std::vector<size_t> order(out_.recoveries.size()), place(order.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return out_.recoveries[i].at_ns; });
    std::vector<Recovery> sorted;
    for (const size_t i : order) {
      place[i] = sorted.size();
      sorted.push_back(std::move(out_.recoveries[i]));
    }
    out_.recoveries = std::move(sorted);
    for (HitPacket &hit : out_.hits)
      if (hit.episode)
        hit.episode = place[*hit.episode];
  }

  // Times of the CNPs from the receiver to the QP that sends to `qp`; none if that is not known.
  const std::vector<uint64_t> &cnps_for(const QpKey &qp) const {
    static const std::vector<uint64_t> kNone;
    const auto src_qp = of(qp).src_qp;
    return src_qp ? of({qp.dst, qp.src, *src_qp}).cnps : kNone;
  }

  std::optional<uint64_t> cnp_after(const Hit &hit) const {
    const std::vector<uint64_t> &cnps = cnps_for(hit.qp);
    const auto next = std::ranges::lower_bound(cnps, hit.ns);
    return next == cnps.end() ? std::nullopt : std::optional(scaled(*next - hit.ns));
  }

  HitPacket hit_packet(const Hit &hit) const {
    const std::vector<std::string> &names = q_.rules[hit.port];
    HitPacket row;
    row.rule = hit.rule && hit.rule <= names.size() ? names[hit.rule - 1]
                                                    : fmt::format("rule {}", hit.rule);
    row.did = hit.did;
    row.qp = named(hit.qp);
    row.psn = hit.psn;
    if (hit.packet)
      row.packet = hit.packet;
    row.again = hit.again;
    row.at_ns = since_first(hit.ns);
    row.frame = run_analysis::frame_of(hit.port, hit.frame);
    if (hit.lost) {
      row.episode = episode_of(hit);
      row.recovered = hit.passed_ns != 0;
      row.recovery_ns = between(hit.ns, hit.passed_ns);
    }
    if (hit.marked)
      row.cnp_ns = cnp_after(hit);
    return row;
  }

  GoBackN go_back_n(const PairRow &pair) const {
    const Qp &qp = of(qp_key(pair.name.key));
    GoBackN row{.qp = named(qp_key(pair.name.key)),
                .naks = pair.naks,
                .go_backs = pair.go_backs,
                .selective = pair.selective,
                .wrong_psn = qp.findings[ROCE_FINDING_WRONG_PSN],
                .repeated = qp.findings[ROCE_FINDING_REPEATED_NAK],
                .without_gap = qp.findings[ROCE_FINDING_NAK_WITHOUT_GAP],
                .ack_beyond = qp.findings[ROCE_FINDING_ACK_BEYOND]};
    uint64_t asked = 0;
    for (const size_t i : qp.episodes) {
      const roce_episode &e = episodes_.episodes[i].episode;
      if (e.kind != ROCE_KIND_REQUEST)
        continue;
      row.gaps += e.seen_ns != 0;
      row.silent += e.seen_ns && !e.nak_ns;
      asked += e.cause == ROCE_CAUSE_NAK && e.resent_ns;
    }
    if (asked)
      row.resumes = !row.wrong_psn && !row.selective;
    if (row.gaps || row.naks)
      row.naks_once = !row.silent && !row.repeated && !row.without_gap && !row.ack_beyond;
    return row;
  }

  AnsweredFinding finding(const FindingRow &row) const {
    const roce_finding &f = row.finding;
    AnsweredFinding found{.qp = named(qp_key(row.name.key)),
                          .finding = kFindingNames[f.type % ROCE_FINDINGS],
                          .psn = f.psn,
                          .frame = frame_of(f.frame),
                          .text = report::finding_text(f)};
    if (f.time_ns)
      found.at_ns = since_first(f.time_ns);
    return found;
  }

  CnpPacing pacing(const CnpRow &row) const {
    CnpPacing pacing{.times = row};
    pacing.qp_frame = cnp_within(trace_, row.src, row.qp_ns, [](const QpKey &qp) { return qp; });
    pacing.destination_frame = cnp_within(trace_, row.src, row.destination_ns, [](const QpKey &qp) {
      return QpKey{qp.src, qp.dst, 0};
    });
    pacing.port_frame = cnp_within(trace_, row.src, row.port_ns, [](const QpKey &qp) {
      return QpKey{qp.src, {}, 0};
    });
    for (const auto &[qp, count] : trace_.marks)
      if (qp.dst == row.src)
        pacing.marked += count;
    for (const FindingRow &found : episodes_.findings)
      pacing.without_ce += found.finding.type == ROCE_FINDING_CNP_WITHOUT_CE &&
                           qp_key(found.name.key).dst == row.src;
    for (const PairRow &pair : episodes_.pairs)
      pacing.unanswered += pair.ce && qp_key(pair.name.key).dst == row.src &&
                           cnps_for(qp_key(pair.name.key)).empty();
    return pacing;
  }

  // Receivers of marked packets that sent no CNP at all.
  void add_silent() {
    for (const auto &[qp, count] : trace_.marks) {
      const auto at =
          std::ranges::find_if(out_.cnp_pacing, [&dst = qp.dst](const CnpPacing &cnp_pacing) {
            return cnp_pacing.times.src == dst;
          });
      if (at != out_.cnp_pacing.end() && at->times.cnps)
        continue;
      CnpPacing &row = at == out_.cnp_pacing.end() ? out_.cnp_pacing.emplace_back() : *at;
      row.times.src = qp.dst;
      row.marked += count;
      row.unanswered++;
    }
  }

  const Question &q_;
  const Trace &trace_;
  const Episodes &episodes_;
  std::map<QpKey, Qp> of_;
  uint64_t tails_dropped_ = 0;
  RunAnswers out_;
};

} // namespace

RunAnswers answer(const Question &question) { return Answerer(question).make(); }

} // namespace xr::run_analysis
