// SPDX-License-Identifier: Apache-2.0
#include "experiment/sweep.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "parse/quantity.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

using Values = std::vector<std::string>;

constexpr size_t kMostPoints = 100'000;
constexpr const char *kRangeHint = "like 1..5, 5mbit..250mbit/50 or {x2: 1k..64k}";

Error too_many() { return {"it has too many points", fmt::format("at most {}", kMostPoints)}; }

struct Range {
  parse::Quantity first, last;
  size_t count = 0; // 0: not given
};

// "FIRST..LAST" or "FIRST..LAST/COUNT".
Result<Range> parse_range(const std::string &text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos)
    return parse::wrong(text, "a range", kRangeHint);
  const size_t slash = text.find('/', dots);
  const std::string last = text.substr(dots + 2, slash - dots - 2);
  Range range{XR_TRY(parse::quantity(text.substr(0, dots))), XR_TRY(parse::quantity(last))};
  if (slash != std::string::npos)
    range.count = XR_TRY(parse::integer(text.substr(slash + 1), 2, kMostPoints));
  if (range.first.kind != range.last.kind)
    return Error{fmt::format("{}: the units of its ends do not fit", text), kRangeHint};
  if (range.last.value < range.first.value)
    return Error{fmt::format("{} is empty", text),
                 fmt::format("the smaller value first: {}..{}", last, text.substr(0, dots))};
  if (range.count && range.first.value == range.last.value)
    return Error{fmt::format("{} has one value only", text), kRangeHint};
  return range;
}

std::string text_at(const Range &range, double value) {
  return parse::Quantity{value, range.first.kind, range.first.unit}.text();
}

// From the first to the last, in equal steps: of 1, if no number of values is given.
Result<Values> evenly(const std::string &text) {
  auto range = XR_TRY(parse_range(text));
  const double distance = range.last.value - range.first.value;
  if (!range.count) {
    const bool whole = range.first.value == std::floor(range.first.value) &&
                       range.last.value == std::floor(range.last.value);
    if (range.first.kind != parse::UnitKind::None || !whole)
      return Error{fmt::format("{} does not say how many values it has", text),
                   fmt::format("{}/10", text)};
    if (distance >= kMostPoints)
      return too_many();
    range.count = static_cast<size_t>(distance) + 1;
  }
  Values values;
  for (size_t i = 0; i < range.count; i++) {
    const double part = i ? static_cast<double>(i) / static_cast<double>(range.count - 1) : 0;
    values.push_back(text_at(range, range.first.value + distance * part));
  }
  return values;
}

// Each value is `factor` times the one before. `word`: x2, x10, x1.5.
Result<Values> geometric(const std::string &word, const std::string &text) {
  constexpr double kRounding = 1e-9; // of the last value
  const auto factor = parse::real(word.starts_with('x') ? word.substr(1) : "", 1.0001, 1e6);
  if (!factor)
    return parse::wrong(word, "a factor from x1.0001 to x1000000", kRangeHint);
  const auto range = XR_TRY(parse_range(text));
  if (range.count)
    return Error{fmt::format("{}: a factor and a number of values are given", text),
                 text.substr(0, text.find('/', text.find("..")))};
  if (range.first.value <= 0)
    return Error{fmt::format("{} does not begin above 0", text), kRangeHint};
  Values values;
  double value = range.first.value;
  while (value <= range.last.value * (1 + kRounding)) {
    values.push_back(text_at(range, value));
    if (values.size() > kMostPoints)
      return too_many();
    value *= factor.get();
  }
  return values;
}

std::string plain(const std::string &key) {
  constexpr std::string_view kVars = "vars.";
  return key.starts_with(kVars) ? key.substr(kVars.size()) : key;
}

class SweepReader {
public:
  SweepReader(const Settings &settings, const SettledFile &file)
      : reader_(file.origins), settings_(settings), file_(file) {}

