// SPDX-License-Identifier: Apache-2.0
#include "impair/trace_words.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "impair/action_table.h"

namespace xr::impair {

namespace {

constexpr std::string_view kRule = "rule ";

// Calls f for each part of `text`.
template <typename F> void each_part(std::string_view text, std::string_view between, F f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(between), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + between.size(), text.size()));
  }
}

uint32_t acts_of(std::string_view did) {
  uint32_t acts = 0;
  each_part(did, ", ", [&](std::string_view word) {
    for (const Action &action : actions())
      if (action.did && word == action.did)
        acts |= action.bit;
  });
  return acts;
}

} // namespace

std::string trace_words(const roce_trace &trace) {
  if (!trace.act)
    return fmt::format("rule {}: no action", trace.rule);
  std::string did;
  const auto say = [&](uint32_t acts) {
    for (const Action &action : actions())
      if (trace.act & action.bit & acts && action.did)
        did += fmt::format("{}{}", did.empty() ? "" : ", ", action.did);
  };
  // the action that ended it comes last
  say(~static_cast<uint32_t>(ROCE_ACT_DROP | ROCE_ACT_POLICE));
  say(ROCE_ACT_DROP);
  say(ROCE_ACT_POLICE);
  return fmt::format("rule {}: {}", trace.rule, did);
}

std::optional<TracedRule> traced_rule(std::string_view comment) {
  std::optional<TracedRule> traced;
  each_part(comment, "; ", [&](std::string_view part) {
    if (!part.starts_with(kRule))
      return;
    part.remove_prefix(kRule.size());
    TracedRule rule;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), rule.rule);
    part.remove_prefix(static_cast<size_t>(end - part.data()));
    if (error != std::errc() || !part.starts_with(": "))
      return;
    rule.did = part.substr(2);
    rule.act = acts_of(rule.did);
    traced = std::move(rule);
  });
  return traced;
}

Passage passage_of(std::string_view comment) {
  Passage passage;
  each_part(comment, "; ", [&](std::string_view part) {
    passage.lost = passage.lost || part == "gone" || part.starts_with("gone: ") ||
                   part == "sent back as a CNP";
    passage.unknown = passage.unknown || part == "its outcome was lost";
  });
  if (const auto rule = traced_rule(comment); rule && !passage.lost) {
    passage.damaged = rule->act & ROCE_ACTS_CORRUPT;
    passage.marked = rule->act & ROCE_ACT_CE;
  }
  return passage;
}

} // namespace xr::impair
