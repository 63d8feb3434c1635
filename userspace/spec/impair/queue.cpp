// SPDX-License-Identifier: Apache-2.0
// Words of red and police.
#include <fmt/format.h>

#include "impair/draft.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint64_t kLeastBurst = 64;

Status parse_thresholds(WordReader &words, Red &red) {
  const std::string low_word = words.take(), high_word = words.take();
  red.low = XR_TRY(byte_count(low_word, 0));
  red.high = XR_TRY(byte_count(high_word, 1));
  if (red.low >= red.high)
    return Error{fmt::format("KMIN '{}' is not below KMAX '{}'", low_word, high_word),
                 "red KMIN KMAX PMAX rate RATE, like red 5k 200k 1% rate 10gbit"};
  red.probability = XR_TRY(probability(words.take()));
  red.most = kMaxOfKmax * red.high;
  return {};
}

// Takes `l1` or `l2`; false: neither is present.
bool take_layer(WordReader &words, bool &l1) {
  if (words.take_if("l1"))
    l1 = true;
  else if (words.take_if("l2"))
    l1 = false;
  else
    return false;
  return true;
}

Status parse_red_options(WordReader &words, Actions &actions) {
  Red &red = actions.red;
  for (;;) {
    if (words.take_if("force")) {
      actions.bits |= ROCE_ACT_FORCE;
    } else if (words.take_if("max")) {
      const auto most = byte_count(words.take(), red.high);
      if (!most)
        return Error{most.error().message, "max is KMAX or more; 8 times KMAX without it"};
      red.most = most.get();
    } else if (!take_layer(words, red.l1)) {
      return {};
    }
  }
}

} // namespace

Status parse_red(Draft &draft, WordReader &words) {
  Actions &actions = draft.spec.actions;
  XR_TRY(parse_thresholds(words, actions.red));
  if (!words.take_if("rate"))
    return missing("rate", words.peek(), "like red 5k 200k 1% rate 10gbit");
  actions.red.rate = XR_TRY(rate(words.take()));
  XR_TRY(parse_red_options(words, actions));
  actions.bits |= ROCE_ACT_RED;
  return {};
}

Status parse_police(Draft &draft, WordReader &words) {
  Police &police = draft.spec.actions.police;
  police.rate = XR_TRY(rate(words.take()));
  if (!words.take_if("burst"))
    return missing("burst", words.peek(), "like police 1gbit burst 64k");
  police.burst = XR_TRY(byte_count(words.take(), kLeastBurst));
  for (;;) {
    if (words.take_if("excess")) {
      const auto what = XR_TRY(choice(words.take(), {"drop", "ce"}, "what excess gets"));
      draft.excess = what ? ROCE_ACT_CE : ROCE_ACT_DROP;
    } else if (!take_layer(words, police.l1)) {
      break;
    }
  }
  draft.spec.actions.bits |= ROCE_ACT_POLICE;
  return {};
}

} // namespace xr::impair
