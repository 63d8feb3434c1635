// SPDX-License-Identifier: Apache-2.0
#include "record/find.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/layer1.h"
#include "packet/frame_schedule.h"
#include "packet/message.h"
#include "parse/value.h"
#include "record/processes.h"
#include "record/sweep.h"
#include "report/phrases.h"

namespace xr::record {

namespace {

using experiment::Experiment;
using find::Outcome;
using find::Search;
using find::Tried;

// "1,024-byte WRITEs", "64-byte frames", or "the file's traffic".
std::string traffic_words(const simulate::Scenario &scenario) {
  if (scenario.flows.empty() || !scenario.jobs.empty())
    return "the file's traffic";
  const flow::Flow &first = scenario.flows.front().flow;
  const auto same = [&](const simulate::FlowSetup &setup) {
    return setup.flow.verb == first.verb && setup.flow.frame_size == first.frame_size &&
           setup.flow.size.parts.size() == 1 &&
           setup.flow.size.parts.front().bytes == first.size.parts.front().bytes;
  };
  if (first.size.parts.size() != 1 || !std::ranges::all_of(scenario.flows, same))
    return "the file's traffic";
  if (first.frame_size)
    return fmt::format("{}-byte frames", report::number_words(first.frame_size));
  std::string verb(packet::verb_name(first.verb));
  std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return toupper(c); });
  return fmt::format("{}-byte {}s", report::number_words(first.size.parts.front().bytes), verb);
}

// Bits of a frame of flows with one frame size; else 0.
double frame_bits(const simulate::Scenario &scenario) {
  if (scenario.flows.empty() || !scenario.jobs.empty())
    return 0;
  const uint32_t size = scenario.flows.front().flow.frame_size;
  for (const simulate::FlowSetup &setup : scenario.flows)
    if (setup.flow.frame_size != size)
      return 0;
  const uint32_t more = scenario.topology.layer1 ? kLayer1Bytes : 0;
  return size ? 8.0 * (size - packet::kFcsBytes + more) : 0;
}

// A trial of a search, or a run at a share of the value that was found.
struct Job {
  size_t finder = 0;
  find::Trial trial;
  std::optional<size_t> share;
  bool operator==(const Job &) const = default;
};

// One search, for all of its goals.
class Finder {
public:
  Finder(const experiment::Settings &settings, Experiment &experiment, size_t which, bool frames)
      : expectations_(experiment.expectations.size()), which_(which),
        find_(std::move(experiment.finds[which])), frames_(frames) {
    found_.settings = settings;
    found_.key = find_.key;
    found_.low = find_.low.text();
    found_.high = find_.high.text();
    found_.resolution = find_.grid.absolute
                            ? parse::Quantity{find_.grid.resolution, find_.low.kind, {}}.text()
                            : fmt::format("{:g}%", find_.grid.resolution * 100);
    found_.least = find_.grid.least;
    found_.of_rate = find_.of_rate();
    found_.traffic = traffic_words(experiment.scenario);
    found_.line = static_cast<double>(experiment.scenario.topology.rate);
    found_.frame_bits = frame_bits(experiment.scenario);
    // In virtual time each trial of a value is the same.
    const find::SearchOptions options{.trials = frames ? std::max(find_.trials, 1U) : 1,
                                      .hold = frames ? std::max(find_.hold, 1U) : 1,
                                      .again = frames,
                                      .confirm = find_.confirm_ns != 0};
    const find::Grid grid = std::move(find::Grid::make(find_.grid)).get();
    for (const experiment::FindGoal &goal : find_.goals) {
      searches_.emplace_back(grid, options);
      found_.findings.emplace_back().goal = goal.name;
    }
  }

  const find::Grid &grid() const { return searches_.front().grid(); }
  const experiment::Settings &settings() const { return found_.settings; }

