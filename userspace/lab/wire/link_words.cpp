// SPDX-License-Identifier: Apache-2.0
#include "wire/link_words.h"

#include <fmt/format.h>

#include "parse/value.h"
#include "wire/aqm_words.h"

namespace xr::wire {

using namespace parse;

namespace {

using LinkDraft = Draft<LinkSpec>;

constexpr uint64_t kLeastMtu = 68; // of IPv4 (RFC 791)
constexpr uint64_t kMostWeight = 1000;

Status parse_rate(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  spec.rate = XR_TRY(rate(words.take()));
  spec.layer1 = words.take_if("l1");
  if (!spec.layer1)
    words.take_if("l2");
  return {};
}

Status parse_trace_name(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  spec.trace = words.take();
  if (spec.trace.empty())
    return missing("the name of a trace file", "", "trace FILE; each line is a time in ms");
  return {};
}

Status parse_delay(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  spec.delay = XR_TRY(duration(words.take()));
  return {};
}

Status parse_mtu(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  const auto bytes = XR_TRY(integer(words.take(), kLeastMtu, UINT16_MAX, "an MTU"));
  spec.mtu = static_cast<uint32_t>(bytes);
  return {};
}

Status parse_buffer(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  spec.buffer = XR_TRY(byte_count(words.take(), 1));
  return {};
}

Status parse_map(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  constexpr std::string_view kHint = "map DSCP:CLASS,..., like map 26:3,48-55:6";
  uint64_t given = 0;
  const std::string list = words.take();
  for (const std::string &part : parts(list)) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos)
      return wrong(part, "a DSCP with its class", std::string(kHint));
    auto dscps = range(part.substr(0, colon), 0, 63, "a DSCP");
    if (!dscps)
      return Error{dscps.error().message, std::string(kHint)};
    const auto number = integer(part.substr(colon + 1), 0, kLinkClasses - 1, "a class");
    if (!number)
      return Error{number.error().message, std::string(kHint)};
    for (uint32_t dscp = dscps->from; dscp <= dscps->to; dscp++) {
      if (given >> dscp & 1)
        return Error{fmt::format("the map has two classes for DSCP {}", dscp), std::string(kHint)};
      given |= 1ULL << dscp;
      spec.map[dscp] = static_cast<uint8_t>(number.get());
    }
  }
  spec.by_dscp = true;
  return {};
}

Result<uint8_t> parse_priorities(const std::string &list) {
  uint8_t result = 0;
  for (const std::string &part : parts(list)) {
    auto priorities = range(part, 0, kLinkClasses - 1, "a priority");
    if (!priorities)
      return Error{priorities.error().message, "like priorities 3,4 or 0-7"};
    for (uint32_t priority = priorities->from; priority <= priorities->to; priority++)
      result = static_cast<uint8_t>(result | 1U << priority);
  }
  return result;
}

Result<uint64_t> keyword_bytes(WordReader &words, std::string_view keyword) {
  if (!words.take_if(keyword))
    return missing(keyword, words.peek(), "pfc xoff A xon B, like pfc xoff 200k xon 150k");
  return byte_count(words.take(), 0);
}

Status parse_pfc_options(WordReader &words, LinkPfc &pfc) {
  for (;;) {
    if (words.take_if("headroom")) {
      pfc.headroom = XR_TRY(byte_count(words.take(), 0));
    } else if (words.take_if("alpha")) {
      const auto factor = real(words.take(), 0.001, 1000);
      if (!factor)
        return Error{factor.error().message, "XOFF is at most alpha x free buffer, like alpha 0.5"};
      pfc.alpha = factor.get();
    } else if (words.take_if("priorities")) {
      pfc.priorities = XR_TRY(parse_priorities(words.take()));
    } else {
      return {};
    }
  }
}

Status parse_pfc(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  LinkPfc &pfc = spec.pfc;
  const auto xoff = keyword_bytes(words, "xoff");
  if (!xoff)
    return xoff.error();
  const auto xon = keyword_bytes(words, "xon");
  if (!xon)
    return xon.error();
  if (xon.get() > xoff.get())
    return Error{
        fmt::format("xon {} is above xoff {}", byte_text(xon.get()), byte_text(xoff.get())),
        "a queue that has drained to xon resumes: xon is at most xoff"};
  pfc.on = true;
  pfc.xoff = xoff.get();
  pfc.xon = xon.get();
  return parse_pfc_options(words, pfc);
}

