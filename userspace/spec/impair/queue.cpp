// SPDX-License-Identifier: Apache-2.0
// red and police: convert bytes to their transmission time at a rate.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kL1 = 24; // bytes of preamble, FCS and inter-frame gap
constexpr uint64_t kLeastBurst = 64;
constexpr uint64_t kMaxOfKmax = 8;

uint64_t byte_cost(uint64_t bits_per_second) {
  const long double ns = 8e9L / static_cast<long double>(bits_per_second);
  return static_cast<uint64_t>(std::round(std::ldexp(ns, ROCE_QUEUE_SHIFT + ROCE_COST_SHIFT)));
}

// No overflow: at the rates that rate() accepts, the result and the sums in the datapath stay far
// below 2^64.
uint64_t time_of(uint64_t bytes, uint64_t cost) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * cost >> ROCE_COST_SHIFT);
}

struct Red {
  uint64_t low = 0, high = 0, most = 0, rate = 0;
  Probability probability;
  bool force = false;
};

Status parse_thresholds(WordReader &words, Red &red) {
  const std::string low_word = words.take(), high_word = words.take();
  const auto low = byte_count(low_word, 0);
  if (!low)
    return low.error();
  const auto high = byte_count(high_word, 1);
  if (!high)
    return high.error();
  if (low.get() >= high.get())
    return Error{fmt::format("KMIN '{}' is not below KMAX '{}'", low_word, high_word),
                 "red KMIN KMAX PMAX rate RATE, like red 5k 200k 1% rate 10gbit"};
  const auto p = probability(words.take());
  if (!p)
    return p.error();
  red.low = low.get();
  red.high = high.get();
  red.probability = p.get();
  red.most = kMaxOfKmax * red.high;
  return {};
}

// Takes `l1` or `l2`; false: neither is present.
bool take_layer(WordReader &words, roce_queue &queue) {
  if (words.take_if("l1"))
    queue.overhead = kL1;
  else if (words.take_if("l2"))
    queue.overhead = 0;
  else
    return false;
  return true;
}

Status parse_red_options(WordReader &words, Red &red, roce_queue &queue) {
  for (;;) {
    if (words.take_if("force")) {
      red.force = true;
    } else if (words.take_if("max")) {
      const std::string word = words.take();
      const auto most = byte_count(word, red.high);
      if (!most)
        return Error{most.error().message, "max is KMAX or more; 8 times KMAX without it"};
      red.most = most.get();
    } else if (!take_layer(words, queue)) {
      return {};
    }
  }
}

void fill(const Red &red, roce_queue &queue) {
  queue.byte_cost = byte_cost(red.rate);
  queue.low = time_of(red.low, queue.byte_cost);
  queue.high = time_of(red.high, queue.byte_cost);
  queue.most = time_of(red.most, queue.byte_cost);
  // rounded down: the probability at KMAX must not exceed PMAX
  queue.slope = red.probability.fraction() / std::max<uint64_t>(queue.high - queue.low, 1);
}

Result<uint64_t> parse_rate(WordReader &words) {
  if (!words.take_if("rate"))
    return missing("rate", words.peek(), "like red 5k 200k 1% rate 10gbit");
  return rate(words.take());
}

} // namespace

Status parse_red(Draft &draft, WordReader &words) {
  roce_action &action = draft.rule.compiled.action;
  Red red;
  if (Status s = parse_thresholds(words, red); !s)
    return s;
  const auto bits = parse_rate(words);
  if (!bits)
    return bits.error();
  red.rate = bits.get();
  if (Status s = parse_red_options(words, red, action.queue); !s)
    return s;
  fill(red, action.queue);
  action.act |= ROCE_ACT_RED;
  if (red.force)
    action.act |= ROCE_ACT_FORCE;
  draft.rule.chance = true;
  std::string text = fmt::format("red {} {} {} rate {}", byte_text(red.low), byte_text(red.high),
                                 red.probability.text(), rate_text(red.rate));
  text += red.force ? " force" : "";
  text += action.queue.overhead ? " l1" : "";
  if (red.most != kMaxOfKmax * red.high)
    text += " max " + byte_text(red.most);
  draft.say(slot_of(ROCE_ACT_RED), text);
  return {};
}

Status parse_police(Draft &draft, WordReader &words) {
  roce_action &action = draft.rule.compiled.action;
  const auto bits = rate(words.take());
  if (!bits)
    return bits.error();
  if (!words.take_if("burst"))
    return missing("burst", words.peek(), "like police 1gbit burst 64k");
  const auto burst = byte_count(words.take(), kLeastBurst);
  if (!burst)
    return burst.error();
  for (;;) {
    if (words.take_if("excess")) {
      const auto what = choice(words.take(), {"drop", "ce"}, "what excess gets");
      if (!what)
        return what.error();
      draft.excess = what.get() ? ROCE_ACT_CE : ROCE_ACT_DROP;
    } else if (!take_layer(words, action.queue)) {
      break;
    }
  }
  action.queue.byte_cost = byte_cost(bits.get());
  action.queue.low = time_of(burst.get(), action.queue.byte_cost);
  action.act |= ROCE_ACT_POLICE;
  draft.say(slot_of(ROCE_ACT_POLICE),
            fmt::format("police {} burst {}{}", rate_text(bits.get()), byte_text(burst.get()),
                        action.queue.overhead ? " l1" : ""));
  return {};
}

} // namespace xr::impair
