// SPDX-License-Identifier: Apache-2.0
// A stream of a QP pair.
#pragma once

#include <cstdint>
#include <optional>

#include "roce/parse.h"

namespace xr {

struct PairName {
  roce_key key{};                 // host order, as in a stream's record
  std::optional<uint32_t> src_qp; // of the stream's sender, if known
};

} // namespace xr
