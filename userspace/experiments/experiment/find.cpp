// SPDX-License-Identifier: Apache-2.0
#include "experiment/find.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

constexpr const char *kRange = "{rate: 1gbit..100gbit}";
constexpr const char *kOneKey =
    "one key with its range, like {rate: 1gbit..100gbit, resolution: 1%}";
constexpr double kDecade = 10; // with this ratio of the ends the scale is logarithmic
constexpr unsigned kMostTrials = 99;

// "3", or "2 of 3".
Status read_trials(const std::string &text, Find &find) {
  const std::vector<std::string> words = parse::split(text);
  const Error wrong = parse::wrong(text, "a number of trials", "like 3, or 2 of 3");
  if (words.size() != 1 && (words.size() != 3 || words[1] != "of"))
    return wrong;
  const auto of = parse::integer(words.back(), 1, kMostTrials);
  if (!of)
    return wrong;
  find.trials = static_cast<unsigned>(of.get());
  find.hold = find.trials / 2 + 1;
  if (words.size() == 1)
    return {};
  const auto hold = parse::integer(words.front(), 1, find.trials);
  if (!hold)
    return wrong;
  find.hold = static_cast<unsigned>(hold.get());
  return {};
}

// "1%", or a quantity of the key's unit.
Status read_resolution(const std::string &text, Find &find) {
  const auto value = parse::quantity(text);
  if (!value)
    return parse::wrong(text, "a resolution", "like 1%, or 10mbit");
  parse::Quantity is = value.get();
  if (is.kind == parse::UnitKind::None && find.low.kind == parse::UnitKind::Bytes)
    is.kind = find.low.kind;
  find.grid.absolute = is.kind != parse::UnitKind::Share || find.low.kind == parse::UnitKind::Share;
  if (find.grid.absolute && is.kind != find.low.kind)
    return Error{fmt::format("'{}' has another unit than {}", text, find.key), "like 1%"};
  find.grid.resolution = is.value;
  return {};
}

Status read_range(const std::string &key, const std::string &text, Find &find) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos)
    return parse::wrong(text, "a range", kRange);
  find.key = key;
  find.low = XR_TRY(parse::quantity(text.substr(0, dots)));
  find.high = XR_TRY(parse::quantity(text.substr(dots + 2)));
  // 0 has every unit, and a size may have none.
  if (find.low.kind == parse::UnitKind::None &&
      (find.low.value == 0 || find.high.kind == parse::UnitKind::Bytes))
    find.low.kind = find.high.kind;
  if (find.low.kind != find.high.kind)
    return Error{fmt::format("{}: the units of its ends do not fit", text), kRange};
  find.grid.low = find.low.value;
  find.grid.high = find.high.value;
  using enum parse::UnitKind;
  const bool plain = find.low.kind == None && find.low.value == std::floor(find.low.value) &&
                     find.high.value == std::floor(find.high.value);
  find.grid.whole = plain || find.low.kind == Bytes || find.low.kind == Time ||
                    find.low.kind == Rate || find.low.kind == Packets;
  return {};
}

// Any other word is the key.
constexpr std::string_view kWords[] = {"for",     "resolution", "scale", "trials",
                                       "confirm", "at",         "goals"};

class FindReader {
public:
  FindReader(const YamlReader &reader, const Subject &subject, bool expects)
      : reader_(reader), subject_(subject), expects_(expects) {}

  Result<Find> read(const YAML::Node &node) {
    if (!node.IsMap())
      return in(node, {"it is not a map", kOneKey});
    YAML::Node words(YAML::NodeType::Map);
    for (const auto &pair : node) {
      const std::string key = parse::scalar(pair.first);
      if (std::ranges::find(kWords, key) != std::end(kWords)) {
        words[pair.first] = pair.second;
        continue;
      }
      Status read =
          find_.key.empty()
              ? read_range(key, parse::scalar(pair.second), find_)
              : Status(Error{fmt::format("{} and {}: it has two keys", find_.key, key), kOneKey});
      if (read)
        continue;
      // Perhaps a word with a typing error.
      Error error = read.error();
      if (const std::string near = parse::nearest(key, {std::begin(kWords), std::end(kWords)});
          !near.empty())
        error = {fmt::format("'{}' is no word of it", key), fmt::format("did you mean {}?", near)};
      return in(pair.second, error);
    }
    if (find_.key.empty())
      return in(node, {"it has no key", kOneKey});
    XR_TRY(reader_.map(words, "a word of find", keys()));
    if (find_.goals.empty() && !expects_)
      return in(node, {"nothing has to hold",
                       R"(goals: {without loss: "totals.drops == 0"}, or expect: [...])"});
    // Without goals the file's expectations are one.
    if (find_.goals.empty())
      find_.goals.emplace_back();
    if (find_.grid.resolution == 0)
      find_.grid.resolution = kUsual;
    if (!scale_given_)
      find_.grid.logarithmic =
          !find_.grid.absolute && find_.grid.low > 0 && find_.grid.high / find_.grid.low >= kDecade;
    if (const auto grid = find::Grid::make(find_.grid); !grid.ok())
      return in(node, grid.error().in(find_.key));
    return std::move(find_);
  }

private:
  static constexpr double kUsual = 0.01;

