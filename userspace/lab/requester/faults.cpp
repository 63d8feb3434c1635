// SPDX-License-Identifier: Apache-2.0
#include "requester/faults.h"

#include <algorithm>

#include "base/draw.h"

namespace xr::requester {

namespace {

// `seed` differs between the faults of a flow, so that they select different packets.
bool meets(const flow::Fault &fault, uint64_t number, uint64_t seed) {
  switch (fault.when) {
  case flow::Fault::When::Every:
    return fault.every && number % fault.every == 0;
  case flow::Fault::When::Positions:
    return std::binary_search(fault.positions.begin(), fault.positions.end(), number);
  case flow::Fault::When::Probability:
    return draw_real(seed, number) < fault.probability;
  }
  return false;
}

} // namespace

FaultSet Faults::of(uint64_t number) const {
  FaultSet fate;
  for (size_t i = 0; i < faults_.size(); i++)
    if (meets(faults_[i], number, seed_for(seed_, Draws::Faults, i)))
      fate.add(faults_[i].kind);
  return fate;
}

} // namespace xr::requester
