// SPDX-License-Identifier: Apache-2.0
// Numbers of selectors in the datapath's units.
#pragma once

#include <cmath>
#include <cstdint>

#include "impair/spec.h"

namespace xr::impair {

inline constexpr double kMillion = 1e6;
inline constexpr double kPartsOfPpm = ROCE_SPACED_WHOLE / kMillion;

inline long double bit_error_rate(const BitErrors &errors) {
  return errors.factor * std::pow(10.0L, static_cast<long double>(errors.power));
}

inline uint64_t ber_log2(const BitErrors &errors) {
  const long double exponent =
      std::ldexp(-8 * std::log1p(-bit_error_rate(errors)) / std::log(2.0L), ROCE_BER_SHIFT);
  return static_cast<uint64_t>(std::round(exponent));
}

} // namespace xr::impair
