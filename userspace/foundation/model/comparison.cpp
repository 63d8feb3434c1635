// SPDX-License-Identifier: Apache-2.0
#include "model/comparison.h"

#include <algorithm>

namespace xr {

void ComparedCounts::add(const ComparedCounts &other) {
  for (uint64_t ComparedCounts::*member :
       {&ComparedCounts::seen_from, &ComparedCounts::seen_to, &ComparedCounts::matched,
        &ComparedCounts::lost, &ComparedCounts::duplicated, &ComparedCounts::reordered,
        &ComparedCounts::ce, &ComparedCounts::ecn, &ComparedCounts::dscp, &ComparedCounts::vlan,
        &ComparedCounts::corrupted, &ComparedCounts::only_to, &ComparedCounts::only_to_bad,
        &ComparedCounts::outside_from, &ComparedCounts::outside_to})
    this->*member += other.*member;
}

void ComparedCounts::make_unknown() {
  outside_from += lost;
  outside_to += only_to;
  lost = only_to = only_to_bad = 0;
}

const ComparedLeg *Comparison::leg_of(const ComparedStream &row) const {
  for (const ComparedLeg &leg : legs)
    if (leg.from == std::min(row.from, row.to))
      return &leg;
  return nullptr;
}

} // namespace xr
