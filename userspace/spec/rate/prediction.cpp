// SPDX-License-Identifier: Apache-2.0
#include "rate/prediction.h"

namespace xr::congestion {

const char *applies_name(Applies applies) {
  static constexpr const char *kNames[] = {"fixed point", "kmax", "none"};
  return kNames[static_cast<size_t>(applies)];
}

} // namespace xr::congestion
