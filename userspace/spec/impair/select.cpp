// SPDX-License-Identifier: Apache-2.0
// Words for which of the matched packets a rule acts on, and when.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

Status parse_always(Draft &draft, WordReader &) {
  draft.rule.compiled.select.kind = ROCE_SELECT_ALWAYS;
  return {};
}

Status parse_every(Draft &draft, WordReader &words) {
  const auto n = integer(words.take(), 1, UINT32_MAX);
  if (!n)
    return n.error();
  roce_selector &select = draft.rule.compiled.select;
  select.kind = ROCE_SELECT_EVERY;
  select.every = static_cast<uint32_t>(n.get());
  draft.say(Slot::Select, fmt::format("every {}", select.every));
  return {};
}

Status parse_positions(Draft &draft, WordReader &words) {
  std::vector<uint32_t> places;
  uint32_t last = 0;
  for (const std::string &part : parts(words.take())) {
    const auto place = integer(part, 1, UINT32_MAX, "a position");
    if (!place)
      return place.error();
    places.push_back(static_cast<uint32_t>(place.get()));
    if (places.back() <= last)
      return Error{fmt::format("'{}' is not after {}", part, last), "they must ascend, like 1,5,9"};
    draft.rule.points.push_back(places.back() - last);
    last = places.back();
  }
  if (places.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("there are {}", places.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  roce_selector &select = draft.rule.compiled.select;
  select.kind = ROCE_SELECT_POSITIONS;
  select.points = static_cast<uint16_t>(places.size());
  draft.say(Slot::Select, fmt::format("positions {}", fmt::join(places, ",")));
  return {};
}

Status parse_probability(Draft &draft, WordReader &words) {
  const auto p = probability(words.take());
  if (!p)
    return p.error();
  draft.rule.compiled.select.kind = ROCE_SELECT_PROBABILITY;
  draft.rule.compiled.select.probability = p.get().fraction();
  draft.rule.chance = true;
  draft.say(Slot::Select, fmt::format("probability {}", p.get().text()));
  return {};
}

// Thousandths of a packet per million are the unit of the datapath.
Status parse_ppm(Draft &draft, WordReader &words) {
  constexpr double kMost = 1e6, kParts = ROCE_SPACED_WHOLE / kMost;
  const std::string word = words.take();
  const auto ppm = real(word, 0, kMost);
  if (!ppm)
    return ppm.error();
  roce_selector &select = draft.rule.compiled.select;
  select.kind = ROCE_SELECT_SPACED;
  select.every = static_cast<uint32_t>(std::llround(ppm.get() * kParts));
  if (std::abs(select.every / kParts - ppm.get()) > ppm.get() * 1e-12)
    return Error{fmt::format("'{}' has more than three decimals", word),
                 "ppm 0.001 is one packet in 10^9"};
  draft.say(Slot::Select, fmt::format("ppm {}", select.every / kParts));
  return {};
}

// Parses the start condition of a burst: a position or a probability. Returns its words.
Result<std::string> parse_burst_begin(Draft &draft, WordReader &words) {
  roce_selector &select = draft.rule.compiled.select;
  if (words.take_if("every")) {
    const std::string word = words.take();
    const auto n = integer(word, 1, UINT32_MAX);
    if (!n)
      return n.error();
    if (n.get() < select.burst_to)
      return Error{fmt::format("every '{}' begins another run before one of {} is over", word,
                               select.burst_to),
                   fmt::format("every {} or more", select.burst_to)};
    select.every = static_cast<uint32_t>(n.get());
    return fmt::format("every {}", select.every);
  }
  if (!words.take_if("probability"))
    return missing("every or probability", words.peek(),
                   hint_from(words.peek(), {"every", "probability"}));
  const auto p = probability(words.take());
  if (!p)
    return p.error();
  select.probability = p.get().fraction();
  draft.rule.chance = true;
  return fmt::format("probability {}", p.get().text());
}

Status parse_burst(Draft &draft, WordReader &words) {
  roce_selector &select = draft.rule.compiled.select;
  const auto length = range(words.take(), 1, UINT32_MAX, "a number of packets");
  if (!length)
    return length.error();
  select.kind = ROCE_SELECT_BURST;
  select.burst_from = length.get().from;
  select.burst_to = length.get().to;
  const auto begin = parse_burst_begin(draft, words);
  if (!begin)
    return begin.error();
  draft.rule.chance |= select.burst_from != select.burst_to;
  draft.say(Slot::Select, fmt::format("burst {} {}", range_text(length.get()), begin.get()));
  return {};
}

// Same parameters as netem: gemodel p [r [1-h [1-k]]].
Status parse_gilbert(Draft &draft, WordReader &words) {
  roce_selector &select = draft.rule.compiled.select;
  std::array<__u64 *, 4> fields = {&select.probability, &select.bad_to_good, &select.loss_bad,
                                   &select.loss_good};
  std::string text = "gilbert";
  for (size_t i = 0; i < fields.size(); i++) {
    if (i && !looks_like_number(words.peek()))
      break;
    const auto p = probability(words.take());
    if (!p)
      return p.error();
    *fields[i] = p.get().fraction();
    text += fmt::format(" {}", p.get().text());
    if (i == 0) {
      select.bad_to_good = fraction(1 - p.get().p());
      select.loss_bad = UINT64_MAX;
    }
  }
  select.kind = ROCE_SELECT_GILBERT;
  draft.rule.chance = true;
  draft.say(Slot::Select, text);
  return {};
}

Status parse_ber(Draft &draft, WordReader &words) {
  constexpr double kMostPower = 400;
  constexpr long double kHalf = 0.5L;
  const std::string factor_word = words.take(), power_word = words.take();
  const auto factor = real(factor_word, 0, 1e300);
  if (!factor)
    return factor.error();
  const auto power = real(power_word, -kMostPower, kMostPower);
  if (!power || power.get() != std::floor(power.get()))
    return wrong(power_word, "a whole power of ten", "ber 1 -9 is 1e-9");
  const long double ber = factor.get() * std::pow(10.0L, static_cast<long double>(power.get()));
  if (ber >= kHalf)
    return Error{fmt::format("'{} {}' is not a bit error rate below 0.5", factor_word, power_word),
                 "ber 1 -9 is 1e-9"};
  roce_selector &select = draft.rule.compiled.select;
  const long double exponent = std::ldexp(-8 * std::log1p(-ber) / std::log(2.0L), ROCE_BER_SHIFT);
  select.ber_log2 = static_cast<uint64_t>(std::round(exponent));
  if (ber > 0 && !select.ber_log2)
    return Error{fmt::format("'{} {}' is too small to differ from 0", factor_word, power_word),
                 "write ber 1 -14 or more"};
  select.kind = ROCE_SELECT_BER;
  draft.rule.chance = true;
  draft.say(Slot::Select, fmt::format("ber {} {}", factor.get(), power.get()));
  return {};
}

Status parse_continuous(Draft &draft, WordReader &) {
  draft.rule.compiled.select.schedule = ROCE_CONTINUOUS;
  return {};
}

Result<uint64_t> some_time(WordReader &words) {
  const std::string word = words.take();
  auto ns = duration(word);
  if (ns.ok() && !ns.get())
    return wrong(word, "a time longer than nothing", "like 10us, 5ms, 2s or 1m");
  return ns;
}

Status parse_for(Draft &draft, WordReader &words) {
  const auto ns = some_time(words);
  if (!ns)
    return ns.error();
  draft.rule.compiled.select.schedule = ROCE_ONCE;
  draft.rule.compiled.select.duration_ns = ns.get();
  draft.say(Slot::Schedule, fmt::format("for {}", duration_text(ns.get())));
  return {};
}

Status parse_repeat(Draft &draft, WordReader &words) {
  const auto on = some_time(words);
  if (!on)
    return on.error();
  const auto period = some_time(words);
  if (!period)
    return period.error();
  if (on.get() > period.get())
    return Error{fmt::format("'{}' is longer than the period, {}", duration_text(on.get()),
                             duration_text(period.get())),
                 fmt::format("repeat {} {}", duration_text(period.get()), duration_text(on.get()))};
  roce_selector &select = draft.rule.compiled.select;
  select.schedule = ROCE_REPEAT;
  select.duration_ns = on.get();
  select.period_ns = period.get();
  draft.say(Slot::Schedule,
            fmt::format("repeat {} {}", duration_text(on.get()), duration_text(period.get())));
  return {};
}

Status parse_limit(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto n = integer(word, 1, UINT64_MAX);
  if (!n)
    return n.error();
  roce_selector &select = draft.rule.compiled.select;
  select.limit = n.get();
  std::string text = fmt::format("limit {}", n.get());
  if (words.take_if("per")) {
    const auto period = some_time(words);
    if (!period)
      return Error{"per: " + period.error().message, period.error().hint};
    if (n.get() > UINT32_MAX)
      return Error{fmt::format("'{}' is too large for a period", word),
                   fmt::format("at most {}", UINT32_MAX)};
    select.limit_ns = period.get();
    text += fmt::format(" per {}", duration_text(select.limit_ns));
  }
  draft.say(Slot::Limit, text);
  return {};
}

// To add a selector: roce_select in rule.h, select.h, a row here, docs/rules.md; select_test.
constexpr Keyword kSelect[] = {
    {"always", Slot::Select, parse_always, "always"},
    {"every", Slot::Select, parse_every, "every 100"},
    {"ppm", Slot::Select, parse_ppm, "ppm 250: evenly spaced, up to three decimals"},
    {"positions", Slot::Select, parse_positions, "positions 1,5,9"},
    {"probability", Slot::Select, parse_probability, "probability 1%"},
    {"burst", Slot::Select, parse_burst, "burst 3 every 100 or burst 2-5 probability 0.1%"},
    {"gilbert", Slot::Select, parse_gilbert, "gilbert P [R [1-H [1-K]]], like gilbert 1% 20%"},
    {"ber", Slot::Select, parse_ber, "ber 1 -9 is 1e-9"},
    {"distance", Slot::Select, parse_distance, "distance uniform 10 20 or distance table 5,9,30"},
    {"continuous", Slot::Schedule, parse_continuous, "continuous"},
    {"for", Slot::Schedule, parse_for, "for 10s"},
    {"repeat", Slot::Schedule, parse_repeat, "repeat DURATION PERIOD, like repeat 1s 10s"},
    {"limit", Slot::Limit, parse_limit, "limit 100 or limit 100 per 1s"},
    {"shots", Slot::Limit, parse_limit, "shots 100, the same as limit 100"},
};

} // namespace

std::span<const Keyword> select_words() { return kSelect; }

} // namespace xr::impair
