// SPDX-License-Identifier: Apache-2.0
// Random distances. A distribution is converted to 1024 quantiles, from which the datapath picks at
// random.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

using Engine = std::mt19937_64;
using Draw = std::function<double(Engine &)>;

constexpr size_t kSamples = 64; // samples per quantile
constexpr double kMost = 1e9;   // packets
constexpr double kLeast = 1e-3;
constexpr uint64_t kSeed = 0x726f6365; // fixed: a distribution always has the same points

struct Distribution {
  std::string_view name;
  size_t parameters;
  double least; // minimum of the parameters
  Draw (*draw)(double a, double b);
  const char *usage;
};

constexpr Distribution kDistributions[] = {
    {"uniform", 2, 1,
     [](double a, double b) -> Draw {
       return [d = std::uniform_int_distribution<uint64_t>(std::llround(a), std::llround(b))](
                  Engine &e) mutable { return static_cast<double>(d(e)); };
     },
     "uniform A B, both whole numbers"},
    {"gaussian", 2, kLeast,
     [](double a, double b) -> Draw { return std::normal_distribution<double>(a, b); },
     "gaussian MEAN SIGMA"},
    {"poisson", 1, kLeast,
     [](double a, double) -> Draw {
       return [d = std::poisson_distribution<int64_t>(a)](Engine &e) mutable {
         return static_cast<double>(d(e));
       };
     },
     "poisson MEAN"},
    {"gamma", 2, kLeast,
     [](double a, double b) -> Draw { return std::gamma_distribution<double>(a, b); },
     "gamma SHAPE SCALE"},
};

std::vector<uint32_t> quantiles(const Draw &draw) {
  Engine engine(kSeed); // NOLINT(cert-msc32-c,cert-msc51-cpp): reproducible
  std::vector<uint32_t> samples(ROCE_RULE_POINTS * kSamples);
  for (uint32_t &sample : samples)
    sample = static_cast<uint32_t>(
        std::clamp(std::round(draw(engine)), 1.0, static_cast<double>(UINT32_MAX)));
  std::sort(samples.begin(), samples.end());
  std::vector<uint32_t> points(ROCE_RULE_POINTS);
  for (size_t i = 0; i < points.size(); i++)
    points[i] = samples[i * kSamples + kSamples / 2];
  return points;
}

Status parse_table(Draft &draft, WordReader &words) {
  std::vector<uint32_t> &points = draft.rule.points;
  for (const std::string &part : parts(words.take())) {
    const auto point = integer(part, 1, UINT32_MAX, "a distance");
    if (!point)
      return point.error();
    points.push_back(static_cast<uint32_t>(point.get()));
  }
  if (points.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("the table has {} distances", points.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  draft.say(Slot::Select, fmt::format("distance table {}", fmt::join(points, ",")));
  return {};
}

Status parse_distribution(Draft &draft, WordReader &words, const Distribution &d) {
  std::array<double, 2> parameter{};
  std::string text = fmt::format("distance {}", d.name);
  for (size_t i = 0; i < d.parameters; i++) {
    const std::string word = words.take();
    const auto value = real(word, d.least, kMost);
    if (!value)
      return Error{value.error().message, d.usage};
    parameter[i] = value.get();
    text += fmt::format(" {}", parameter[i]);
    if (d.name == "uniform" && parameter[i] != std::floor(parameter[i]))
      return wrong(word, "a whole number", d.usage);
  }
  if (d.name == "uniform" && parameter[0] > parameter[1])
    return Error{fmt::format("'{} {}' goes backwards", parameter[0], parameter[1]),
                 fmt::format("distance uniform {} {}", parameter[1], parameter[0])};
  draft.rule.points = quantiles(d.draw(parameter[0], parameter[1]));
  draft.say(Slot::Select, text);
  return {};
}

} // namespace

Status parse_distance(Draft &draft, WordReader &words) {
  std::vector<std::string_view> names;
  for (const Distribution &d : kDistributions)
    names.push_back(d.name);
  names.emplace_back("table");
  const auto at = choice(words.take(), names, "a distribution");
  if (!at)
    return at.error();
  Status status = at.get() < std::size(kDistributions)
                      ? parse_distribution(draft, words, kDistributions[at.get()])
                      : parse_table(draft, words);
  if (!status)
    return status;
  draft.rule.compiled.select.kind = ROCE_SELECT_DISTANCE;
  draft.rule.compiled.select.points = static_cast<uint16_t>(draft.rule.points.size());
  draft.rule.chance = true;
  return {};
}

} // namespace xr::impair
