// SPDX-License-Identifier: Apache-2.0
// Words for which of the matched packets a rule acts on, and when.
#include <cmath>

#include <fmt/format.h>

#include "impair/ber.h"
#include "impair/draft.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

Status parse_always(Draft &, WordReader &) { return {}; }

Status parse_every(Draft &draft, WordReader &words) {
  draft.spec.select = Every{static_cast<uint32_t>(XR_TRY(integer(words.take(), 1, UINT32_MAX)))};
  return {};
}

Status parse_positions(Draft &draft, WordReader &words) {
  std::vector<uint32_t> places;
  for (const std::string &part : parts(words.take())) {
    const auto place = XR_TRY(integer(part, 1, UINT32_MAX, "a position"));
    if (!places.empty() && place <= places.back())
      return Error{fmt::format("'{}' is not after {}", part, places.back()),
                   "they must ascend, like 1,5,9"};
    places.push_back(static_cast<uint32_t>(place));
  }
  if (places.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("there are {}", places.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  draft.spec.select = Positions{std::move(places)};
  return {};
}

Status parse_probability(Draft &draft, WordReader &words) {
  draft.spec.select = Chance{XR_TRY(probability(words.take()))};
  return {};
}

// Thousandths of a packet per million are the unit of the datapath.
Status parse_ppm(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto ppm = XR_TRY(real(word, 0, kMillion));
  const auto spaced = static_cast<uint32_t>(std::llround(ppm * kPartsOfPpm));
  if (std::abs(spaced / kPartsOfPpm - ppm) > ppm * 1e-12)
    return Error{fmt::format("'{}' has more than three decimals", word),
                 "ppm 0.001 is one packet in 10^9"};
  draft.spec.select = Spaced{spaced};
  return {};
}

// The start condition of a burst: a position or a probability.
Status parse_burst_begin(Burst &burst, WordReader &words) {
  if (words.take_if("every")) {
    const std::string word = words.take();
    const auto n = XR_TRY(integer(word, 1, UINT32_MAX));
    if (n < burst.length.to)
      return Error{fmt::format("every '{}' begins another run before one of {} is over", word,
                               burst.length.to),
                   fmt::format("every {} or more", burst.length.to)};
    burst.begin = static_cast<uint32_t>(n);
    return {};
  }
  if (!words.take_if("probability"))
    return missing("every or probability", words.peek(),
                   hint_from(words.peek(), {"every", "probability"}));
  burst.begin = XR_TRY(probability(words.take()));
  return {};
}

Status parse_burst(Draft &draft, WordReader &words) {
  Burst burst{XR_TRY(range(words.take(), 1, UINT32_MAX, "a number of packets")), {}};
  XR_TRY(parse_burst_begin(burst, words));
  draft.spec.select = burst;
  return {};
}

// Same parameters as netem: gemodel p [r [1-h [1-k]]].
Status parse_gilbert(Draft &draft, WordReader &words) {
  constexpr size_t kMost = 4;
  Gilbert gilbert;
  do
    gilbert.p.push_back(XR_TRY(probability(words.take())));
  while (gilbert.p.size() < kMost && looks_like_number(words.peek()));
  draft.spec.select = std::move(gilbert);
  return {};
}

Status parse_ber(Draft &draft, WordReader &words) {
  constexpr double kMostPower = 400;
  constexpr long double kHalf = 0.5L;
  const std::string factor_word = words.take(), power_word = words.take();
  const auto factor = XR_TRY(real(factor_word, 0, 1e300));
  const auto power = real(power_word, -kMostPower, kMostPower);
  if (!power || power.get() != std::floor(power.get()))
    return wrong(power_word, "a whole power of ten", "ber 1 -9 is 1e-9");
  const BitErrors errors{factor, power.get()};
  if (bit_error_rate(errors) >= kHalf)
    return Error{fmt::format("'{} {}' is not a bit error rate below 0.5", factor_word, power_word),
                 "ber 1 -9 is 1e-9"};
  if (bit_error_rate(errors) > 0 && !ber_log2(errors))
    return Error{fmt::format("'{} {}' is too small to differ from 0", factor_word, power_word),
                 "write ber 1 -14 or more"};
  draft.spec.select = errors;
  return {};
}

Status parse_continuous(Draft &, WordReader &) { return {}; }

Result<uint64_t> some_time(WordReader &words) {
  const std::string word = words.take();
  auto ns = duration(word);
  if (ns.ok() && !ns.get())
    return wrong(word, "a time longer than nothing", "like 10us, 5ms, 2s or 1m");
  return ns;
}

Status parse_for(Draft &draft, WordReader &words) {
  draft.spec.schedule = {ROCE_ONCE, XR_TRY(some_time(words)), 0};
  return {};
}

Status parse_repeat(Draft &draft, WordReader &words) {
  const auto on = XR_TRY(some_time(words));
  const auto period = XR_TRY(some_time(words));
  if (on > period)
    return Error{
        fmt::format("'{}' is longer than the period, {}", duration_text(on), duration_text(period)),
        fmt::format("repeat {} {}", duration_text(period), duration_text(on))};
  draft.spec.schedule = {ROCE_REPEAT, on, period};
  return {};
}

Status parse_limit(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto n = XR_TRY(integer(word, 1, UINT64_MAX));
  draft.spec.limit = {n, 0};
  if (!words.take_if("per"))
    return {};
  draft.spec.limit.period_ns = XR_TRY(some_time(words).in("per"));
  if (n > UINT32_MAX)
    return Error{fmt::format("'{}' is too large for a period", word),
                 fmt::format("at most {}", UINT32_MAX)};
  return {};
}

// To add a selector: roce_select in rule.h, select.h, Select in spec.h, compile.cpp, spec_text.cpp,
// a row here; select_test.
constexpr RuleWord kSelect[] = {
    {{"always", "select", "always"}, parse_always},
    {{"every", "select", "every 100", "N"}, parse_every},
    {{"ppm", "select", "ppm 250: evenly spaced, up to three decimals", "N",
      "N of every million matched packets, evenly spaced, up to three decimals"},
     parse_ppm},
    {{"positions", "select", "positions 1,5,9", "LIST"}, parse_positions},
    {{"probability", "select", "probability 1%", "P"}, parse_probability},
    {{"burst", "select", "burst 3 every 100 or burst 2-5 probability 0.1%",
      "L|A-B every N|probability P"},
     parse_burst},
    {{"gilbert", "select", "gilbert P [R [1-H [1-K]]], like gilbert 1% 20%", "P [R [1-H [1-K]]]",
      "as netem's gemodel"},
     parse_gilbert},
    {{"ber", "select", "ber 1 -9 is 1e-9", "C E"}, parse_ber},
    {{"distance", "select", "distance uniform 10 20 or distance table 5,9,30",
      "uniform A B|gaussian MEAN SIGMA|poisson MEAN|gamma SHAPE SCALE|table D,D"},
     parse_distance},
};

void scale_schedule(RuleSpec &rule, const Scale &scale) {
  scale.time(rule.schedule.on_ns);
  scale.time(rule.schedule.period_ns);
}

constexpr RuleWord kSchedule[] = {
    {{"continuous", "schedule", "continuous", "", "as without a word"}, parse_continuous},
    {{"for", "schedule", "for 10s", "DURATION"}, parse_for, nullptr, scale_schedule},
    {{"repeat", "schedule", "repeat DURATION PERIOD, like repeat 1s 10s", "DURATION PERIOD"},
     parse_repeat},
    {{"limit", "limit", "limit 100 or limit 100 per 1s", "N [per T]",
      "most actions, or most in each period T; the first begins when the rule is added"},
     parse_limit,
     nullptr,
     [](RuleSpec &rule, const Scale &scale) { scale.time(rule.limit.period_ns); }},
    {{"shots", "limit", "shots 100, the same as limit 100", "N", "the same as `limit`"},
     parse_limit},
};

} // namespace

std::span<const RuleWord> select_words() { return kSelect; }
std::span<const RuleWord> schedule_words() { return kSchedule; }

} // namespace xr::impair
