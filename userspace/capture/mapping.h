// SPDX-License-Identifier: Apache-2.0
// A window of a file, mapped and moved forward. If the file was truncated or its disk fails,
// reading raises SIGBUS: the handler then maps a page of zeros there, and lost() returns true.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace xr {

class Mapping {
public:
  // Null if the handler's table of mappings is full: use read() then.
  static std::unique_ptr<Mapping> make();
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  // Maps [offset, offset + length) instead of the previous window. Null: see errno.
  const uint8_t *move(int fd, uint64_t offset, size_t length);
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

private:
  friend struct SigbusGuard;
  explicit Mapping(std::atomic<Mapping *> &slot) : slot_(slot) {}
  void unmap();

  std::atomic<Mapping *> &slot_;
  std::atomic<uint8_t *> begin_ = nullptr, end_ = nullptr;
  std::atomic<bool> lost_ = false;
};

} // namespace xr