Result<uint32_t> percent(const std::string &word, uint64_t least, const char *what) {
  const auto value =
      integer(word.ends_with('%') ? word.substr(0, word.size() - 1) : word, least, 100);
  if (!value)
    return wrong(word, what, fmt::format("from {}% to 100%", least));
  return static_cast<uint32_t>(value.get());
}

Status parse_class(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  const auto number = XR_TRY(integer(words.take(), 0, kLinkClasses - 1, "a class"));
  LinkClass &link_class = spec.classes[number];
  if (link_class.declared)
    return Error{fmt::format("class {} is given twice", number),
                 "all words of a class follow one `class N`"};
  link_class.declared = true;
  if (words.take_if("strict")) {
    link_class.strict = true;
  } else if (words.take_if("weight")) {
    const auto weight = XR_TRY(integer(words.take(), 1, kMostWeight, "a weight"));
    link_class.weight = static_cast<uint32_t>(weight);
  }
  if (words.take_if("share")) {
    link_class.share = XR_TRY(percent(words.take(), 1, "a share of the buffer"));
  }
  if (words.take_if("reserve")) {
    const auto reserve = percent(words.take(), 0, "a reserve of the buffer");
    if (!reserve)
      return reserve.error();
    if (reserve.get() > link_class.share)
      return Error{fmt::format("the reserve of class {}, {}%, is above its share, {}%", number,
                               reserve.get(), link_class.share),
                   "a share is the most that a class can use, a reserve is a part of it"};
    link_class.reserve = reserve.get();
  }
  link_class.own_aqm = XR_TRY(take_aqm(words, link_class.aqm));
  return {};
}

Status parse_flap(LinkDraft &draft, WordReader &words) {
  LinkSpec &spec = draft.spec;
  constexpr std::string_view kHint =
      "flap DOWN every PERIOD [count N] [carrier|drop], like flap 100ms every 5s";
  const auto down = duration(words.take());
  if (!down)
    return Error{down.error().message, std::string(kHint)};
  if (!words.take_if("every"))
    return missing("every", words.peek(), std::string(kHint));
  const auto period = duration(words.take());
  if (!period)
    return Error{period.error().message, std::string(kHint)};
  if (!down.get() || down.get() >= period.get())
    return Error{fmt::format("the link would be down for {} in each {}", duration_text(down.get()),
                             duration_text(period.get())),
                 std::string(kHint)};
  spec.flap = {.down = down.get(), .period = period.get()};
  if (words.take_if("count")) {
    const auto count = XR_TRY(integer(words.take(), 1, UINT32_MAX, "a number of flaps"));
    spec.flap.count = static_cast<uint32_t>(count);
  }
  if (words.take_if("carrier"))
    spec.flap.way = LinkFlap::Way::Carrier;
  else if (words.take_if("drop"))
    spec.flap.way = LinkFlap::Way::Drop;
  return {};
}

// A lossless class must reach xoff without what other classes reserve.
Status check_reserved_pfc(const LinkSpec &spec, uint32_t reserved) {
  for (unsigned i = 0; i < kLinkClasses && spec.pfc.on && reserved; i++) {
    if (!(spec.pfc.priorities >> i & 1))
      continue;
    const uint32_t own = spec.classes[i].declared ? reserve_of(spec, i) : reserve_of_rest(spec);
    const uint64_t most = spec.buffer - spec.buffer / 100 * (reserved - own);
    if (spec.pfc.xoff >= most + spec.pfc.headroom)
      return Error{
          fmt::format("class {} never reaches xoff {}: it can use {} of the buffer, others "
                      "reserve {}",
                      i, byte_text(spec.pfc.xoff), byte_text(most), byte_text(spec.buffer - most)),
          "a larger buffer, a smaller xoff, or smaller reserves: class N reserve 0%"};
  }
  return {};
}

// What does not go together.
Status check(const LinkSpec &spec) {
  if (spec.rate && !spec.trace.empty())
    return Error{"'rate' and 'trace' exclude each other", "a trace is a rate that varies"};
  uint32_t reserved = 0;
  for (unsigned i = 0; i < kLinkClasses; i++)
    reserved += reserve_of(spec, i);
  if (reserved > 100)
    return Error{fmt::format("the classes reserve {}% of the buffer", reserved),
                 "at most 100% together"};
  if (spec.pfc.on && spec.pfc.xoff >= spec.buffer + spec.pfc.headroom)
    return Error{fmt::format("xoff {} is never reached: the buffer has {}",
                             byte_text(spec.pfc.xoff), byte_text(spec.buffer)),
                 "a larger buffer, or a smaller xoff"};
  return check_reserved_pfc(spec, reserved + reserve_of_rest(spec));
}

