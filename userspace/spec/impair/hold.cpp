// SPDX-License-Identifier: Apache-2.0
// Words for the actions that hold frames: delay, accumulate, reorder, shape.
// To add a distribution, or another way to hold frames: model/hold.h, the words here,
// wire/jitter.cpp or wire/hold_rule.cpp; wire_hold_test, wire_hold_random_test, wire_delay.sh.
#include <algorithm>

#include <fmt/format.h>

#include "base/layer1.h"
#include "impair/action_table.h"
#include "impair/draft.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint64_t kLeastBytes = 64; // of a bucket or a queue: one frame
constexpr double kLeastShape = 1e-3, kMostShape = 1e6;

// A time from `least` to kLongestHold.
Result<uint64_t> time(const std::string &word, uint64_t least, std::string_view expected) {
  const auto ns = XR_TRY(duration(word));
  if (ns < least || ns > kLongestHold)
    return wrong(word, fmt::format("{} of {}at most {}", expected, least ? "more than 0s and " : "",
                                   duration_text(kLongestHold)));
  return ns;
}

Status parse_times(WordReader &words, uint64_t &a, uint64_t &b) {
  for (uint64_t *value : {&a, &b})
    *value = XR_TRY(time(words.take(), 0, "a time"));
  return {};
}

Status parse_uniform(Hold &hold, WordReader &words) {
  XR_TRY(parse_times(words, hold.a, hold.b));
  if (hold.a <= hold.b)
    return {};
  const std::string low = duration_text(hold.b), high = duration_text(hold.a);
  return Error{fmt::format("'{} {}' goes backwards", high, low),
               fmt::format("uniform {} {}", low, high)};
}

Status parse_gaussian(Hold &hold, WordReader &words) {
  XR_TRY(parse_times(words, hold.a, hold.b));
  if (!hold.b)
    return Error{"SIGMA is 0", "a constant delay needs no jitter"};
  return {};
}

Status parse_poisson(Hold &hold, WordReader &words) {
  hold.a = XR_TRY(time(words.take(), 1, "a mean"));
  return {};
}

Status parse_gamma(Hold &hold, WordReader &words) {
  hold.shape = XR_TRY(real(words.take(), kLeastShape, kMostShape));
  hold.b = XR_TRY(time(words.take(), 1, "a scale"));
  if (hold.shape * static_cast<double>(hold.b) > static_cast<double>(kLongestHold))
    return Error{
        fmt::format("the mean, SHAPE x SCALE, is longer than {}", duration_text(kLongestHold)),
        "a smaller SHAPE or SCALE"};
  return {};
}

