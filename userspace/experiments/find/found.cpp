// SPDX-License-Identifier: Apache-2.0
#include "find/found.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/cells.h"
#include "report/phrases.h"

namespace xr::find {

using namespace report;
using Kind = Answer::Kind;

namespace {

const Tried *trial(const Found &found, const std::optional<size_t> &index) {
  return index ? &found.tried[*index] : nullptr;
}

const char *outcome_name(Outcome outcome) {
  return outcome == Outcome::Holds ? "holds" : outcome == Outcome::Fails ? "fails" : "void";
}

// "lose 3 of 11,489,112"; "": no such numbers.
std::string loss_words(const sweep::SweepNumbers &numbers) {
  return numbers.lost
             ? fmt::format("lose {} of {}", number_words(numbers.lost), number_words(numbers.sent))
             : "";
}

std::string value_words(const Found &found, const Tried &tried) {
  return tried.quantity.kind == parse::UnitKind::Rate ? rate_words(tried.quantity.value)
         : found.of_rate                              ? tried.value
                         : fmt::format("{} {}", found.key, tried.value);
}

std::string frames_words(double frames) {
  return frames >= 1e6   ? fmt::format("{:.4g} Mpps", frames / 1e6)
         : frames >= 1e3 ? fmt::format("{:.4g} kpps", frames / 1e3)
                         : fmt::format("{:.4g} pps", frames);
}

std::string reason_of(const Found &found, const Finding &finding, const Tried &tried) {
  const auto goal = static_cast<size_t>(&finding - found.findings.data());
  return tried.reasons[goal];
}

std::string range_words(const Found &found) {
  return fmt::format("{} to {}", found.low, found.high);
}

std::string goal_words(const Finding &finding) {
  return finding.goal.empty() ? "" : fmt::format(" {}", finding.goal);
}

// The end of the range, or the next value and its failure.
std::string end_words(const Found &found, const Finding &finding) {
  const Tried *fails = trial(found, finding.fails);
  if (finding.answer.kind == Kind::AllHold)
    return fmt::format("; that is the end of the range from {}", range_words(found));
  if (!fails)
    return "";
  if (finding.answer.limited)
    return fmt::format("; at {} this machine is the limit: {}", value_words(found, *fails),
                       reason_of(found, finding, *fails));
  const std::string lost = found.of_rate ? loss_words(fails->numbers) : "";
  const std::string value = value_words(found, *fails);
  if (!lost.empty()) {
    const Tried *holds = trial(found, finding.holds);
    return fmt::format("; {} {}",
                       holds && value_words(found, *holds) == value ? fails->value : value, lost);
  }
  return fmt::format("; not {}: {}", value_words(found, *fails), reason_of(found, finding, *fails));
}

std::string none_words(const Found &found, const Finding &finding) {
  const Tried *tried = trial(found, finding.fails);
  const std::string why = tried ? reason_of(found, finding, *tried) : "";
  if (finding.answer.kind == Kind::NoneHolds)
    return fmt::format("no value of {} from {} holds{}: at {} {}", found.key, range_words(found),
                       goal_words(finding), tried ? tried->value : "", why);
  return fmt::format("{} from {} was not measured{}", found.key, range_words(found),
                     why.empty() ? "" : ": " + why);
}

} // namespace

std::string sentence(const Found &found, const Finding &finding) {
  std::string text;
  for (const auto &[key, value] : found.settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  if (!text.empty())
    text += ": ";
  const Tried *holds = trial(found, finding.holds);
  if (!holds)
    return text + none_words(found, finding) + ".";
  text += value_words(found, *holds);
  if (found.of_rate) {
    if (const double frames = frames_of(found, holds->numbers); frames > 0)
      text += fmt::format(" ({})", frames_words(frames));
    text += fmt::format(" of {} pass{}", found.traffic,
                        finding.goal.empty() ? " as expected" : goal_words(finding));
  } else {
    text += fmt::format(" is the {} that holds{}", found.least ? "least" : "largest",
                        goal_words(finding));
  }
  text += end_words(found, finding) + ".";
  if (!finding.twist.empty())
    text += fmt::format(" It is not in order: {}.", finding.twist);
  if (finding.answer.gave_up)
    text += fmt::format(" It gave up after {} trials, which contradict one another.",
                        Search::kMostTrials);
  return text;
}

Verdict verdict_of(const Finding &finding) {
  switch (finding.answer.kind) {
  case Kind::Found:
  case Kind::AllHold:
    return Verdict::Pass;
  case Kind::NoneHolds:
    return Verdict::Fail;
  default:
    return Verdict::Void;
  }
}

Verdict verdict_of(const std::vector<Found> &all) {
  Verdict worst = Verdict::Pass;
  for (const Found &found : all)
    for (const Finding &finding : found.findings)
      worst = std::max(worst, verdict_of(finding));
  return worst;
}

Summary summary(const std::vector<Found> &all) {
  Summary made;
  for (const Found &found : all)
    for (const Finding &finding : found.findings) {
      made.sentences.push_back(sentence(found, finding));
      if (const Tried *holds = trial(found, finding.holds)) {
        constexpr const char *kUnits[] = {"", "ns", "bytes", "bit/s", "packets/s", "share"};
        made.fact("found", holds->quantity.value,
                  kUnits[static_cast<size_t>(holds->quantity.kind)]);
      }
    }
  return made;
}

double frames_of(const Found &found, const sweep::SweepNumbers &numbers) {
  return found.frame_bits > 0 ? numbers.wire / found.frame_bits : numbers.frames;
}

std::optional<double> line_frames(const Found &found, const Tried &tried) {
  const double line = tried.numbers.line > 0 ? tried.numbers.line : found.line;
  const double frames = frames_of(found, tried.numbers);
  if (!(line > 0) || !(tried.numbers.wire > 0) || !(frames > 0))
    return {};
  return line * frames / tried.numbers.wire;
}

namespace {

Column json_column(const std::string &key) {
  return {key, "", Format::Text, Hide::Never, Tone::Plain, Where::Json};
}

std::vector<std::string> setting_names(const std::vector<Found> &all) {
  std::vector<std::string> keys;
  for (const Found &found : all)
    for (const auto &[key, value] : found.settings)
      if (std::ranges::find(keys, key) == keys.end())
        keys.push_back(key);
  return keys;
}

void add_settings(std::vector<Value> &row, const Found &found,
                  const std::vector<std::string> &keys) {
  for (const std::string &key : keys) {
    const auto at = std::ranges::find(found.settings, key, [](const auto &s) { return s.first; });
    row.push_back(at == found.settings.end() ? Value{} : Value{at->second});
  }
}

// A column for each setting of the sweep, then `more`.
Table after_settings(const std::vector<std::string> &keys, const std::vector<Column> &more,
                     std::vector<std::vector<Value>> rows) {
  std::vector<Column> columns;
  columns.reserve(keys.size());
  for (const std::string &key : keys)
    columns.push_back({"settings." + key, key, Format::Number});
  columns.insert(columns.end(), more.begin(), more.end());
  return make_table(std::move(columns), std::move(rows));
}

void add_trial(std::vector<Value> &row, const Found &found, const Tried *tried) {
  if (!tried) {
    row.resize(row.size() + 8);
    return;
  }
  const sweep::SweepNumbers &n = tried->numbers;
  const auto line = line_frames(found, *tried);
  const double frames = frames_of(found, n);
  row.insert(row.end(), {tried->value, tried->quantity.value, n.wire, frames, maybe(line),
                         line ? Value{rounded(frames / *line * 100)} : Value{}, n.sent, n.lost});
}

} // namespace

Table findings_table(const std::vector<Found> &all) {
  using enum Format;
  const std::vector<std::string> keys = setting_names(all);
  std::vector<std::vector<Value>> rows;
  for (const Found &found : all)
    for (const Finding &finding : found.findings) {
      const Tried *fails = trial(found, finding.fails);
      std::vector<Value> &row = rows.emplace_back();
      add_settings(row, found, keys);
      row.insert(row.end(),
                 {found.key, finding.goal, std::string(verdict_name(verdict_of(finding)))});
      add_trial(row, found, trial(found, finding.holds));
      row.insert(row.end(), {fails ? Value{fails->value} : Value{},
                             fails ? Value{reason_of(found, finding, *fails)} : Value{},
                             finding.answer.limited, finding.twist, uint64_t{found.tried.size()}});
    }
  const std::vector<Column> more = {
      {"key", "KEY"},
      {"goal", "GOAL", Text, Hide::Zero},
      {"verdict", "VERDICT"},
      {"found", "FOUND", Number},
      json_column("value"),
      {"wire_bps", "BIT/S", Scaled, Hide::Zero},
      {"frames_per_second", "FRAMES/S\nfound", Rate, Hide::Zero},
      {"line_frames_per_second", "\nof the line", Rate, Hide::Zero},
      {"line_percent", "\n%", Number, Hide::Zero},
      {"sent", "SENT", Count},
      {"lost", "LOST", Count},
      {"fails_at", "NOT", Number},
      {"why", "WHY"},
      {"limited", "LIMIT OF THE TESTER", Text, Hide::Zero, Tone::Alarm},
      {"not_in_order", "NOT IN ORDER", Text, Hide::Zero, Tone::Alarm},
      {"trials", "TRIALS", Count}};
  return after_settings(keys, more, std::move(rows));
}

Table trials_table(const std::vector<Found> &all) {
  using enum Format;
  const std::vector<std::string> keys = setting_names(all);
  std::vector<std::vector<Value>> rows;
  const auto add = [&](const Found &found, const Tried &tried, const std::string &share) {
    for (size_t goal = 0; goal < tried.outcomes.size(); goal++) {
      std::vector<Value> &row = rows.emplace_back();
      add_settings(row, found, keys);
      row.insert(row.end(), {found.key, share});
      add_trial(row, found, &tried);
      row.insert(row.end(),
                 {found.findings[goal].goal, std::string(outcome_name(tried.outcomes[goal])),
                  tried.longer, tried.reasons[goal], tried.numbers.wall_s});
    }
  };
  for (const Found &found : all) {
    for (const Tried &tried : found.tried)
      add(found, tried, "");
    for (const auto &[share, tried] : found.at)
      add(found, tried, share);
  }
  const std::vector<Column> more = {{"key", "KEY"},
                                    {"share", "OF FOUND", Text, Hide::Zero},
                                    {"tried", "TRIED", Number},
                                    json_column("value"),
                                    {"wire_bps", "BIT/S", Scaled, Hide::Zero},
                                    {"frames_per_second", "FRAMES/S", Rate, Hide::Zero},
                                    json_column("line_frames_per_second"),
                                    {"line_percent", "% OF\nTHE LINE", Number, Hide::Zero},
                                    {"sent", "SENT", Count},
                                    {"lost", "LOST", Count, Hide::Zero},
                                    {"goal", "GOAL", Text, Hide::Zero},
                                    {"outcome", "OUTCOME"},
                                    {"longer", "LONGER", Text, Hide::Zero},
                                    {"why", "WHY", Text, Hide::Zero},
                                    {"wall_s", "REAL s", Number}};
  return after_settings(keys, more, std::move(rows));
}

Document document(const std::string &name, const std::vector<Found> &all) {
  Document made;
  const std::string verdict = verdict_name(verdict_of(all));
  made.title = fmt::format("{}: {}", name, verdict);
  made.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  made.sections.push_back({"experiment", "", Value{name}, Where::Json});
  made.sections.push_back({"verdict", "", Value{verdict}, Where::Json});
  add_summary(made, summary(all));
  made.sections.push_back({"found", "FOUND", findings_table(all)});
  made.sections.push_back({"trials", "TRIALS", trials_table(all)});
  return made;
}

std::vector<ExperimentResult> as_results(const std::string &name, const std::vector<Found> &all) {
  std::vector<ExperimentResult> results;
  for (const Found &found : all) {
    ExperimentResult &result = results.emplace_back();
    result.name = name;
    for (const auto &[key, value] : found.settings)
      result.name += fmt::format(" {}={}", key, value);
    result.verdict = Verdict::Pass;
    for (const Finding &finding : found.findings) {
      const Verdict verdict = verdict_of(finding);
      result.verdict = std::max(result.verdict, verdict);
      const std::string said = sentence(found, finding);
      ExperimentCheck &check = result.checks.emplace_back();
      // A name that is the same in each run.
      check.text = fmt::format("the {} {}{}", found.least ? "least" : "largest", found.key,
                               goal_words(finding));
      check.outcome = verdict == Verdict::Pass   ? ExperimentCheck::Outcome::Holds
                      : verdict == Verdict::Fail ? ExperimentCheck::Outcome::Fails
                                                 : ExperimentCheck::Outcome::Unmeasured;
      check.why = said;
      check.value_text = said;
      if (verdict == Verdict::Void)
        result.measured.why_void.push_back(said);
    }
  }
  return results;
}

} // namespace xr::find
