// SPDX-License-Identifier: Apache-2.0
// The words of `send IF pfc ...`.
#include <algorithm>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"
#include "requester/pfc.h"

namespace xr::requester {

using parse::WordReader;
using parse::wrong;

namespace {

constexpr const char *kUsage = "pfc 3 quanta 65535 storm line 100gbit, or pfc 3,4 every 1ms";

Result<std::vector<unsigned>> parse_priorities(const std::string &word) {
  std::vector<unsigned> all;
  for (const std::string &part : parse::parts(word)) {
    auto range = parse::range(part, 0, packet::kPriorities - 1, "a priority");
    if (!range)
      return Error{range.error().message, "3, 3,4, 0-7 or global"};
    for (uint32_t priority = range->from; priority <= range->to; priority++) {
      if (std::find(all.begin(), all.end(), priority) != all.end())
        return Error{fmt::format("priority {} is given twice in '{}'", priority, word),
                     "remove one of them"};
      all.push_back(priority);
    }
  }
  return all;
}

Status parse_quanta(Pfc &pfc, WordReader &words) {
  pfc.quanta.clear();
  for (const std::string &part : parse::parts(words.take())) {
    const auto quanta = XR_TRY(parse::integer(part, 0, UINT16_MAX, "a number of quanta"));
    pfc.quanta.push_back(static_cast<uint16_t>(quanta));
  }
  return {};
}

Result<uint64_t> some_time(WordReader &words) {
  const std::string word = words.take();
  auto ns = parse::duration(word);
  if (ns && !ns.get())
    return wrong(word, "a duration above 0", "like 1ms");
  return ns;
}

template <uint64_t Pfc::*member> Status parse_time(Pfc &pfc, WordReader &words) {
  const auto ns = XR_TRY(some_time(words));
  pfc.*member = ns;
  return {};
}

Status parse_line(Pfc &pfc, WordReader &words) {
  pfc.line_bits = XR_TRY(parse::rate(words.take()));
  return {};
}

Status parse_enable(Pfc &pfc, WordReader &words) {
  const auto vector = parse::integer(words.take(), 0, UINT16_MAX, "a class-enable vector");
  if (!vector)
    return Error{vector.error().message, "like 0x08 for priority 3, or 0 for none"};
  pfc.enable = static_cast<uint16_t>(vector.get());
  return {};
}

Status parse_src_mac(Pfc &pfc, WordReader &words) {
  pfc.src_mac = XR_TRY(packet::parse_mac(words.take()));
  return {};
}

Status parse_count(Pfc &pfc, WordReader &words) {
  pfc.count = XR_TRY(parse::integer(words.take(), 1, UINT64_MAX, "a number of frames"));
  return {};
}

Status parse_no_xon(Pfc &pfc, WordReader &) {
  pfc.xon = false;
  return {};
}

Status parse_storm(Pfc &, WordReader &) { return {}; }

struct Keyword {
  const char *name;
  Status (*parse)(Pfc &, WordReader &);
};
// To add a word: pfc.h, a row here, pfc.cpp; help in cli/send.cpp; pfc_test, send_pfc.sh.
constexpr Keyword kWords[] = {{"quanta", parse_quanta},
                              {"every", parse_time<&Pfc::every_ns>},
                              {"storm", parse_storm},
                              {"line", parse_line},
                              {"enable", parse_enable},
                              {"src-mac", parse_src_mac},
                              {"no-xon", parse_no_xon},
                              {"count", parse_count},
                              {"for", parse_time<&Pfc::duration_ns>}};

Status fit_quanta(Pfc &pfc) {
  const size_t wanted = std::max<size_t>(pfc.priorities.size(), 1);
  if (pfc.quanta.size() == 1)
    pfc.quanta.resize(wanted, pfc.quanta.front());
  if (pfc.quanta.size() != wanted)
    return Error{fmt::format("pfc: {} values of quanta for {} {}", pfc.quanta.size(), wanted,
                             wanted == 1 ? "priority" : "priorities"),
                 "one for all, or one for each"};
  return {};
}

Status check_together(const Pfc &pfc, const std::vector<std::string> &seen) {
  const auto has = [&](const char *word) {
    return std::find(seen.begin(), seen.end(), word) != seen.end();
  };
  if (has("every") == has("storm"))
    return Error{has("every") ? "pfc: every and storm contradict each other"
                              : "pfc: when is not said",
                 "every 1ms, or storm"};
  if (pfc.priorities.empty() && has("enable"))
    return Error{"pfc: a global PAUSE frame has no class-enable vector", "without enable"};
  if (has("storm") && *std::min_element(pfc.quanta.begin(), pfc.quanta.end()) == 0)
    return Error{"pfc: quanta 0 pauses nothing, so there is nothing to refresh", "every 1ms"};
  return {};
}

} // namespace

Result<Pfc> parse_pfc(const std::vector<std::string> &list) {
  WordReader words(list);
  words.take(); // pfc
  Pfc pfc;
  pfc.quanta = {UINT16_MAX};
  if (words.done())
    return Error{"pfc: which priorities is missing", kUsage};
  if (!words.take_if("global")) {
    auto priorities = parse_priorities(words.take()).in("pfc");
    if (!priorities)
      return priorities.error();
    pfc.priorities = std::move(priorities.get());
  }
  std::vector<std::string> seen;
  while (!words.done()) {
    const std::string word = words.take();
    const auto *keyword = std::find_if(std::begin(kWords), std::end(kWords),
                                       [&](const Keyword &item) { return item.name == word; });
    if (keyword == std::end(kWords)) {
      std::vector<std::string_view> names;
      for (const Keyword &entry : kWords)
        names.emplace_back(entry.name);
      return wrong(word, "a word of pfc", parse::hint_from(word, names));
    }
    if (std::find(seen.begin(), seen.end(), word) != seen.end())
      return Error{fmt::format("pfc: {} is given twice", word), "remove one of them"};
    seen.push_back(word);
    if (Status s = keyword->parse(pfc, words); !s)
      return Error{fmt::format("pfc: {}: {}", word, s.error().message),
                   s.error().hint.empty() ? kUsage : s.error().hint};
  }
  XR_TRY(fit_quanta(pfc));
  XR_TRY(check_together(pfc, seen));
  return pfc;
}

} // namespace xr::requester
