// SPDX-License-Identifier: Apache-2.0
#include "traffic/faults.h"

#include <algorithm>

#include "traffic/flow_draw.h"

namespace xr::traffic {

namespace {

// `seed` is the fault's own: two of the same flow meet different packets.
bool meets(const Fault &fault, uint64_t number, uint64_t seed) {
  switch (fault.when) {
  case Fault::When::Every:
    return fault.every && number % fault.every == 0;
  case Fault::When::Positions:
    return std::binary_search(fault.positions.begin(), fault.positions.end(), number);
  case Fault::When::Probability:
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

} // namespace xr::traffic
