// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <span>
#include <thread>
#include <unordered_set>

#include "base/processors.h"
#include "compare/place.h"
#include "compare/tally.h"

namespace xr::compare {

namespace {

constexpr uint64_t kProgressStep = 8 << 20; // bytes
constexpr uint32_t kLookMask = 4095;        // packets between two looks at the stop flag

// Why two places may have no packet in common.
ComparedLeg::Apart why_apart(const ComparedLeg &leg, std::span<const ComparedStream> rows) {
  using Apart = ComparedLeg::Apart;
  std::unordered_set<Ends, EndsHash> seen[2]; // at each place
  for (const ComparedStream &row : rows) {
    if (row.counts.seen_from)
      seen[row.from != leg.from].insert(ends_of(row.key));
    if (row.counts.seen_to)
      seen[row.to != leg.from].insert(ends_of(row.key));
  }
  if (seen[0].empty() || seen[1].empty())
    return Apart::NoPackets;
  const auto at_second = [&](const Ends &ends) { return seen[1].contains(ends); };
  const auto answered = [&](const Ends &ends) { return at_second(reversed(ends)); };
  if (std::none_of(seen[0].begin(), seen[0].end(), at_second) &&
      std::any_of(seen[0].begin(), seen[0].end(), answered))
    return Apart::Directions;
  return leg.span_ns ? Apart::Unknown : Apart::Times;
}

class Run {
public:
  Run(const std::vector<Input> &inputs, const Options &options)
      : inputs_(inputs), options_(options), numbers_(options.streams * inputs.size()) {}

  Result<Outcome> run();

private:
  struct Side { // one of the two places of a leg
    Place place;
    Sight sight = {};
    bool more = false;
    void next(StreamNumbers &numbers) { more = place.next(sight, numbers); }
  };

  Status survey_all();
  Status survey_place(size_t index, std::vector<std::atomic<uint64_t>> &read, bool reports);
  void align_all();
  Status compare_leg(uint32_t from);
  void merge(Side &first, Side &second, int64_t shift_ns, Window &window, Tally &tally);
  void note_place(uint32_t index, const Place &place);
  void add_rows(uint32_t from, const Tally &tally);
  void forget_leg(ComparedLeg &leg, size_t first_row);
  void judge_rows();
  bool stopped() const { return options_.stop && options_.stop->load(std::memory_order_relaxed); }
  void progress(uint64_t bytes);

  const std::vector<Input> &inputs_;
  const Options &options_;
  StreamNumbers numbers_;
  std::vector<Survey> surveys_;
  std::vector<Alignment> alignments_;         // by leg
  std::vector<std::vector<uint64_t>> before_; // by place and stream: PSNs lost before it
  std::vector<std::vector<uint64_t>> resent_; // by leg and stream: see Tally::resent_seen
  std::vector<uint32_t> row_streams_;         // the stream of each row
  uint64_t total_bytes_ = 0, done_bytes_ = 0, shown_bytes_ = 0;
  Outcome outcome_;
};

void Run::progress(uint64_t bytes) {
  if (!options_.on_progress || done_bytes_ + bytes < shown_bytes_ + kProgressStep)
    return;
  shown_bytes_ = done_bytes_ + bytes;
  options_.on_progress(shown_bytes_, total_bytes_);
}

Status Run::survey_place(size_t index, std::vector<std::atomic<uint64_t>> &read, bool reports) {
  auto reader = XR_TRY(Reader::open(inputs_[index].path, options_.stop));
  surveys_[index].read(reader, options_.udp_port, [&] {
    read[index] = reader.progress().bytes;
    if (reports)
      progress(std::accumulate(read.begin(), read.end(), uint64_t{0}));
    return stopped();
  });
  read[index] = reader.progress().total;
  return {};
}

// All places at once, by as many threads as there are processors; the first one reports
// the progress.
Status Run::survey_all() {
  surveys_.resize(inputs_.size());
  std::vector<std::atomic<uint64_t>> read(inputs_.size());
  std::vector<Status> done(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); i++) {
    auto reader = XR_TRY(Reader::open(inputs_[i].path, options_.stop));
    const bool inner = i && i + 1 < inputs_.size();
    total_bytes_ += reader.progress().total * (inner ? 3 : 2);
  }
  std::atomic<size_t> next = 0;
  const auto survey = [&](bool reports) {
    for (size_t i = next++; i < inputs_.size(); i = next++)
      done[i] = survey_place(i, read, reports);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(inputs_.size(), processor_count()); i++)
    others.emplace_back(survey, false);
  survey(true);
  for (std::thread &other : others)
    other.join();
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (!done[i])
      return done[i];
    done_bytes_ += read[i];
    if (inputs_[i].span)
      surveys_[i].set_span(*inputs_[i].span);
    ComparedPlace &place = outcome_.comparison.places[i];
    place.first_ns = surveys_[i].span().first_ns;
    place.last_ns = surveys_[i].span().last_ns;
  }
  return {};
}

