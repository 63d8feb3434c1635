// SPDX-License-Identifier: Apache-2.0
// Words for the actions that hold frames: delay, accumulate, reorder, shape.
// To add a distribution, or another way to hold frames: model/hold.h, the words here,
// wire/jitter.cpp or wire/hold_rule.cpp; wire_hold_test, wire_hold_random_test, wire_delay.sh.
#include <algorithm>

#include <fmt/format.h>

#include "base/layer1.h"
#include "impair/action_table.h"
#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint64_t kDefaultTimeout = 10'000'000;
constexpr uint64_t kLeastBytes = 64; // of a bucket or a queue: one frame
constexpr double kLeastShape = 1e-3, kMostShape = 1e6;

// A time from `least` to kLongestHold.
Result<uint64_t> time(const std::string &word, uint64_t least, std::string_view expected) {
  auto ns = duration(word);
  if (!ns)
    return ns.error();
  if (ns.get() < least || ns.get() > kLongestHold)
    return wrong(word, fmt::format("{} of {}at most {}", expected, least ? "more than 0s and " : "",
                                   duration_text(kLongestHold)));
  return ns;
}

Status parse_times(WordReader &words, uint64_t &a, uint64_t &b, std::string &text) {
  for (uint64_t *value : {&a, &b}) {
    const auto ns = time(words.take(), 0, "a time");
    if (!ns)
      return ns.error();
    *value = ns.get();
    text += " " + duration_text(*value);
  }
  return {};
}

Status parse_uniform(Hold &hold, WordReader &words, std::string &text) {
  if (Status s = parse_times(words, hold.a, hold.b, text); !s)
    return s;
  if (hold.a <= hold.b)
    return {};
  const std::string low = duration_text(hold.b), high = duration_text(hold.a);
  return Error{fmt::format("'{} {}' goes backwards", high, low),
               fmt::format("uniform {} {}", low, high)};
}

Status parse_gaussian(Hold &hold, WordReader &words, std::string &text) {
  if (Status s = parse_times(words, hold.a, hold.b, text); !s)
    return s;
  if (!hold.b)
    return Error{"SIGMA is 0", "a constant delay needs no jitter"};
  return {};
}

Status parse_poisson(Hold &hold, WordReader &words, std::string &text) {
  const auto mean = time(words.take(), 1, "a mean");
  if (!mean)
    return mean.error();
  hold.a = mean.get();
  text += " " + duration_text(hold.a);
  return {};
}

Status parse_gamma(Hold &hold, WordReader &words, std::string &text) {
  const auto shape = real(words.take(), kLeastShape, kMostShape);
  if (!shape)
    return shape.error();
  const auto scale = time(words.take(), 1, "a scale");
  if (!scale)
    return scale.error();
  hold.shape = shape.get();
  hold.b = scale.get();
  text += fmt::format(" {} {}", hold.shape, duration_text(hold.b));
  if (hold.shape * static_cast<double>(hold.b) > static_cast<double>(kLongestHold))
    return Error{
        fmt::format("the mean, SHAPE x SCALE, is longer than {}", duration_text(kLongestHold)),
        "a smaller SHAPE or SCALE"};
  return {};
}

Status parse_table(Hold &hold, WordReader &words, std::string &text) {
  for (const std::string &part : parts(words.take())) {
    const auto ns = time(part, 0, "a time");
    if (!ns)
      return ns.error();
    text += (hold.table.empty() ? " " : ",") + duration_text(ns.get());
    hold.table.push_back(ns.get());
  }
  if (hold.table.size() > ROCE_RULE_POINTS)
    return Error{fmt::format("the table has {} times", hold.table.size()),
                 fmt::format("{} are possible", ROCE_RULE_POINTS)};
  return {};
}

Status parse_step(Hold &hold, WordReader &words, std::string &text) {
  if (Status s = parse_times(words, hold.a, hold.b, text); !s)
    return s;
  if (!words.take_if("every"))
    return missing("every", words.peek(), "like step 1ms 5ms every 10s");
  const auto every = time(words.take(), 1, "a time");
  if (!every)
    return every.error();
  hold.every_ns = every.get();
  text += " every " + duration_text(hold.every_ns);
  return {};
}

struct Distribution {
  std::string_view name;
  Jitter jitter;
  Status (*parse)(Hold &, WordReader &, std::string &text);
  const char *usage;
};

constexpr Distribution kDistributions[] = {
    {"uniform", Jitter::Uniform, parse_uniform, "uniform LOW HIGH"},
    {"gaussian", Jitter::Gaussian, parse_gaussian, "gaussian MEAN SIGMA"},
    {"poisson", Jitter::Poisson, parse_poisson, "poisson MEAN"},
    {"gamma", Jitter::Gamma, parse_gamma, "gamma SHAPE SCALE"},
    {"table", Jitter::Table, parse_table, "table T,T"},
    {"step", Jitter::Step, parse_step, "step LOW HIGH every T"},
};

std::vector<std::string_view> distribution_names() {
  std::vector<std::string_view> names;
  for (const Distribution &d : kDistributions)
    names.push_back(d.name);
  return names;
}

Status parse_jitter(Draft &draft, WordReader &words, std::string &text) {
  Hold &hold = draft.rule.hold;
  const auto at = choice(words.take(), distribution_names(), "a distribution");
  if (!at)
    return at.error();
  const Distribution &distribution = kDistributions[at.get()];
  text += distribution.name;
  if (Status s = distribution.parse(hold, words, text); !s)
    return Error{s.error().message, s.error().hint.empty() ? distribution.usage : s.error().hint};
  hold.jitter = distribution.jitter;
  draft.rule.chance |= hold.jitter != Jitter::Step;
  hold.unordered = words.take_if("unordered");
  text += hold.unordered ? " unordered" : "";
  return {};
}

