// SPDX-License-Identifier: Apache-2.0
#include "job/order.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace xr::job {

Order::Order(uint32_t count, std::vector<Edge> edges)
    : edges_(std::move(edges)), begins_(size_t{count} + 1) {
  std::ranges::stable_sort(edges_, {}, &Edge::waits);
  std::vector<size_t> after_begins(size_t{count} + 1);
  for (const Edge &edge : edges_) {
    begins_[edge.waits + 1]++;
    after_begins[edge.need.operation + 1]++;
  }
  for (uint32_t i = 0; i < count; i++) {
    begins_[i + 1] += begins_[i];
    after_begins[i + 1] += after_begins[i];
  }
  std::vector<uint32_t> after(edges_.size()); // by what is waited for: who waits
  std::vector<size_t> at = after_begins;
  for (const Edge &edge : edges_)
    after[at[edge.need.operation]++] = edge.waits;

  std::vector<size_t> left(count);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; i++)
    if (left[i] = needs(i).size(); !left[i])
      ready.push(i);
  while (!ready.empty()) {
    const uint32_t item = ready.top();
    ready.pop();
    items_.push_back(item);
    for (size_t i = after_begins[item]; i < after_begins[item + 1]; i++)
      if (!--left[after[i]])
        ready.push(after[i]);
  }
  if (items_.size() == count)
    return;
  // Who is left waits for one that is left: after as many steps as there are items, in a circle.
  auto item = static_cast<uint32_t>(std::ranges::find_if(left, [](size_t n) { return n > 0; }) -
                                    left.begin());
  const auto go_back = [&] {
    for (const Edge &edge : needs(item))
      if (left[edge.need.operation]) {
        item = edge.need.operation;
        return;
      }
  };
  for (uint32_t i = 0; i < count; i++)
    go_back();
  const uint32_t begin = item;
  circle_ = item;
  do {
    go_back();
    circle_ = std::min(*circle_, item);
  } while (item != begin);
}

} // namespace xr::job