void Run::align_all() {
  for (size_t from = 0; from + 1 < inputs_.size(); from++)
    alignments_.emplace_back(surveys_[from], surveys_[from + 1], options_.clock_offset_ns);
  if (alignments_.size() < 2)
    return;
  Alignment::Directions known;
  for (const Alignment &alignment : alignments_)
    alignment.tell(known);
  for (Alignment &alignment : alignments_)
    alignment.suppose(known);
}

// Reads both places in the order of their common clock.
void Run::merge(Side &first, Side &second, int64_t shift_ns, Window &window, Tally &tally) {
  first.next(numbers_);
  second.next(numbers_);
  for (uint32_t n = 1; first.more || second.more; n++) {
    const bool take_second =
        !first.more ||
        (second.more && static_cast<int64_t>(second.sight.mark.time_ns) <
                            static_cast<int64_t>(first.sight.mark.time_ns) + shift_ns);
    Side &side = take_second ? second : first;
    const uint32_t stream = side.sight.stream;
    if (!window.has_stream(stream)) {
      const Path path = tally.begin(stream);
      window.set_stream(stream, path);
    }
    tally.seen(take_second, side.sight);
    window.add(take_second, side.sight);
    side.next(numbers_);
    if (n & kLookMask)
      continue;
    if (stopped())
      break;
    progress(first.place.progress().bytes + second.place.progress().bytes);
  }
  window.finish();
}

void Run::note_place(uint32_t index, const Place &place) {
  if (!before_[index].empty())
    return; // the leg before has read it, too
  ComparedPlace &into = outcome_.comparison.places[index];
  ComparedPlace counts = place.counts();
  counts.name = into.name;
  counts.port = into.port;
  counts.capture_lost = into.capture_lost;
  counts.first_ns = into.first_ns;
  counts.last_ns = into.last_ns;
  into = counts;
  before_[index] = place.lost_before(numbers_);
  if (place.trouble())
    outcome_.troubles.push_back(*place.trouble());
}

void Run::add_rows(uint32_t from, const Tally &tally) {
  Comparison &comparison = outcome_.comparison;
  for (uint32_t number = 0; number < tally.streams(); number++) {
    resent_[from].push_back(tally.resent_seen(number));
    auto row = tally.stream(number);
    if (!row)
      continue;
    row->from += from;
    row->to += from;
    comparison.streams.push_back(std::move(*row));
    row_streams_.push_back(number);
  }
  comparison.latency_histograms_full += tally.histograms_full();
}

