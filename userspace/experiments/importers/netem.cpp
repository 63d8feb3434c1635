// SPDX-License-Identifier: Apache-2.0
#include "importers/netem.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::importers {

namespace {

using Words = std::vector<std::string>;

constexpr const char *kKeywords[] = {"delay",     "latency", "loss",         "drop",  "corrupt",
                                     "duplicate", "reorder", "rate",         "limit", "slot",
                                     "ecn",       "gap",     "distribution", "seed"};

bool is_keyword(const std::string &word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

Words words_of(std::string_view text) {
  Words words;
  std::string word;
  for (const char c : std::string(text) + " ")
    if (c == ' ' || c == '\t' || c == '\n') {
      if (!word.empty())
        words.push_back(std::exchange(word, ""));
    } else {
      word += c;
    }
  return words;
}

// A percentage with or without its sign, from 0 to 100.
Result<double> percent(const std::string &option, const std::string &word) {
  std::string digits = word;
  if (digits.ends_with('%'))
    digits.pop_back();
  auto value = parse::real(digits, 0, 100);
  if (!value)
    return Error{fmt::format("{}: '{}' is not a percentage", option, word), "like 0.1%"};
  return value;
}

std::string percent_text(double value) { return fmt::format("{:.10g}%", value); }

Result<uint64_t> time(const std::string &option, const std::string &word) {
  const bool bare =
      std::all_of(word.begin(), word.end(), [](char c) { return isdigit(c) || c == '.'; });
  std::string with_unit = word + (bare ? "us" : "");
  // tc's other names of units
  for (const auto &[tc, ours] :
       {std::pair{"msecs", "ms"}, std::pair{"msec", "ms"}, std::pair{"usecs", "us"},
        std::pair{"usec", "us"}, std::pair{"secs", "s"}, std::pair{"sec", "s"}})
    if (with_unit.ends_with(tc)) {
      with_unit = with_unit.substr(0, with_unit.size() - std::string_view(tc).size()) + ours;
      break;
    }
  auto value = parse::duration(with_unit);
  if (!value)
    return Error{fmt::format("{}: '{}' is not a time", option, word),
                 "like 10ms; without a unit: us"};
  return value;
}

class Netem {
public:
  explicit Netem(Words words) : words_(std::move(words)) {}

  Result<Imported> run() {
    if (words_.empty())
      return Error{"there are no options", "like \"delay 10ms 2ms loss 1%\""};
    while (at_ < words_.size())
      XR_TRY(option());
    return imported();
  }

private:
  // The words up to the next option.
  Words arguments() {
    Words all;
    while (at_ < words_.size() && !is_keyword(words_[at_]))
      all.push_back(words_[at_++]);
    return all;
  }

  Status option() {
    const std::string name = words_[at_++];
    if (!is_keyword(name))
      return Error{fmt::format("'{}' is not an option of netem", name),
                   "delay, loss, corrupt, duplicate, reorder, rate: tc-netem(8)"};
    // drop and latency are other names.
    const std::string once = name == "drop" ? "loss" : name == "latency" ? "delay" : name;
    if (!given_.insert(once).second)
      return Error{fmt::format("{} is given twice", once), "each option once"};
    const Words given = arguments();
    if (given.empty() && name != "ecn")
      return Error{fmt::format("{}: a value is missing", name)};
    if (name == "delay" || name == "latency")
      return delay(given);
    if (name == "loss" || name == "drop")
      return loss(given);
    if (name == "corrupt")
      return chance(name, given, "corrupt bit", corrupt_);
    if (name == "duplicate")
      return chance(name, given, "duplicate", duplicate_);
    if (name == "reorder")
      return reorder(given);
    if (name == "rate")
      return rate(given);
    if (name == "distribution")
      return distribution(given);
    if (name == "limit")
      return limit(given);
    if (name == "seed") {
      seed_ = given.front();
      return one_value(name, given);
    }
    if (name == "ecn") {
      ecn_ = true;
      return given.empty() ? Status() : Status(too_much(name, given[0]));
    }
    return Error{fmt::format("{}: no rule does that", name)};
  }

  static Error too_much(const std::string &name, const std::string &word) {
    return {fmt::format("{}: unexpected '{}'", name, word), ""};
  }
  static Status one_value(const std::string &name, const Words &given) {
    return given.size() == 1 ? Status() : Status(too_much(name, given[1]));
  }

  Status limit(const Words &given) {
    const auto packets = parse::integer(given[0], 1, UINT32_MAX, "a number of packets");
    if (!packets)
      return Error{"limit: " + packets.error().message, "like limit 1000"};
    limit_ = packets.get();
    return one_value("limit", given);
  }

  static Error correlated(const std::string &name, const std::string &word) {
    return {fmt::format("{}: a correlation ({}) cannot be imported", name, word),
            "loss gemodel makes bursts; rules have gilbert, burst, distance"};
  }

  Status delay(const Words &given) {
    delay_ = XR_TRY(time("delay", given[0]));
    if (given.size() > 1) {
      jitter_ = XR_TRY(time("delay", given[1]));
    }
    return given.size() > 2 ? Status(correlated("delay", given[2])) : Status();
  }

  Status distribution(const Words &given) {
    distribution_ = given[0];
    if (distribution_ == "uniform" || distribution_ == "normal")
      return one_value("distribution", given);
    return Error{fmt::format("distribution {}: its table cannot be imported", distribution_),
                 "uniform or normal; rules have gamma, poisson, table"};
  }

  // P [CORRELATION]
  static Status chance(const std::string &name, const Words &given, const std::string &action,
                       std::string &rule) {
    if (given.size() > 1)
      return correlated(name, given[1]);
    const auto p = XR_TRY(percent(name, given[0]));
    rule = fmt::format("probability {} {} next", percent_text(p), action);
    return {};
  }

  // [random] P | state P13 [P31] | gemodel P [R [1-H [1-K]]]
  Status loss(Words given) {
    std::string model = "random";
    if (!given[0].empty() && isalpha(static_cast<unsigned char>(given[0][0]))) {
      model = given[0];
      given.erase(given.begin());
    }
    if (given.empty())
      return Error{fmt::format("loss {}: a value is missing", model)};
    if (model == "random")
      return chance("loss", given, "drop", loss_);
    if (model != "gemodel" && model != "state")
      return Error{fmt::format("loss: '{}' is not a model", model), "random, state or gemodel"};
    const size_t most = model == "state" ? 2 : 4;
    if (given.size() > most)
      return Error{model == "state" ? "loss state: only P13 and P31 can be imported"
                                    : fmt::format("loss gemodel: unexpected '{}'", given[most])};
    std::vector<double> values;
    for (const std::string &word : given) {
      values.push_back(XR_TRY(percent("loss " + model, word)));
    }
    // tc-netem(8): without R, R is 1 - P; all are lost in the bad state, none in the good one
    if (values.size() == 1)
      values.push_back(100 - values[0]);
    loss_ = "gilbert";
    for (const double value : values)
      loss_ += " " + percent_text(value);
    loss_ += " drop next";
    return {};
  }

  Status reorder(const Words &given) {
    if (at_ < words_.size() && words_[at_] == "gap")
      return Error{"reorder: gap cannot be imported", "reorder PERCENT; rules have reorder depth"};
    if (given.size() > 1)
      return correlated("reorder", given[1]);
    reorder_ = XR_TRY(percent("reorder", given[0]));
    return {};
  }

  Status rate(const Words &given) {
    if (given.size() > 1)
      return Error{"rate: packet overhead and cells cannot be imported", "rate RATE"};
    const auto value = parse::rate(given[0]);
    if (!value)
      return value.error().in("rate");
    rate_ = value.get();
    return {};
  }

  Result<Imported> imported() const {
    Imported result;
    if (ecn_ && loss_.empty())
      return Error{"ecn: it is for loss, and there is none"};
    if (reorder_ && !delay_)
      return Error{"reorder needs a delay, which the reordered frames do not have"};
    if (!distribution_.empty() && !jitter_)
      return Error{"distribution needs a delay with jitter", "delay 10ms 2ms distribution normal"};
    if (jitter_ > delay_.value_or(0) && distribution_ != "normal")
      return Error{"delay: the jitter is more than the delay, and netem makes 0 of what is below",
                   "a delay of at least the jitter"};
    // netem marks ECT frames instead of dropping them
    if (ecn_) {
      std::string mark = loss_;
      mark.replace(mark.find(" drop next"), std::string::npos, " ce next");
      result.rules.push_back("ecn ect " + mark);
      result.rules.push_back("not ecn ect " + loss_);
    } else {
      add(result, loss_);
    }
    add(result, duplicate_);
    add(result, corrupt_);
    if (delay_)
      result.rules.push_back(delay_rule());
    if (!seed_.empty() && result.rules.empty())
      return Error{"seed: nothing is random without a rule", "loss, corrupt, duplicate or delay"};
    if (!seed_.empty())
      for (std::string &rule : result.rules)
        rule.insert(rule.ends_with(" next") ? rule.size() - 5 : rule.size(), " seed " + seed_);
    if (rate_)
      result.link = "rate " + parse::rate_text(*rate_);
    if (limit_)
      add_limit(result);
    return result;
  }

  // Buffers of links are in bytes.
  void add_limit(Imported &all) const {
    constexpr uint64_t kFrame = 1514; // of an MTU of 1,500, without FCS
    all.link += fmt::format("{}buffer {}", all.link.empty() ? "" : " ", *limit_ * kFrame);
    all.notes.push_back(
        fmt::format("limit {}: a buffer of {} frames of {} bytes", *limit_, *limit_, kFrame));
    if (delay_)
      all.notes.back() +=
          "; frames that the delay holds are not in it (`wire` has memory for them, "
          "and counts what finds none)";
  }

  static void add(Imported &all, const std::string &rule) {
    if (!rule.empty())
      all.rules.push_back(rule);
  }

  std::string delay_rule() const {
    const std::string rule =
        reorder_ ? fmt::format("probability {} delay ", percent_text(100 - *reorder_)) : "delay ";
    using parse::duration_text;
    if (!jitter_)
      return rule + duration_text(*delay_);
    const std::string distribution =
        distribution_ == "normal"
            ? fmt::format("gaussian {} {}", duration_text(*delay_), duration_text(jitter_))
            : fmt::format("uniform {} {}", duration_text(*delay_ - jitter_),
                          duration_text(*delay_ + jitter_));
    return rule + distribution + " unordered"; // netem reorders what jitter makes overtake
  }

  Words words_;
  size_t at_ = 0;
  std::string loss_, duplicate_, corrupt_, distribution_, seed_;
  std::set<std::string> given_;
  std::optional<uint64_t> delay_, rate_, limit_;
  std::optional<double> reorder_;
  uint64_t jitter_ = 0;
  bool ecn_ = false;
};

} // namespace

Result<Imported> netem(std::string_view options) {
  Words words = words_of(options);
  if (!words.empty() && words.front() == "netem")
    words.erase(words.begin());
  return Netem(std::move(words)).run();
}

} // namespace xr::importers
