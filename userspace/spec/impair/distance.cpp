// SPDX-License-Identifier: Apache-2.0
// Random distances. A distribution is converted to 1024 quantiles, from which the datapath picks at
// random.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <fmt/format.h>

#include "impair/compile.h"
#include "impair/draft.h"
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

struct DistanceRow {
  std::string_view name;
  size_t parameters;
  double least; // minimum of the parameters
  Draw (*draw)(double a, double b);
  const char *usage;
};

constexpr DistanceRow kDistances[] = {
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

Result<Distance> parse_distances(WordReader &words) {
  Distance distance{"table", {}, {}};
  for (const std::string &part : parts(words.take()))
    distance.table.push_back(
        static_cast<uint32_t>(XR_TRY(integer(part, 1, UINT32_MAX, "a distance"))));
  if (distance.table.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("the table has {} distances", distance.table.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  return distance;
}

Result<Distance> parse_distribution(WordReader &words, const DistanceRow &d) {
  Distance distance{d.name, {}, {}};
  std::vector<double> &parameters = distance.parameters;
  while (parameters.size() < d.parameters) {
    const std::string word = words.take();
    const auto value = real(word, d.least, kMost);
    if (!value)
      return Error{value.error().message, d.usage};
    parameters.push_back(value.get());
    if (d.name == "uniform" && value.get() != std::floor(value.get()))
      return wrong(word, "a whole number", d.usage);
  }
  if (d.name == "uniform" && parameters[0] > parameters[1])
    return Error{fmt::format("'{} {}' goes backwards", parameters[0], parameters[1]),
                 fmt::format("distance uniform {} {}", parameters[1], parameters[0])};
  return distance;
}

} // namespace

std::vector<uint32_t> points_of(const Distance &distance) {
  const auto *found = std::ranges::find(kDistances, distance.distribution, &DistanceRow::name);
  if (found == std::end(kDistances))
    return distance.table;
  const std::vector<double> &p = distance.parameters;
  return quantiles(found->draw(p[0], p.size() > 1 ? p[1] : 0));
}

Status parse_distance(Draft &draft, WordReader &words) {
  std::vector<std::string_view> names;
  for (const DistanceRow &d : kDistances)
    names.push_back(d.name);
  names.emplace_back("table");
  const auto at = XR_TRY(choice(words.take(), names, "a distribution"));
  draft.spec.select = XR_TRY(at < std::size(kDistances) ? parse_distribution(words, kDistances[at])
                                                        : parse_distances(words));
  return {};
}

} // namespace xr::impair
