// SPDX-License-Identifier: Apache-2.0
// Payload that can be checked when it is read back: its bytes follow from a seed, the QP, the
// message and the offset in the message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/draw.h"

namespace xr::requester {

class Pattern {
public:
  Pattern(uint64_t seed, uint32_t qp, uint64_t message)
      : key_(draw(draw(seed ^ kPattern, qp), message)) {}

  // The bytes from `offset` on, a multiple of 8.
  void write(uint64_t offset, std::span<uint8_t> to) const {
    for (size_t at = 0; at < to.size(); at += sizeof(uint64_t)) {
      const uint64_t word = draw(key_, (offset + at) / sizeof(uint64_t));
      memcpy(&to[at], &word, std::min(sizeof(word), to.size() - at));
    }
  }

private:
  static constexpr uint64_t kPattern = 0x7061747465726e00; // "pattern"
  uint64_t key_;
};

} // namespace xr::requester
