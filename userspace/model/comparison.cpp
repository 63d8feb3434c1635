// SPDX-License-Identifier: Apache-2.0
#include "model/comparison.h"

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

} // namespace xr
