// SPDX-License-Identifier: Apache-2.0
#include "progress/summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace xr::progress {

namespace {

using job::Operation;
using Why = ExperimentJob::Why;
using Interval = std::pair<uint64_t, uint64_t>;

constexpr size_t kMostSpans = 20'000; // of all steps but the first, which is kept whole
// Spans of one kind that a rank has in a step; if there are more, the step is divided into as many
// parts of equal length.
size_t most_spans(size_t ranks) {
  constexpr size_t kOfManyRanks = 400'000, kLeast = 16, kEnough = 128;
  return std::max(kMostSpans / 2 / ranks, std::clamp(kOfManyRanks / ranks, kLeast, kEnough));
}
// A link with this share of another's use is about as used.
constexpr double kAsUsed = 0.8;

// Sorted, and those that touch as one.
void unite(std::vector<Interval> &all) {
  std::sort(all.begin(), all.end());
  size_t last = 0;
  for (size_t i = 1; i < all.size(); i++)
    if (all[i].first <= all[last].second)
      all[last].second = std::max(all[last].second, all[i].second);
    else
      all[++last] = all[i];
  if (!all.empty())
    all.resize(last + 1);
}

uint64_t length(const std::vector<Interval> &all) {
  uint64_t sum = 0;
  for (const auto &[from, to] : all)
    sum += to - from;
  return sum;
}

// What two united lists have in common.
uint64_t common(const std::vector<Interval> &a, const std::vector<Interval> &b) {
  uint64_t sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t from = std::max(a[i].first, b[j].first), to = std::min(a[i].second, b[j].second);
    sum += to > from ? to - from : 0;
    (a[i].second < b[j].second ? i : j)++;
  }
  return sum;
}

