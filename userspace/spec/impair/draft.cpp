// SPDX-License-Identifier: Apache-2.0
#include "impair/draft.h"

#include <fmt/format.h>

#include "impair/action_table.h"

namespace xr::impair {

Slot slot_of(uint32_t act) {
  size_t row = 0;
  for (const Action &action : actions()) {
    if ((action.bit | action.among) & act)
      break;
    row++;
  }
  return static_cast<Slot>(static_cast<size_t>(Slot::Action) + row);
}

Status Draft::claim(Slot slot, const std::string &word) {
  std::string &by = keyword[static_cast<size_t>(slot)];
  if (by == word)
    return Error{"is given twice", "a second rule can have the second one"};
  if (!by.empty())
    return Error{fmt::format("there is {} already", by), "a rule has one of them"};
  by = word;
  return {};
}

} // namespace xr::impair