  // The next trial of the first goal that needs one; then the shares.
  std::optional<find::Trial> next() const { return next_of(searches_); }
  std::optional<size_t> next_share() const {
    if (next() || found_.at.size() == find_.at.size() || !share_of_found(found_.at.size()))
      return {};
    return found_.at.size();
  }
  // Trials that may follow, the next one first; each once.
  std::vector<find::Trial> ahead(size_t most) const {
    std::vector<find::Trial> all;
    std::deque<std::vector<Search>> ways = {searches_};
    for (size_t looked = 0; !ways.empty() && all.size() < most && looked < 4 * most; looked++) {
      const std::vector<Search> way = std::move(ways.front());
      ways.pop_front();
      const auto trial = next_of(way);
      if (!trial)
        continue;
      if (std::ranges::find(all, *trial) == all.end())
        all.push_back(*trial);
      for (const Outcome outcome : {Outcome::Holds, Outcome::Fails}) {
        std::vector<Search> further = way;
        for (Search &search : further)
          search.tell(*trial, outcome);
        ways.push_back(std::move(further));
      }
    }
    return all;
  }

  std::string value_text(const Job &job) const {
    if (!job.share)
      return find_.text(grid().value(job.trial.index));
    return share_of_found(*job.share).value_or("");
  }
  experiment::Settings settings_of(const Job &job) const {
    experiment::Settings all = found_.settings;
    all.emplace_back(find_.key, value_text(job));
    if (job.trial.longer)
      all.emplace_back("duration", parse::duration_text(find_.confirm_ns));
    return all;
  }
  size_t which() const { return which_; }

  void tell(const Job &job, const sweep::SweepPoint &point) {
    Tried tried{.index = job.trial.index,
                .value = value_text(job),
                .quantity = {},
                .longer = job.trial.longer,
                .outcomes = {},
                .reasons = {},
                .numbers = point.numbers};
    if (const auto quantity = parse::quantity(tried.value); quantity.ok())
      tried.quantity = quantity.get();
    judge(point, tried);
    if (job.share) {
      found_.at.emplace_back(find_.at[*job.share], std::move(tried));
      return;
    }
    for (size_t goal = 0; goal < searches_.size(); goal++)
      searches_[goal].tell(job.trial, tried.outcomes[goal], guess(tried));
    // In virtual time a repetition has the same outcome.
    if (!frames_ && tried.outcomes.front() == Outcome::Void)
      for (Search &search : searches_)
        for (unsigned i = 1; i < Search::kMostVoids; i++)
          search.tell(job.trial, Outcome::Void);
    found_.tried.push_back(std::move(tried));
  }

  size_t trials() const { return found_.tried.size() + found_.at.size(); }
  // An estimate of all its trials.
  size_t most() const {
    const auto halves = static_cast<size_t>(std::bit_width(grid().last()));
    return std::max(trials() + 1, halves + 4 + find_.at.size());
  }

  find::Found result() && {
    for (size_t goal = 0; goal < searches_.size(); goal++) {
      find::Finding &finding = found_.findings[goal];
      finding.answer = searches_[goal].answer();
      if (finding.answer.holds)
        finding.holds = trial_of(*finding.answer.holds, goal, Outcome::Holds);
      if (finding.answer.fails)
        finding.fails = trial_of(*finding.answer.fails, goal,
                                 finding.answer.limited ? Outcome::Void : Outcome::Fails);
      else if (!finding.answer.holds && !found_.tried.empty())
        finding.fails = found_.tried.size() - 1;
      if (const auto &twist = finding.answer.twist)
        finding.twist =
            fmt::format("{} does not hold, {} does", find_.text(grid().value(twist->fails)),
                        find_.text(grid().value(twist->holds)));
    }
    return std::move(found_);
  }

private:
  static std::optional<find::Trial> next_of(const std::vector<Search> &searches) {
    for (const Search &search : searches)
      if (const auto trial = search.next())
        return trial;
    return {};
  }

  // A share of what the first goal found; unset: it found nothing.
  std::optional<std::string> share_of_found(size_t share) const {
    const auto holds = searches_.front().answer().holds;
    if (!holds)
      return {};
    const auto part = parse::quantity(find_.at[share]);
    double value = grid().value(*holds) * part.get().value;
    if (find_.grid.whole)
      value = std::floor(value);
    return find_.text(value);
  }

