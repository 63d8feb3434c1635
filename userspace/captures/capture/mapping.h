// SPDX-License-Identifier: Apache-2.0
// A window of a file, mapped and moved forward. If the file was truncated or its disk fails,
// reading raises SIGBUS in the thread that reads: the handler then maps a page of zeros there, and
// lost() returns true.
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
  bool lost() const { return slot_.lost.load(std::memory_order_relaxed); }

private:
  friend struct SigbusGuard;
  // What the handler reads. Never freed, as the handler may run while another thread unmaps.
  struct Slot {
    std::atomic<bool> used = false;
    std::atomic<uint8_t *> begin = nullptr, end = nullptr;
    std::atomic<bool> lost = false;
  };
  explicit Mapping(Slot &slot) : slot_(slot) {}
  void unmap();

  Slot &slot_;
};

} // namespace xr