// Entries that differ from DSCP / 8, neighbours of one class as a range.
Said say_map(const LinkSpec &spec) {
  if (!spec.by_dscp)
    return {};
  constexpr auto kDefault = LinkSpec::default_map();
  std::string text;
  for (unsigned from = 0; from < spec.map.size(); from++) {
    if (spec.map[from] == kDefault[from])
      continue;
    unsigned to = from;
    while (to + 1 < spec.map.size() && spec.map[to + 1] == spec.map[from] &&
           spec.map[to + 1] != kDefault[to + 1])
      to++;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", range_text({from, to}), spec.map[from]);
    from = to;
  }
  return {text.empty() ? fmt::format("0:{}", spec.map[0]) : text};
}

Said say_pfc(const LinkSpec &spec) {
  const LinkPfc &pfc = spec.pfc;
  if (!pfc.on)
    return {};
  std::string text = fmt::format("xoff {} xon {}", byte_text(pfc.xoff), byte_text(pfc.xon));
  if (pfc.headroom)
    text += " headroom " + byte_text(pfc.headroom);
  if (pfc.alpha > 0)
    text += fmt::format(" alpha {}", pfc.alpha);
  if (pfc.priorities == 0xff)
    return {text};
  std::string list;
  for (unsigned priority = 0; priority < kLinkClasses; priority++)
    if (pfc.priorities >> priority & 1)
      list += fmt::format("{}{}", list.empty() ? "" : ",", priority);
  return {text + " priorities " + list};
}

Said say_classes(const LinkSpec &spec) {
  Said all;
  for (unsigned i = 0; i < kLinkClasses; i++) {
    const LinkClass &link_class = spec.classes[i];
    if (!link_class.declared)
      continue;
    std::string text = fmt::format("{} ", i);
    text += link_class.strict ? "strict" : fmt::format("weight {}", link_class.weight);
    if (link_class.share != 100)
      text += fmt::format(" share {}%", link_class.share);
    text += fmt::format(" reserve {}%", reserve_of(spec, i));
    all.push_back(link_class.own_aqm ? text + " " + aqm_text(link_class.aqm) : text);
  }
  return all;
}

Said say_flap(const LinkSpec &spec) {
  const LinkFlap &flap = spec.flap;
  if (!flap.down)
    return {};
  std::string text =
      fmt::format("{} every {}", duration_text(flap.down), duration_text(flap.period));
  if (flap.count)
    text += fmt::format(" count {}", flap.count);
  if (flap.way != LinkFlap::Way::Any)
    text += flap.way == LinkFlap::Way::Carrier ? " carrier" : " drop";
  return {text};
}

// An AQM for the link; each class may have its own.
constexpr std::string_view kAqm = "aqm";
template <size_t kind> Status parse_aqm(LinkDraft &draft, WordReader &words) {
  const std::string word(kAqmWords[kind]);
  if (!draft.taken.claim(kAqm, word))
    return Error{fmt::format("'{}' is a second AQM of the link", word),
                 "one for the link, and one after each `class N`"};
  return read_aqm(word, words, draft.spec.aqm);
}
template <size_t kind> Said say_aqm(const LinkSpec &spec) {
  const std::string text = aqm_text(spec.aqm);
  const size_t space = text.find(' ');
  return text.substr(0, space) == kAqmWords[kind] ? Said{text.substr(space + 1)} : Said();
}

