// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace xr {

// A FIFO queue that allocates nothing while it is empty, because there is one per QP.
template <typename T> class Ring {
public:
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T &operator[](size_t index) { return items_[(head_ + index) & mask_]; }
  const T &operator[](size_t index) const { return items_[(head_ + index) & mask_]; }
  T &front() { return (*this)[0]; }
  const T &front() const { return (*this)[0]; }
  T &back() { return (*this)[count_ - 1]; }
  const T &back() const { return (*this)[count_ - 1]; }

  void push(T item) {
    if (items_.empty() || count_ > mask_)
      grow();
    items_[(head_ + count_++) & mask_] = std::move(item);
  }
  void pop() {
    head_ = (head_ + 1) & mask_;
    count_--;
  }
  void pop_back() { count_--; }
  // Where the first item is; for prefetching.
  const T *place() const { return items_.data() + head_; }
  void clear() { head_ = count_ = 0; }

private:
  void grow() {
    std::vector<T> wider(items_.empty() ? 1 : 2 * items_.size());
    for (size_t i = 0; i < count_; i++)
      wider[i] = std::move((*this)[i]);
    items_ = std::move(wider);
    mask_ = static_cast<uint32_t>(items_.size() - 1);
    head_ = 0;
  }

  std::vector<T> items_;                     // the size is 0 or a power of two
  uint32_t head_ = 0, count_ = 0, mask_ = 0; // mask_: size of items_ less 1
};

} // namespace xr
