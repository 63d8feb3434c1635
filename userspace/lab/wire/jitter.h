// SPDX-License-Identifier: Apache-2.0
// The delay of each frame: a constant and a random part, as `xr::Hold` describes them.
#pragma once

#include <cstdint>
#include <random>

#include "base/draw.h"
#include "model/hold.h"

namespace xr::wire {

class DelaySource {
public:
  DelaySource(const Hold &hold, uint64_t seed);

  // The delay of a frame that enters at `now`, in ns. One seed always gives the same delays.
  uint64_t draw(uint64_t now);

private:
  struct Bits { // a random bit generator, of the standard library's kind
    using result_type = uint64_t;
    uint64_t seed, number = 0;
    static constexpr uint64_t min() { return 0; }
    static constexpr uint64_t max() { return UINT64_MAX; }
    uint64_t operator()() { return xr::draw(seed, number++); }
  };
  double addition(uint64_t now);

  Hold hold_;
  Bits bits_;
  uint64_t begin_ = 0; // of the first step
  bool begun_ = false;
  std::normal_distribution<double> normal_;
  std::gamma_distribution<double> gamma_;
  std::poisson_distribution<int64_t> poisson_;
};

} // namespace xr::wire