  Error in(const YAML::Node &node, const Error &error) const {
    return reader_.in(node, "find", error);
  }
  // A key with a text, which `read` reads.
  YamlReader::Key text_key(const char *key, std::function<Status(const std::string &)> read) const {
    return {key, [this, key, read = std::move(read)](const YAML::Node &node) -> Status {
              Status done = read(parse::scalar(node));
              return done ? done : Status(in(node, done.error().in(key)));
            }};
  }

  std::vector<YamlReader::Key> keys() {
    return {
        text_key("for",
                 [this](const std::string &word) -> Status {
                   find_.grid.least =
                       XR_TRY(parse::choice(word, {"largest", "least"}, "what is looked for")) == 1;
                   return {};
                 }),
        text_key("resolution",
                 [this](const std::string &word) { return read_resolution(word, find_); }),
        text_key("scale",
                 [this](const std::string &word) -> Status {
                   find_.grid.logarithmic =
                       XR_TRY(parse::choice(word, {"linear", "log"}, "a scale")) == 1;
                   scale_given_ = true;
                   return {};
                 }),
        text_key("trials", [this](const std::string &words) { return read_trials(words, find_); }),
        {"confirm", reader_.duration("confirm", find_.confirm_ns)},
        {"at", [this](const YAML::Node &node) { return read_at(node); }},
        {"goals", [this](const YAML::Node &node) { return read_goals(node); }},
    };
  }

  Status read_at(const YAML::Node &node) {
    const Error wrong = {"at: it is not a list of shares of what is found", "[10%, 50%, 100%]"};
    if (!node.IsSequence())
      return in(node, wrong);
    for (const YAML::Node &entry : node) {
      const auto share = parse::quantity(parse::scalar(entry));
      if (!share || share.get().kind != parse::UnitKind::Share || !(share.get().value > 0))
        return in(entry, wrong);
      find_.at.push_back(parse::scalar(entry));
    }
    return {};
  }

  Status read_goals(const YAML::Node &node) {
    if (!node.IsMap() || !node.size())
      return in(node, {"goals: it is not a map of expectations",
                       R"(goals: {without loss: "totals.drops == 0"})"});
    for (const auto &pair : node) {
      FindGoal goal{.name = parse::scalar(pair.first), .expectations = {}};
      if (pair.second.IsSequence())
        for (const YAML::Node &text : pair.second)
          XR_TRY(add(text, goal));
      else
        XR_TRY(add(pair.second, goal));
      find_.goals.push_back(std::move(goal));
    }
    return {};
  }

  Status add(const YAML::Node &node, FindGoal &goal) {
    auto expectation = Expectation::parse(parse::scalar(node));
    if (!expectation)
      return in(node, expectation.error().in(goal.name));
    if (Status s = expectation->check(subject_); !s)
      return in(node, s.error().in(goal.name));
    goal.expectations.push_back(std::move(expectation).get());
    return {};
  }

  const YamlReader &reader_;
  const Subject &subject_;
  bool expects_; // the file has expectations
  Find find_;
  bool scale_given_ = false;
};

} // namespace

bool Find::of_rate() const {
  return !grid.least && (low.kind == parse::UnitKind::Rate || low.kind == parse::UnitKind::Packets);
}

// The unit of an end: of 1mbit..100gbit mbit below 1gbit, so values are 941.2mbit and 9.412gbit.
std::string Find::unit(double value) const {
  if (low.unit == high.unit || high.unit.empty())
    return low.unit;
  const auto of = parse::quantity("1" + high.unit);
  return low.unit.empty() || (of.ok() && value >= of.get().value) ? high.unit : low.unit;
}

Result<std::vector<Find>> read_find(const YamlReader &reader, const YAML::Node &node,
                                    const Subject &subject, bool expects) {
  std::vector<Find> all;
  if (!node || node.IsNull() || (node.IsMap() && !node.size()))
    return all;
  if (!node.IsSequence()) {
    all.push_back(XR_TRY(FindReader(reader, subject, expects).read(node)));
    return all;
  }
  for (const YAML::Node &entry : node)
    all.push_back(XR_TRY(FindReader(reader, subject, expects).read(entry)));
  return all;
}

Result<Settings> find_settings(const FindWords &words) {
  Settings settings;
  if (!words.range.empty()) {
    const auto [key, range] = XR_TRY(parse_setting(words.range));
    settings.emplace_back("find", fmt::format("{{{}: {}}}", key, range));
  }
  if (words.least)
    settings.emplace_back("find.for", "least");
  for (const auto &[key, value] : {std::pair{"find.resolution", &words.resolution},
                                   {"find.trials", &words.trials},
                                   {"find.confirm", &words.confirm}})
    if (!value->empty())
      settings.emplace_back(key, *value);
  return settings;
}

} // namespace xr::experiment