  Result<std::vector<Settings>> points(const YAML::Node &sweep) {
    if (!sweep.IsMap())
      return reader_.in(sweep, "sweep",
                        {"it is not a map", "sweep: {topology.star.senders: [2, 4]}"});
    std::vector<Settings> points = {{}};
    for (const bool seeds : {false, true}) // seeds vary fastest
      for (const auto &pair : sweep) {
        const std::string key = parse::scalar(pair.first);
        if ((key == "seeds") != seeds)
          continue;
        const auto steps =
            XR_TRY(key == "zip" ? zip(pair.second) : list(seeds ? "seed" : key, pair.second));
        if (points.size() * steps.size() > kMostPoints)
          return reader_.in(sweep, "sweep", too_many());
        std::vector<Settings> more;
        for (const Settings &point : points)
          for (const Settings &step : steps) {
            more.push_back(point);
            more.back().insert(more.back().end(), step.begin(), step.end());
          }
        points = std::move(more);
      }
    return points;
  }

private:
  // One setting for each value of a key.
  Result<std::vector<Settings>> list(const std::string &key, const YAML::Node &node) {
    XR_TRY(check_key(key, node));
    const Values all = XR_TRY(values(key, node));
    std::set<std::string> seen;
    std::vector<Settings> steps;
    for (const std::string &value : all) {
      if (!seen.insert(value).second)
        return reader_.in(node, "sweep",
                          {fmt::format("{}: {} is given twice", key, value), "each value once"});
      steps.push_back({{key, value}});
    }
    return steps;
  }

  // The keys' first values together, then their second ones ...
  Result<std::vector<Settings>> zip(const YAML::Node &node) {
    if (!node.IsMap() || !node.size())
      return reader_.in(node, "sweep",
                        {"zip: it is not a map of keys", "zip: {KEY: [1, 2], KEY: [3, 4]}"});
    std::vector<Settings> steps;
    std::string first;
    for (const auto &pair : node) {
      const std::string key = parse::scalar(pair.first);
      XR_TRY(check_key(key, pair.second));
      const Values all = XR_TRY(values(key, pair.second));
      if (first.empty()) {
        first = key;
        steps.resize(all.size());
      }
      if (all.size() != steps.size())
        return reader_.in(
            pair.second, "sweep",
            {fmt::format("zip: {} has {} values, {} has {}", first, steps.size(), key, all.size()),
             "as many values for each key, or keys outside of zip"});
      for (size_t i = 0; i < all.size(); i++)
        steps[i].emplace_back(key, all[i]);
    }
    return steps;
  }

  // A value that each point would replace has no effect; a key that is there twice gives the same
  // point twice.
  Status check_key(const std::string &key, const YAML::Node &node) {
    if (!keys_.insert(plain(key)).second)
      return reader_.in(node, "sweep", {fmt::format("{} is given twice", key), "each key once"});
    if (std::ranges::any_of(settings_, [&](const auto &s) { return plain(s.first) == plain(key); }))
      return reader_.in(node, "sweep",
                        {fmt::format("{} is also set on the command line", key),
                         fmt::format("leave it out there, or --set sweep.{}=[...]", key)});
    if (file_.sweep_used.contains(plain(key)))
      return reader_.in(node, "sweep",
                        {fmt::format("its values use {{{0}}}, and it sweeps {0}", plain(key)),
                         "a variable that uses it, with zip or a value of its own"});
    return {};
  }

  // [A, B], FIRST..LAST[/COUNT] or {xFACTOR: FIRST..LAST}.
  Result<Values> values(const std::string &key, const YAML::Node &node) const {
    const auto named = [&](Result<Values> range) -> Result<Values> {
      return range ? std::move(range)
                   : Result<Values>(reader_.in(node, "sweep", range.error().in(key)));
    };
    if (node.IsMap() && node.size() == 1)
      return named(
          geometric(parse::scalar(node.begin()->first), parse::scalar(node.begin()->second)));
    if (node.IsScalar() && node.Scalar().find("..") != std::string::npos)
      return named(evenly(node.Scalar()));
    if (!node.IsSequence() || !node.size())
      return reader_.in(node, "sweep",
                        {fmt::format("{}: it is not a list or a range", key),
                         fmt::format("[VALUE, VALUE], or a range {}", kRangeHint)});
    Values all;
    for (const YAML::Node &value : node) {
      if (!value.IsScalar())
        return reader_.in(value, "sweep", {fmt::format("{}: a value is not a text", key), {}});
      all.push_back(value.Scalar());
    }
    return all;
  }

  YamlReader reader_;
  const Settings &settings_;
  const SettledFile &file_;
  std::set<std::string> keys_;
};

} // namespace

Result<std::vector<Settings>> sweep_points(const YAML::Node &sweep, const Settings &settings,
                                           const SettledFile &file) {
  if (!sweep || sweep.IsNull())
    return std::vector<Settings>{{}};
  return SweepReader(settings, file).points(sweep);
}

} // namespace xr::experiment