  // The experiment's expectations first, then those of the goals.
  void judge(const sweep::SweepPoint &point, Tried &tried) const {
    const std::vector<ExperimentCheck> &checks = point.result.checks;
    size_t needed = expectations_;
    for (const experiment::FindGoal &goal : find_.goals)
      needed += goal.expectations.size();
    const bool is_void = !sweep::is_measured(point) || checks.size() < needed;
    size_t from = expectations_;
    for (const experiment::FindGoal &goal : find_.goals) {
      const size_t to = from + goal.expectations.size();
      std::string why = is_void ? sweep::reason(point) : "";
      for (size_t i = 0; !is_void && i < to; i++)
        if ((i < expectations_ || i >= from) && why.empty() &&
            checks[i].outcome != ExperimentCheck::Outcome::Holds)
          why = sweep::reason_of(checks[i]);
      tried.outcomes.push_back(is_void       ? Outcome::Void
                               : why.empty() ? Outcome::Holds
                                             : Outcome::Fails);
      tried.reasons.push_back(is_void && why.empty() ? "it was not measured" : why);
      from = to;
    }
  }

  // The part of a rate that was not lost.
  std::optional<double> guess(const Tried &tried) const {
    const sweep::SweepNumbers &n = tried.numbers;
    if (!found_.of_rate || !n.lost || n.sent <= n.lost)
      return {};
    return tried.quantity.value * (1 - static_cast<double>(n.lost) / static_cast<double>(n.sent));
  }

  // The last trial of this value with that outcome, longer ones first.
  std::optional<size_t> trial_of(size_t index, size_t goal, Outcome outcome) const {
    std::optional<size_t> at;
    for (size_t i = 0; i < found_.tried.size(); i++)
      if (const Tried &tried = found_.tried[i]; tried.index == index &&
                                                tried.outcomes[goal] == outcome &&
                                                (!at || tried.longer || !found_.tried[*at].longer))
        at = i;
    return at;
  }

  size_t expectations_; // of the file
  size_t which_;
  experiment::Find find_;
  bool frames_;
  std::vector<Search> searches_; // a goal each
  find::Found found_;
};

class Searches {
public:
  Searches(const experiment::ExperimentFile &file, const experiment::Settings &settings,
           const FindOptions &options)
      : file_(file), settings_(settings), options_(options) {}

  Status add(const experiment::Settings &point) {
    auto experiment = XR_TRY(file_.read(joined(settings_, point)));
    for (size_t i = 0; i < experiment.finds.size(); i++) {
      // Both ends are read before anything runs.
      for (const parse::Quantity *end : {&experiment.finds[i].low, &experiment.finds[i].high}) {
        experiment::Settings with = joined(settings_, point);
        with.emplace_back(experiment.finds[i].key, end->text());
        XR_TRY(file_.check(with));
      }
      finders_.emplace_back(point, experiment, i, options_.frames);
    }
    return {};
  }

  Result<std::vector<find::Found>> run() {
    while (!stopped()) {
      take();
      XR_TRY(fill());
      if (!processes_.running())
        break;
      for (const Processes::Ended &ended : processes_.wait())
        XR_TRY(ended_with(ended));
    }
    std::vector<find::Found> found;
    for (Finder &finder : finders_)
      found.push_back(std::move(finder).result());
    return found;
  }

private:
  struct Done {
    Job job;
    sweep::SweepPoint point;
  };
  bool stopped() const { return options_.stop && options_.stop->load(); }

  std::optional<Job> next(size_t at) const {
    if (const auto trial = finders_[at].next())
      return Job{at, *trial, {}};
    if (const auto share = finders_[at].next_share())
      return Job{at, {}, share};
    return {};
  }