uint64_t median(std::vector<uint64_t> values) {
  if (values.empty())
    return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Summary {
public:
  Summary(const JobProgress &progress, const WayOf &way_of, double least_share)
      : progress_(progress), job_(progress.job()), way_of_(way_of), least_share_(least_share) {}

  ExperimentJob make() {
    out_.name = job_.name;
    out_.kind = job_.kind;
    out_.operations = job_.operations.size();
    out_.left = progress_.left();
    for (const std::string &host : job_.hosts)
      out_.ranks.push_back({.host = host});
    by_step();
    for (uint32_t step = 0; step < job_.steps.size(); step++)
      add_step(step);
    means();
    for (uint32_t i = 0; i < job_.operations.size(); i++)
      count(i);
    incast();
    return std::move(out_);
  }

private:
  void by_step() {
    members_.resize(job_.steps.size());
    for (uint32_t i = 0; i < job_.operations.size(); i++)
      if (const uint32_t step = job_.operations[i].step; step < members_.size())
        members_[step].push_back(i);
  }

  void add_step(uint32_t number) {
    ExperimentJob::Step step;
    step.name = job_.steps[number].name;
    uint64_t begun = kNever, ended = 0;
    uint32_t last = job::kNone;
    bool complete = true;
    for (const uint32_t i : members_[number]) {
      const JobProgress::Times &times = progress_.times(i);
      begun = std::min(begun, times.begun);
      complete = complete && times.complete != kNever;
      if (times.complete != kNever && (last == job::kNone || times.complete >= ended)) {
        ended = times.complete;
        last = i;
      }
    }
    if (begun == kNever)
      return; // it was not reached
    step.start_ns = begun;
    shares(number, begun, complete ? ended : kNever, step);
    if (complete && last != job::kNone) {
      step.end_ns = ended;
      const double seconds = static_cast<double>(ended - begun) * 1e-9;
      if (const uint64_t bytes = job_.steps[number].bytes; bytes && seconds > 0) {
        step.algbw_bps = static_cast<double>(bytes) * 8 / seconds;
        step.busbw_bps = step.algbw_bps * job_.steps[number].bus_factor;
      }
      explain(number, last, step);
    }
    out_.steps.push_back(std::move(step));
  }

  void means() {
    double count = 0;
    for (const ExperimentJob::Step &step : out_.steps) {
      if (!step.end_ns)
        continue;
      count++;
      out_.step_ns.add(*step.end_ns - step.start_ns);
      out_.algbw_bps += (step.algbw_bps - out_.algbw_bps) / count;
      out_.busbw_bps += (step.busbw_bps - out_.busbw_bps) / count;
      out_.overlap += (step.overlap - out_.overlap) / count;
    }
  }

  // `whole`: the span of the step.
  void add_spans(const ExperimentJob::Span &whole, const std::vector<Interval> &all) {
    const size_t most = most_spans(job_.hosts.size());
    if (all.size() <= most) {
      for (const auto &[from, to] : all)
        out_.spans.push_back({whole.rank, whole.compute, from, to});
      return;
    }
    const uint64_t part_ns = std::max<uint64_t>((whole.to_ns - whole.from_ns + most - 1) / most, 1);
    size_t next = 0;
    for (uint64_t from = whole.from_ns; from < whole.to_ns; from += part_ns) {
      const uint64_t to = std::min(from + part_ns, whole.to_ns);
      uint64_t busy = 0;
      while (next < all.size() && all[next].second <= from)
        next++;
      for (size_t i = next; i < all.size() && all[i].first < to; i++)
        busy += std::min(to, all[i].second) - std::max(from, all[i].first);
      if (!busy)
        continue;
      const auto share =
          static_cast<float>(static_cast<double>(busy) / static_cast<double>(to - from));
      out_.spans.push_back({whole.rank, whole.compute, from, to, share});
    }
  }

  // Compute and exchange of each rank.
  void shares(uint32_t number, uint64_t begun, uint64_t ended, ExperimentJob::Step &step) {
    std::vector<std::vector<Interval>> computes(job_.hosts.size()), exchanges(job_.hosts.size());
    for (const uint32_t i : members_[number]) {
      const Operation &what = job_.operations[i];
      const JobProgress::Times &times = progress_.times(i);
      if (times.begun == kNever || times.complete == kNever || times.complete == times.begun)
        continue;
      const Interval took{times.begun, times.complete};
      if (what.kind == Operation::Kind::Compute && what.rank < computes.size())
        computes[what.rank].push_back(took);
      if (what.kind == Operation::Kind::Message && !what.control) {
        exchanges[what.rank].push_back(took);
        exchanges[what.peer].push_back(took);
      }
    }
    uint64_t compute = 0, exchange = 0, both = 0;
    const size_t had_spans = out_.spans.size();
    for (uint32_t rank = 0; rank < job_.hosts.size(); rank++) {
      unite(computes[rank]);
      unite(exchanges[rank]);
      const uint64_t own_compute = length(computes[rank]), own_exchange = length(exchanges[rank]);
      compute += own_compute;
      exchange += own_exchange;
      const uint64_t own_both = common(computes[rank], exchanges[rank]);
      both += own_both;
      out_.ranks[rank].compute_ns += own_compute;
      out_.ranks[rank].exchange_ns += own_exchange;
      if (ended != kNever)
        out_.ranks[rank].wait_ns += ended - begun - (own_compute + own_exchange - own_both);
      if (ended != kNever && !spans_full_)
        for (const bool is_compute : {true, false})
          add_spans({rank, is_compute, begun, ended},
                    is_compute ? computes[rank] : exchanges[rank]);
    }
    if (had_spans && out_.spans.size() > kMostSpans) {
      out_.spans.resize(had_spans);
      spans_full_ = true;
    }
    if (job_.hosts.empty())
      return;
    step.compute_ns = compute / job_.hosts.size();
    step.exchange_ns = exchange / job_.hosts.size();
    step.overlap = exchange ? static_cast<double>(both) / static_cast<double>(exchange) : 0;
  }

  // Follows back what the step's last operation waited for.
  void explain(uint32_t number, uint32_t last, ExperimentJob::Step &step) {
    std::vector<uint64_t> computes(job_.hosts.size());
    for (const uint32_t i : members_[number])
      if (const Operation &what = job_.operations[i];
          what.kind == Operation::Kind::Compute && what.rank < computes.size())
        computes[what.rank] += what.amount;
    const uint64_t usual = median(computes);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> slow; // messages: what they took beyond idle
    std::map<std::pair<uint32_t, uint32_t>, Way> ways;
    uint64_t late = 0;
    uint32_t late_rank = job::kNone, after = job::kNone; // after: what waited for it
    bool receiver = false;
    for (uint32_t i = last; i != job::kNone && job_.operations[i].step == number;
         after = i, i = progress_.waited_for(i)) {
      const Operation &what = job_.operations[i];
      const JobProgress::Times &times = progress_.times(i);
      if (what.kind == Operation::Kind::Compute && what.rank < computes.size() &&
          computes[what.rank] > usual && computes[what.rank] - usual > late) {
        late = computes[what.rank] - usual;
        late_rank = what.rank;
        receiver = after != job::kNone && job_.operations[after].control;
      }
      if (what.kind != Operation::Kind::Message || !what.amount)
        continue;
      const Way way = way_of_(i);
      const uint64_t took = times.complete - times.begun;
      if (way.idle_ns && took > *way.idle_ns) {
        slow[{what.rank, what.peer}] += took - *way.idle_ns;
        ways[{what.rank, what.peer}] = way;
      }
    }
    auto worst = slow.end();
    uint64_t waited = 0;
    for (auto entry = slow.begin(); entry != slow.end(); ++entry) {
      waited += entry->second;
      if (worst == slow.end() || entry->second > worst->second)
        worst = entry;
    }
    const uint64_t excess = std::max(late, waited);
    if (static_cast<double>(excess) <
        least_share_ * static_cast<double>(*step.end_ns - step.start_ns))
      return;
    step.excess_ns = excess;
    if (late >= waited) {
      step.why = receiver ? Why::LateReceiver : Why::LateSender;
      step.rank = late_rank;
    } else {
      const Way &way = ways[worst->first];
      if (!way.sent_again && !is_used_most(number, way)) {
        step.why = Why::SharedLinks;
        return;
      }
      step.why = way.sent_again ? Why::Retransmission : Why::CongestedLink;
      step.rank = worst->first.first;
      step.where = fmt::format("{}-{}", worst->first.first, worst->first.second);
      if (!way.queue.empty())
        step.where += " at " + way.queue;
    }
    out_.ranks[*step.rank].slowest++;
  }

  // A link is used most if at least half of the step's messages that do not pass it pass only links
  // that are less used: by the step's bytes, or busy for less time in the run, as others may use
  // the link too. In a balanced exchange each message finds a link that is used as much.
  bool is_used_most(uint32_t step, const Way &way) {
    std::map<uint32_t, double> needed, busy; // ns, by link
    std::vector<std::vector<Way::Link>> messages;
    for (const uint32_t i : members_[step]) {
      const Operation &what = job_.operations[i];
      if (what.kind != Operation::Kind::Message || what.control || !what.amount)
        continue;
      for (const Way::Link &link : messages.emplace_back(way_of_(i).links)) {
        needed[link.number] += link.byte_ns * static_cast<double>(what.amount);
        busy[link.number] = static_cast<double>(link.busy_ns);
      }
    }
    return std::ranges::any_of(way.links, [&](const Way::Link &link) {
      if (link.number != way.longest.value_or(link.number))
        return false;
      return used_more(link.number, messages, needed) || used_more(link.number, messages, busy);
    });
  }

  static bool used_more(uint32_t link, const std::vector<std::vector<Way::Link>> &messages,
                        std::map<uint32_t, double> &used) {
    const double as_much = kAsUsed * used[link];
    size_t others = 0, alike = 0;
    for (const std::vector<Way::Link> &passed : messages) {
      if (std::ranges::find(passed, link, &Way::Link::number) != passed.end())
        continue;
      others++;
      alike += std::ranges::any_of(
          passed, [&](const Way::Link &other) { return used[other.number] >= as_much; });
    }
    return 2 * alike <= others;
  }

  // A message, and who kept it waiting: its clear-to-send, or what else its sender waited for.
  void count(uint32_t number) {
    const Operation &what = job_.operations[number];
    if (what.kind != Operation::Kind::Message || what.control)
      return;
    const JobProgress::Times &times = progress_.times(number);
    if (times.complete != kNever) {
      out_.messages++;
      out_.bytes += what.amount;
    }
    if (times.begun == kNever)
      return;
    uint64_t cleared = kNever, other = 0;
    for (const job::Need &need : job_.needs(number))
      if (job_.operations[need.operation].control)
        cleared = progress_.times(need.operation).complete;
      else
        other = std::max(other, progress_.times(need.operation).complete);
    if (cleared == kNever || other == kNever)
      return;
    if (other > cleared)
      out_.ranks[what.rank].cts_to_data_ns += other - cleared;
    else
      out_.ranks[what.peer].data_to_cts_ns += cleared - other;
  }

  // Ends before beginnings: messages that follow one another do not meet.
  void incast() {
    struct Change {
      uint32_t to;
      uint64_t at;
      bool begins;
      uint32_t from;
      bool operator<(const Change &other) const {
        return std::tie(to, at, begins, from) <
               std::tie(other.to, other.at, other.begins, other.from);
      }
    };
    std::vector<Change> changes;
    for (uint32_t i = 0; i < job_.operations.size(); i++) {
      const Operation &what = job_.operations[i];
      const JobProgress::Times &times = progress_.times(i);
      if (what.kind != Operation::Kind::Message || what.control || times.begun == kNever)
        continue;
      changes.push_back({what.peer, times.begun, true, what.rank});
      if (times.complete != kNever)
        changes.push_back({what.peer, times.complete, false, what.rank});
    }
    std::sort(changes.begin(), changes.end());
    std::map<uint32_t, uint32_t> now; // by sender: messages
    uint32_t to = job::kNone;
    uint64_t since = 0;
    for (const Change &change : changes) {
      if (change.to != to)
        now.clear();
      else if (!now.empty() && change.at > since)
        out_.incast_ranks.add(now.size(), change.at - since);
      to = change.to;
      since = change.at;
      if (change.begins)
        now[change.from]++;
      else if (--now[change.from] == 0)
        now.erase(change.from);
      if (now.size() > out_.incast) {
        out_.incast = static_cast<uint32_t>(now.size());
        out_.incast_rank = to;
      }
    }
  }

  const JobProgress &progress_;
  const job::Job &job_;
  const WayOf &way_of_;
  const double least_share_;
  ExperimentJob out_;
  std::vector<std::vector<uint32_t>> members_; // by step: operations
  bool spans_full_ = false;                    // later steps have no spans
};

} // namespace

ExperimentJob summarise(const JobProgress &progress, const WayOf &way_of, double least_share) {
  return Summary(progress, way_of, least_share).make();
}

} // namespace xr::progress
