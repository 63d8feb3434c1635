// SPDX-License-Identifier: Apache-2.0
#include "wire/aqm_words.h"

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::wire {

using namespace parse;

namespace {

// One setting of the experiments of Feng et al.
constexpr double kBlueUp = 0.0025, kBlueDown = 0.00025;
constexpr uint64_t kBlueFreeze = 100'000'000;

Result<double> chance(WordReader &words) {
  const auto p = XR_TRY(probability(words.take()));
  return static_cast<double>(p.p());
}

Status parse_red(WordReader &words, LinkAqm &aqm) {
  const std::string low_word = words.take(), high_word = words.take();
  const auto low = byte_count(low_word, 0);
  if (!low)
    return Error{low.error().message, "red KMIN KMAX PMAX, like red 5k 200k 1%"};
  const auto high = byte_count(high_word, 1);
  if (!high)
    return Error{high.error().message, "red KMIN KMAX PMAX, like red 5k 200k 1%"};
  if (low.get() >= high.get())
    return Error{fmt::format("KMIN '{}' is not below KMAX '{}'", low_word, high_word),
                 "red KMIN KMAX PMAX, like red 5k 200k 1%"};
  const auto most = XR_TRY(chance(words));
  aqm.low = low.get();
  aqm.high = high.get();
  aqm.most = most;
  if (!words.take_if("weight"))
    return {};
  const std::string word = words.take();
  const auto weight = probability(word);
  if (!weight || weight.get().p() <= 0)
    return wrong(word, "the weight of RED's average",
                 "above 0 and up to 1, like 0.002; the weight of a class is before its red");
  aqm.weight = static_cast<double>(weight.get().p());
  return {};
}

Status parse_step(WordReader &words, LinkAqm &aqm) {
  const auto length = byte_count(words.take(), 0);
  if (!length)
    return Error{length.error().message, "step K marks above K bytes, like step 65k"};
  aqm.low = length.get();
  return {};
}

Status parse_blue(WordReader &words, LinkAqm &aqm) {
  aqm.up = kBlueUp;
  aqm.down = kBlueDown;
  aqm.freeze = kBlueFreeze;
  if (looks_like_number(words.peek())) {
    const auto up = XR_TRY(chance(words));
    const auto down = XR_TRY(chance(words));
    const auto freeze = XR_TRY(duration(words.take()));
    aqm.up = up;
    aqm.down = down;
    aqm.freeze = freeze;
  }
  if (words.take_if("over")) {
    aqm.low = XR_TRY(byte_count(words.take(), 1));
  }
  return {};
}

Status parse_options(WordReader &words, LinkAqm &aqm) {
  for (;;) {
    if (words.take_if("drop")) {
      aqm.drop = true;
    } else if (words.take_if("ce")) {
      if (!words.take_if("only"))
        return missing("only", words.peek(), "`ce only`: frames that cannot be marked pass");
      aqm.ce_only = true;
    } else if (words.take_if("at")) {
      const auto where =
          XR_TRY(choice(words.take(), {"dequeue", "enqueue"}, "where the AQM decides"));
      aqm.at_enqueue = where == 1;
    } else {
      break;
    }
  }
  if (aqm.drop && aqm.ce_only)
    return Error{"`drop` and `ce only` exclude each other",
                 "drop: no frame is marked; ce only: none is dropped"};
  return {};
}

} // namespace

Status read_aqm(std::string_view kind, WordReader &words, LinkAqm &aqm) {
  LinkAqm read;
  if (kind == "red") {
    read.kind = LinkAqm::Kind::Red;
    XR_TRY(parse_red(words, read));
  } else if (kind == "step") {
    read.kind = LinkAqm::Kind::Step;
    XR_TRY(parse_step(words, read));
  } else {
    read.kind = LinkAqm::Kind::Blue;
    XR_TRY(parse_blue(words, read));
  }
  XR_TRY(parse_options(words, read));
  aqm = read;
  return {};
}

Result<bool> take_aqm(WordReader &words, LinkAqm &aqm) {
  for (const std::string_view kind : kAqmWords)
    if (words.take_if(kind)) {
      XR_TRY(read_aqm(kind, words, aqm));
      return true;
    }
  return false;
}

std::string aqm_text(const LinkAqm &aqm) {
  std::string text;
  switch (aqm.kind) {
  case LinkAqm::Kind::None:
    return "";
  case LinkAqm::Kind::Red:
    text = fmt::format("red {} {} {}", byte_text(aqm.low), byte_text(aqm.high), aqm.most);
    if (aqm.weight < 1)
      text += fmt::format(" weight {}", aqm.weight);
    break;
  case LinkAqm::Kind::Step:
    text = "step " + byte_text(aqm.low);
    break;
  case LinkAqm::Kind::Blue:
    text = fmt::format("blue {} {} {}", aqm.up, aqm.down, duration_text(aqm.freeze));
    if (aqm.low)
      text += " over " + byte_text(aqm.low);
    break;
  }
  text += aqm.drop ? " drop" : "";
  text += aqm.ce_only ? " ce only" : "";
  text += aqm.at_enqueue ? " at enqueue" : "";
  return text;
}

} // namespace xr::wire