  // Searches get the outcomes of trials in the order in which they ask for them.
  void take() {
    for (size_t at = 0; at < finders_.size(); at++)
      for (auto job = next(at); job && is_done(*job); job = next(at)) {
        const auto found = std::ranges::find(done_, *job, &Done::job);
        finders_[at].tell(*job, found->point);
        done_.erase(found);
      }
  }

  bool is_done(const Job &job) const {
    return std::ranges::find(done_, job, &Done::job) != done_.end();
  }
  bool runs(const Job &job) const {
    return std::ranges::any_of(running_, [&](const auto &entry) { return entry.second == job; });
  }

  Status fill() {
    std::vector<Job> wanted, ahead;
    for (size_t at = 0; at < finders_.size(); at++) {
      const auto job = next(at);
      if (!job)
        continue;
      wanted.push_back(*job);
      if (!job->share && !options_.frames)
        for (const find::Trial &trial : finders_[at].ahead(options_.jobs))
          ahead.push_back({at, trial, {}});
    }
    wanted.insert(wanted.end(), ahead.begin(), ahead.end());
    // Stops trials that no search may ask for any more.
    std::erase_if(running_, [&](const auto &entry) {
      const bool over = !options_.frames && std::ranges::find(wanted, entry.second) == wanted.end();
      if (over)
        processes_.kill(entry.first);
      return over;
    });
    for (const Job &job : wanted) {
      if (processes_.running() >= options_.jobs)
        break;
      if (runs(job) || is_done(job))
        continue;
      const size_t number = started_++;
      XR_TRY(processes_.start(number, [this, job, number] { return run_trial(job, number == 0); }));
      running_.emplace(number, job);
    }
    return {};
  }

  Result<std::string> run_trial(const Job &job, bool first) const {
    const Finder &finder = finders_[job.finder];
    auto experiment = XR_TRY(file_.read(joined(settings_, finder.settings_of(job))));
    for (experiment::FindGoal &goal : experiment.finds[finder.which()].goals)
      for (experiment::Expectation &expectation : goal.expectations)
        experiment.expectations.push_back(std::move(expectation));
    const auto result = XR_TRY(run_experiment(
        experiment, {}, [this](const auto &) { return !stopped(); },
        first ? options_.place : options_.again));
    return sweep::pack_point(result);
  }

  Status ended_with(const Processes::Ended &ended) {
    const auto found = running_.find(ended.job);
    const Job job = found->second;
    running_.erase(found);
    sweep::SweepPoint point;
    point.failure = ended.failure;
    if (point.failure.empty() && !sweep::unpack_point(ended.text, point))
      point.failure = "its process ended without a result";
    const Finder &finder = finders_[job.finder];
    // With frames the machine may be too slow; in virtual time every trial would fail.
    if (!point.failure.empty() && !options_.frames && !stopped())
      return Error{
          fmt::format("{}: {}", sweep::settings_text(finder.settings_of(job), ""), point.failure)};
    if (options_.progress) {
      uint64_t done = 1, most = 0;
      for (const Finder &one : finders_) {
        done += one.trials();
        most += one.most();
      }
      options_.progress(done, std::max(done, most),
                        fmt::format("{}, {}", counted(done, "trial"),
                                    sweep::settings_text(finder.settings_of(job), "")));
    }
    done_.push_back({job, std::move(point)});
    return {};
  }

  const experiment::ExperimentFile &file_;
  const experiment::Settings &settings_;
  const FindOptions &options_;
  std::vector<Finder> finders_;
  Processes processes_;
  std::map<size_t, Job> running_;
  std::vector<Done> done_; // results that no search has asked for yet
  size_t started_ = 0;
};

} // namespace

Result<std::vector<find::Found>> find_all(const experiment::ExperimentFile &file,
                                          const experiment::Settings &settings,
                                          const std::vector<experiment::Settings> &points,
                                          const FindOptions &options) {
  Searches searches(file, settings, options);
  for (const experiment::Settings &point : points)
    XR_TRY(searches.add(point));
  return searches.run();
}

} // namespace xr::record