// A word's places are LinkSpec in model/link.h, a row here, and where it acts: link.cpp (the way of
// a frame), link_settings.cpp (changes, flaps, pauses), scheduler.h (classes), shared_buffer.cpp
// (room, PFC that is sent); wire_words_test, wire_link_test, a setting in wire_random_test.
constexpr Word<LinkDraft> kWords[] = {
    {{"rate", "", "", "R [l1|l2]",
      "R of the frames' bytes (`l2`), or with 24 bytes more of each for FCS, preamble and gap "
      "(`l1`)"},
     parse_rate,
     [](const LinkSpec &spec) {
       return say_if(spec.rate, "{}{}", rate_text(spec.rate), spec.layer1 ? " l1" : "");
     },
     [](LinkSpec &spec, const Scale &scale) { scale.rate(spec.rate); }},
    {{"trace", "", "", "FILE", "delivery opportunities of Mahimahi instead of a rate"},
     parse_trace_name,
     [](const LinkSpec &spec) { return say_if(!spec.trace.empty(), "{}", spec.trace); }},
    {{"delay", "", "", "D", "propagation, after a frame has been sent"},
     parse_delay,
     [](const LinkSpec &spec) { return say_if(spec.delay, "{}", duration_text(spec.delay)); },
     [](LinkSpec &spec, const Scale &scale) { scale.time(spec.delay); }},
    {{"mtu", "", "", "N", "the longest IP packet"},
     parse_mtu,
     [](const LinkSpec &spec) { return say_if(spec.mtu, "{}", spec.mtu); }},
    {{"buffer", "", "", "SIZE",
      "of waiting frames, shared by all classes (1M); `class N share PERCENT` limits one class, "
      "`reserve PERCENT` is a part that no other class takes"},
     parse_buffer,
     [](const LinkSpec &spec) { return Said{byte_text(spec.buffer)}; }},
    {{"red", kOwn, "", "KMIN KMAX PMAX [weight W] [drop|ce only] [at enqueue]",
      "AQM: marks CE by the length of the queue that a frame leaves (`at enqueue`: before one that "
      "enters); frames that are not ECN-capable are dropped, or pass with `ce only`; `drop`: all "
      "are dropped"},
     parse_aqm<0>,
     say_aqm<0>,
     [](LinkSpec &spec, const Scale &scale) { scale.time(spec.aqm.freeze); }},
    {{"step", kOwn, "", "K [drop|ce only] [at enqueue]", "the same above K bytes"},
     parse_aqm<1>,
     say_aqm<1>},
    {{"blue", kOwn, "", "[UP DOWN FREEZE] [over K] [drop|ce only] [at enqueue]",
      "the same, by losses and idle times"},
     parse_aqm<2>,
     say_aqm<2>},
    {{"map", "", "", "DSCP:CLASS,...", "classes by DSCP, else DSCP / 8"}, parse_map, say_map},
    {{"pfc", "", "", "xoff A xon B [headroom H] [alpha F] [priorities LIST]",
      "sends PFC frames to the port that fills the queue"},
     parse_pfc,
     say_pfc},
    {{"class", kMany, "", "N [strict|weight W] [share PERCENT] [reserve PERCENT] [AQM]",
      "up to eight classes, by PCP of a tagged frame, else by `map`; weights are of bytes (DWRR). "
      "Reserves are equal parts of 25 % if not given, one of them for the classes that are not "
      "named (with one named class 12 % each, with two 8 %); in a simulated switch, each port has "
      "its part of them"},
     parse_class,
     say_classes,
     [](LinkSpec &spec, const Scale &scale) {
       for (LinkClass &link_class : spec.classes)
         scale.time(link_class.aqm.freeze);
     }},
    {{"flap", "", "", "DOWN every PERIOD [count N] [carrier|drop]",
      "down for DOWN at the end of each PERIOD: see below"},
     parse_flap,
     say_flap,
     [](LinkSpec &spec, const Scale &scale) {
       scale.time(spec.flap.down);
       scale.time(spec.flap.period);
     }},
};

} // namespace

const LinkLanguage &link_language() {
  static const LinkLanguage kLanguage({.thing = "a link",
                                       .example = "",
                                       .yaml_example = "like {rate: 10gbit, delay: 100us}",
                                       .error = "",
                                       .twice = "'{}' is given twice",
                                       .twice_hint = "each word once"},
                                      {{"", kWords}});
  return kLanguage;
}

Result<LinkSpec> parse_link(const std::vector<std::string> &list) {
  WordReader words(list);
  if (words.done())
    return Error{"the words of the link are missing", "like rate 10gbit delay 100us buffer 1M"};
  LinkDraft draft;
  XR_TRY(link_language().read(draft, words));
  LinkSpec &spec = draft.spec;
  XR_TRY(check(spec));
  const LinkSpec given = spec; // defaults depend on the other classes
  for (unsigned i = 0; i < kLinkClasses; i++)
    if (given.classes[i].declared)
      spec.classes[i].reserve = reserve_of(given, i);
  return std::move(spec);
}

std::string link_text(const LinkSpec &spec) { return link_language().text(spec); }

} // namespace xr::wire
