// SPDX-License-Identifier: Apache-2.0
// The words of `send IF pfc ...`.
#include <algorithm>

#include <fmt/format.h>

#include "parse/language.h"
#include "parse/value.h"
#include "requester/pfc.h"

namespace xr::requester {

using parse::WordReader;

namespace {

using PfcDraft = parse::Draft<Pfc>;

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

Status parse_quanta(PfcDraft &draft, WordReader &words) {
  draft.spec.quanta.clear();
  for (const std::string &part : parse::parts(words.take())) {
    const auto quanta = XR_TRY(parse::integer(part, 0, UINT16_MAX, "a number of quanta"));
    draft.spec.quanta.push_back(static_cast<uint16_t>(quanta));
  }
  return {};
}

template <uint64_t Pfc::*member> Status parse_time(PfcDraft &draft, WordReader &words) {
  draft.spec.*member = XR_TRY(parse::duration_above_0(words.take(), "like 1ms"));
  return {};
}

Status parse_line(PfcDraft &draft, WordReader &words) {
  draft.spec.line_bits = XR_TRY(parse::rate(words.take()));
  return {};
}

Status parse_enable(PfcDraft &draft, WordReader &words) {
  const auto vector = parse::integer(words.take(), 0, UINT16_MAX, "a class-enable vector");
  if (!vector)
    return Error{vector.error().message, "like 0x08 for priority 3, or 0 for none"};
  draft.spec.enable = static_cast<uint16_t>(vector.get());
  return {};
}

Status parse_src_mac(PfcDraft &draft, WordReader &words) {
  draft.spec.src_mac = XR_TRY(packet::parse_mac(words.take()));
  return {};
}

Status parse_count(PfcDraft &draft, WordReader &words) {
  draft.spec.count = XR_TRY(parse::integer(words.take(), 1, UINT64_MAX, "a number of frames"));
  return {};
}

Status parse_no_xon(PfcDraft &draft, WordReader &) {
  draft.spec.xon = false;
  return {};
}

Status parse_storm(PfcDraft &, WordReader &) { return {}; }

constexpr parse::Word<PfcDraft> kWords[] = {
    {{"quanta", "", "", "N[,N]", "of all priorities, or of each"}, parse_quanta},
    {{"every", "", "", "T", "a frame in each T"}, parse_time<&Pfc::every_ns>},
    {{"storm", "", "", "", "keeps the peer paused"}, parse_storm},
    {{"line", "", "", "RATE", "the line's rate, for `storm`"}, parse_line},
    {{"enable", "", "", "VECTOR", "the class-enable vector"}, parse_enable},
    {{"src-mac", "", "", "MAC", "the port's by default"}, parse_src_mac},
    {{"no-xon", "", "", "", "the peer is not resumed at the end"}, parse_no_xon},
    {{"count", "", "", "N", "frames"}, parse_count},
    {{"for", "", "", "DURATION", ""}, parse_time<&Pfc::duration_ns>},
};

const parse::Language<PfcDraft> &language() {
  static const parse::Language<PfcDraft> kLanguage({.thing = "pfc",
                                                    .example = "",
                                                    .usage = kUsage,
                                                    .error = "pfc: {}: {}",
                                                    .twice = "pfc: {} is given twice"},
                                                   {{"", kWords}});
  return kLanguage;
}

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

Status check_together(const Pfc &pfc, const parse::Claims &given) {
  const auto has = [&](const char *word) { return given.has(word); };
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
  PfcDraft draft;
  Pfc &pfc = draft.spec;
  pfc.quanta = {UINT16_MAX};
  if (words.done())
    return Error{"pfc: which priorities is missing", kUsage};
  if (!words.take_if("global"))
    pfc.priorities = XR_TRY(parse_priorities(words.take()).in("pfc"));
  XR_TRY(language().read(draft, words));
  XR_TRY(fit_quanta(pfc));
  XR_TRY(check_together(pfc, draft.taken));
  return std::move(pfc);
}

std::string pfc_usage() { return language().usage(0); }

} // namespace xr::requester