Status parse_jitter_table(Hold &hold, WordReader &words) {
  for (const std::string &part : parts(words.take()))
    hold.table.push_back(XR_TRY(time(part, 0, "a time")));
  if (hold.table.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("the table has {} times", hold.table.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  return {};
}

Status parse_step(Hold &hold, WordReader &words) {
  XR_TRY(parse_times(words, hold.a, hold.b));
  if (!words.take_if("every"))
    return missing("every", words.peek(), "like step 1ms 5ms every 10s");
  hold.every_ns = XR_TRY(time(words.take(), 1, "a time"));
  return {};
}

struct JitterRow {
  std::string_view name;
  Jitter jitter;
  Status (*parse)(Hold &, WordReader &);
  const char *usage;
};

constexpr JitterRow kJitters[] = {
    {"uniform", Jitter::Uniform, parse_uniform, "uniform LOW HIGH"},
    {"gaussian", Jitter::Gaussian, parse_gaussian, "gaussian MEAN SIGMA"},
    {"poisson", Jitter::Poisson, parse_poisson, "poisson MEAN"},
    {"gamma", Jitter::Gamma, parse_gamma, "gamma SHAPE SCALE"},
    {"table", Jitter::Table, parse_jitter_table, "table T,T"},
    {"step", Jitter::Step, parse_step, "step LOW HIGH every T"},
};

std::vector<std::string_view> distribution_names() {
  std::vector<std::string_view> names;
  for (const JitterRow &d : kJitters)
    names.push_back(d.name);
  return names;
}

Status parse_jitter(Hold &hold, WordReader &words) {
  const auto at = XR_TRY(choice(words.take(), distribution_names(), "a distribution"));
  const JitterRow &distribution = kJitters[at];
  if (Status s = distribution.parse(hold, words); !s)
    return Error{s.error().message, s.error().hint.empty() ? distribution.usage : s.error().hint};
  hold.jitter = distribution.jitter;
  hold.unordered = words.take_if("unordered");
  return {};
}

Hold &hold_of(Draft &draft, uint32_t act, Hold::Kind kind) {
  draft.spec.actions.bits |= act;
  draft.spec.hold.kind = kind;
  return draft.spec.hold;
}

Result<uint32_t> count(WordReader &words, uint32_t from, uint32_t to) {
  return static_cast<uint32_t>(XR_TRY(integer(words.take(), from, to, "a number of frames")));
}

Status parse_timeout(Hold &hold, WordReader &words) {
  hold.timeout_ns = kDefaultHoldTimeout;
  if (words.take_if("timeout"))
    hold.timeout_ns = XR_TRY(time(words.take(), 1, "a timeout"));
  return {};
}

Status parse_turns(Hold &hold, WordReader &words) {
  hold.skip = XR_TRY(count(words, 0, UINT32_MAX));
  if (!words.take_if("take"))
    return missing("take", words.peek(), "like reorder skip 100 take 2 hold 5");
  hold.frames = XR_TRY(count(words, 1, kMostHeld));
  if (!words.take_if("hold"))
    return missing("hold", words.peek(), "like reorder skip 100 take 2 hold 5");
  hold.pass = XR_TRY(count(words, 1, kMostHeld));
  if (hold.frames + hold.pass > kMostHeld)
    return Error{fmt::format("take {} and hold {} are more than {} together", hold.frames,
                             hold.pass, kMostHeld),
                 "fewer frames"};
  return {};
}

Result<uint64_t> size(WordReader &words, std::string_view keyword) {
  if (!words.take_if(keyword))
    return missing(keyword, words.peek(), "like shape 1gbit burst 16k queue 1M");
  return byte_count(words.take(), kLeastBytes);
}

// Takes `l1` or `l2`, before `burst` or at the end.
void take_layer(WordReader &words, Hold &hold) {
  if (words.take_if("l1"))
    hold.overhead = kLayer1Bytes;
  else if (words.take_if("l2"))
    hold.overhead = 0;
}

} // namespace

std::string jitter_list() {
  std::string list;
  for (const JitterRow &distribution : kJitters)
    list += fmt::format("{}{}", list.empty() ? "" : "|", distribution.usage);
  return list;
}

std::string_view jitter_name(Jitter jitter) {
  return std::ranges::find(kJitters, jitter, &JitterRow::jitter)->name;
}

// delay T, delay T jitter DIST, or delay DIST.
Status parse_delay(Draft &draft, WordReader &words) {
  Hold &hold = hold_of(draft, ROCE_ACT_DELAY, Hold::Kind::Delay);
  const auto names = distribution_names();
  const bool jitter_only = std::find(names.begin(), names.end(), words.peek()) != names.end();
  if (!jitter_only)
    hold.delay_ns = XR_TRY(time(words.take(), 0, "a delay"));
  if (jitter_only || words.take_if("jitter"))
    XR_TRY(parse_jitter(hold, words));
  return {};
}

Status parse_accumulate(Draft &draft, WordReader &words) {
  Hold &hold = hold_of(draft, ROCE_ACT_ACCUMULATE, Hold::Kind::Accumulate);
  const std::string &word = words.peek();
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) {
    hold.timeout_ns = XR_TRY(time(words.take(), 1, "a time"));
    return {};
  }
  hold.frames = XR_TRY(count(words, 1, kMostAccumulated));
  return parse_timeout(hold, words);
}

Status parse_reorder(Draft &draft, WordReader &words) {
  Hold &hold = hold_of(draft, ROCE_ACT_REORDER, Hold::Kind::Reorder);
  if (words.take_if("depth"))
    hold.depth = XR_TRY(count(words, 1, kMostHeld));
  else if (!words.take_if("skip"))
    return missing("depth or skip", words.peek(), hint_from(words.peek(), {"depth", "skip"}));
  else
    XR_TRY(parse_turns(hold, words));
  return parse_timeout(hold, words);
}

Status parse_shape(Draft &draft, WordReader &words) {
  Hold &hold = hold_of(draft, ROCE_ACT_SHAPE, Hold::Kind::Shape);
  hold.rate = XR_TRY(rate(words.take()));
  take_layer(words, hold);
  hold.burst = XR_TRY(size(words, "burst"));
  hold.queue = XR_TRY(size(words, "queue"));
  take_layer(words, hold);
  return {};
}

} // namespace xr::impair