Status Run::compare_leg(uint32_t from) {
  const Place::Options place{options_.udp_port, options_.streams};
  auto a = XR_TRY(Place::open(inputs_[from].path, place, options_.stop));
  auto b = XR_TRY(Place::open(inputs_[from + 1].path, place, options_.stop));
  Side first{std::move(a)}, second{std::move(b)};
  const Survey &survey = surveys_[from], &two = surveys_[from + 1];
  const Alignment &alignment = alignments_[from];
  Tally tally(alignment, numbers_, survey.span(), two.span());
  Window window({options_.window_ns, options_.memory / Window::bytes_per_sight()},
                alignment.shift_ns(), tally);
  merge(first, second, alignment.shift_ns(), window, tally);
  done_bytes_ += first.place.progress().bytes + second.place.progress().bytes;
  note_place(from, first.place);
  note_place(from + 1, second.place);

  ComparedLeg leg;
  leg.from = from;
  tally.report(leg);
  leg.decided_early = window.decided_early();
  leg.least_window_ns = window.least_window_ns();
  const size_t first_row = outcome_.comparison.streams.size();
  add_rows(from, tally);
  // A port that captured all the time, and saw no RoCE packet while its neighbour did, is a black
  // hole, not a capture of something else.
  const bool whole = inputs_[from].span && inputs_[from + 1].span;
  const bool silent = !first.place.counts().packets != !second.place.counts().packets;
  if (!leg.ways[0].counts.matched && !leg.ways[1].counts.matched && !(whole && silent))
    forget_leg(leg, first_row);
  outcome_.comparison.legs.push_back(std::move(leg));
  return {};
}

// Between places without a packet in common no loss is known.
void Run::forget_leg(ComparedLeg &leg, size_t first_row) {
  std::vector<ComparedStream> &rows = outcome_.comparison.streams;
  for (size_t i = first_row; i < rows.size(); i++)
    rows[i].counts.make_unknown();
  for (ComparedLeg::Way &way : leg.ways)
    way.counts.make_unknown();
  leg.over_time.clear();
  leg.apart = why_apart(leg, {rows.begin() + static_cast<ptrdiff_t>(first_row), rows.end()});
}

// What concerns the whole row of places.
void Run::judge_rows() {
  Comparison &comparison = outcome_.comparison;
  struct Whole {
    uint32_t first = 0, last = 0, last_leg = 0;
    bool known = false;
    std::vector<uint32_t> lost_from;
  };
  std::vector<Whole> wholes(numbers_.size());
  const auto value = [](const std::vector<uint64_t> &list, size_t index) {
    return index < list.size() ? list[index] : 0;
  };
  for (size_t i = 0; i < comparison.streams.size(); i++) {
    const ComparedStream &row = comparison.streams[i];
    Whole &whole = wholes[row_streams_[i]];
    const bool backward = row.from > row.to;
    if (!whole.known || (backward ? row.from > whole.first : row.from < whole.first))
      whole.first = row.from;
    if (!whole.known || (backward ? row.to < whole.last : row.to > whole.last)) {
      whole.last = row.to;
      whole.last_leg = std::min(row.from, row.to);
    }
    whole.known = true;
    if (row.counts.lost)
      whole.lost_from.push_back(row.from);
  }
  for (size_t i = 0; i < comparison.streams.size(); i++) {
    ComparedStream &row = comparison.streams[i];
    const uint32_t number = row_streams_[i];
    const Whole &whole = wholes[number];
    row.first = whole.first;
    row.last = whole.last;
    row.lost_from = whole.lost_from;
    row.lost_before = value(before_[whole.first], number);
    row.lost_after = value(resent_[whole.last_leg], number);
  }
}

Result<Outcome> Run::run() {
  Comparison &comparison = outcome_.comparison;
  comparison.window_ns = options_.window_ns;
  for (const Input &input : inputs_) {
    ComparedPlace place;
    place.name = input.name;
    place.port = input.port;
    place.capture_lost = input.capture_lost;
    comparison.places.push_back(std::move(place));
  }
  before_.resize(inputs_.size());
  resent_.resize(inputs_.size() - 1);
  XR_TRY(survey_all());
  align_all();
  for (uint32_t from = 0; from + 1 < inputs_.size() && !stopped(); from++)
    XR_TRY(compare_leg(from));
  judge_rows();
  comparison.stopped = stopped();
  return std::move(outcome_);
}

} // namespace

Result<Outcome> compare(const std::vector<Input> &inputs, const Options &options) {
  if (inputs.size() < 2)
    return Error{"two captures or ports are needed at least"};
  return Run(inputs, options).run();
}

} // namespace xr::compare
