// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/episode_times.h"

namespace xr::report {

void add_summary(Document &document, Summary summary) {
  const std::string text = fmt::format("{}", fmt::join(summary.sentences, " "));
  std::vector<std::vector<Value>> rows;
  for (Fact &fact : summary.facts)
    rows.push_back(
        {std::move(fact.name), std::move(fact.value), std::move(fact.of), std::move(fact.unit)});
  document.sections.push_back(
      {"summary", "",
       Nested{{{{"text", ""}, text}},
              "facts",
              make_table({{"name", ""}, {"value", ""}, {"of", ""}, {"unit", ""}}, std::move(rows))},
       Where::Json});
  std::move(summary.sentences.begin(), summary.sentences.end(),
            std::back_inserter(document.sentences));
}

uint64_t recovery_ns(const roce_episode &e) { return episode_times(e).recovery.value_or(0); }

LongestRecovery longest_recovery(const Episodes &episodes) {
  LongestRecovery longest;
  for (const EpisodeRow &row : episodes.episodes)
    if (const uint64_t ns = recovery_ns(row.episode); ns > longest.ns)
      longest = {&row, ns};
  return longest;
}

} // namespace xr::report
