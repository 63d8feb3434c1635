// SPDX-License-Identifier: Apache-2.0
// A window on a file, moved forward with mmap. Memory of a file that became shorter, or whose disk
// fails, raises SIGBUS when it is read: a handler puts a page of zeros there, and lost() tells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace xr {

class Mapping {
public:
  // Nothing when this process already has as many as the handler knows of: read() the file then.
  static std::unique_ptr<Mapping> make();
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  // [offset, offset + length) of the file, in place of what was there. Null: errno tells why.
  const uint8_t *move(int fd, uint64_t offset, size_t length);
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

private:
  friend struct Guard;
  explicit Mapping(std::atomic<Mapping *> &slot) : slot_(slot) {}
  void unmap();

  std::atomic<Mapping *> &slot_;
  std::atomic<uint8_t *> begin_ = nullptr, end_ = nullptr;
  std::atomic<bool> lost_ = false;
};

} // namespace xr
