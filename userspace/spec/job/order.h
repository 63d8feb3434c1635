// SPDX-License-Identifier: Apache-2.0
// For this folder only: an order for what files list in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "job/job.h"

namespace xr::job {

struct Edge {
  uint32_t waits = kNone; // for
  Need need;
};

class Order {
public:
  // `edges` are of items 0 to count - 1.
  Order(uint32_t count, std::vector<Edge> edges);

  // Each after what it waits for, otherwise by number. Items that wait for themselves are not
  // there.
  const std::vector<uint32_t> &items() const { return items_; }
  // The first of some that wait for one another.
  std::optional<uint32_t> circle() const { return circle_; }
  std::span<const Edge> needs(uint32_t item) const {
    return {edges_.data() + begins_[item], begins_[item + 1] - begins_[item]};
  }

private:
  std::vector<Edge> edges_; // by who waits
  std::vector<size_t> begins_;
  std::vector<uint32_t> items_;
  std::optional<uint32_t> circle_;
};

} // namespace xr::job
