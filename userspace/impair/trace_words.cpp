// SPDX-License-Identifier: Apache-2.0
#include "impair/trace_words.h"

#include <fmt/format.h>

#include "impair/action_table.h"

namespace xr::impair {

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

} // namespace xr::impair