// Stores the action and its canonical text.
Status done(Draft &draft, uint32_t act, Hold::Kind kind, std::string text) {
  draft.rule.hold.kind = kind;
  draft.rule.compiled.action.act |= act;
  draft.say(slot_of(act), std::move(text));
  return {};
}

Result<uint32_t> count(WordReader &words, uint32_t from, uint32_t to) {
  const auto n = integer(words.take(), from, to, "a number of frames");
  if (!n)
    return n.error();
  return static_cast<uint32_t>(n.get());
}

Status parse_timeout(Hold &hold, WordReader &words, std::string &text) {
  hold.timeout_ns = kDefaultTimeout;
  if (!words.take_if("timeout"))
    return {};
  const auto ns = time(words.take(), 1, "a timeout");
  if (!ns)
    return ns.error();
  hold.timeout_ns = ns.get();
  if (hold.timeout_ns != kDefaultTimeout)
    text += " timeout " + duration_text(hold.timeout_ns);
  return {};
}

Status parse_turns(Hold &hold, WordReader &words, std::string &text) {
  const auto skip = count(words, 0, UINT32_MAX);
  if (!skip)
    return skip.error();
  if (!words.take_if("take"))
    return missing("take", words.peek(), "like reorder skip 100 take 2 hold 5");
  const auto take = count(words, 1, kMostHeld);
  if (!take)
    return take.error();
  if (!words.take_if("hold"))
    return missing("hold", words.peek(), "like reorder skip 100 take 2 hold 5");
  const auto pass = count(words, 1, kMostHeld);
  if (!pass)
    return pass.error();
  if (take.get() + pass.get() > kMostHeld)
    return Error{fmt::format("take {} and hold {} are more than {} together", take.get(),
                             pass.get(), kMostHeld),
                 "fewer frames"};
  hold.skip = skip.get();
  hold.frames = take.get();
  hold.pass = pass.get();
  text = fmt::format("reorder skip {} take {} hold {}", hold.skip, hold.frames, hold.pass);
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
  for (const Distribution &distribution : kDistributions)
    list += fmt::format("{}{}", list.empty() ? "" : "|", distribution.usage);
  return list;
}

// delay T, delay T jitter DIST, or delay DIST.
Status parse_delay(Draft &draft, WordReader &words) {
  Hold &hold = draft.rule.hold;
  std::string text;
  const auto names = distribution_names();
  const bool jitter_only = std::find(names.begin(), names.end(), words.peek()) != names.end();
  if (!jitter_only) {
    const auto ns = time(words.take(), 0, "a delay");
    if (!ns)
      return ns.error();
    hold.delay_ns = ns.get();
  }
  if (jitter_only || words.take_if("jitter"))
    if (Status s = parse_jitter(draft, words, text); !s)
      return s;
  if (hold.delay_ns || text.empty())
    text = duration_text(hold.delay_ns) + (text.empty() ? "" : " jitter ") + text;
  return done(draft, ROCE_ACT_DELAY, Hold::Kind::Delay, "delay " + text);
}

Status parse_accumulate(Draft &draft, WordReader &words) {
  Hold &hold = draft.rule.hold;
  std::string text;
  const std::string &word = words.peek();
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
    const auto frames = count(words, 1, kMostAccumulated);
    if (!frames)
      return frames.error();
    hold.frames = frames.get();
    text = fmt::format("accumulate {}", hold.frames);
    if (Status s = parse_timeout(hold, words, text); !s)
      return s;
  } else {
    const auto ns = time(words.take(), 1, "a time");
    if (!ns)
      return ns.error();
    hold.timeout_ns = ns.get();
    text = "accumulate " + duration_text(hold.timeout_ns);
  }
  return done(draft, ROCE_ACT_ACCUMULATE, Hold::Kind::Accumulate, text);
}

Status parse_reorder(Draft &draft, WordReader &words) {
  Hold &hold = draft.rule.hold;
  std::string text;
  if (words.take_if("depth")) {
    const auto depth = count(words, 1, kMostHeld);
    if (!depth)
      return depth.error();
    hold.depth = depth.get();
    text = fmt::format("reorder depth {}", hold.depth);
  } else if (!words.take_if("skip")) {
    return missing("depth or skip", words.peek(), hint_from(words.peek(), {"depth", "skip"}));
  } else if (Status s = parse_turns(hold, words, text); !s) {
    return s;
  }
  if (Status s = parse_timeout(hold, words, text); !s)
    return s;
  return done(draft, ROCE_ACT_REORDER, Hold::Kind::Reorder, text);
}

Status parse_shape(Draft &draft, WordReader &words) {
  Hold &hold = draft.rule.hold;
  const auto bits = rate(words.take());
  if (!bits)
    return bits.error();
  hold.rate = bits.get();
  take_layer(words, hold);
  const auto burst = size(words, "burst");
  if (!burst)
    return burst.error();
  const auto queue = size(words, "queue");
  if (!queue)
    return queue.error();
  hold.burst = burst.get();
  hold.queue = queue.get();
  take_layer(words, hold);
  return done(draft, ROCE_ACT_SHAPE, Hold::Kind::Shape,
              fmt::format("shape {}{} burst {} queue {}", rate_text(hold.rate),
                          hold.overhead ? " l1" : "", byte_text(hold.burst),
                          byte_text(hold.queue)));
}

} // namespace xr::impair
