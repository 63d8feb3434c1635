// SPDX-License-Identifier: Apache-2.0
// A memory region that requests of all QPs read and write: bytes at the addresses from `va` on, for
// requests with its R_Key and the access that it allows (IBA vol. 1, 10.6).
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "base/result.h"

namespace xr::responder {

struct MemorySpec {
  static constexpr uint8_t kRead = 1, kWrite = 2, kAtomic = 4;

  uint64_t size = 0; // bytes
  uint64_t va = 0x10000;
  uint32_t rkey = 0x1234;
  uint8_t access = kRead | kWrite | kAtomic;
};

// The words for MemorySpec::access, by bit.
inline constexpr std::string_view kAccessNames[] = {"read", "write", "atomic"};

// Error if there is no such region, whatever the machine has.
Status check_memory(const MemorySpec &spec);

// Threads may share a region. Two accesses to the same 64 KiB take turns; an access that crosses
// such a border is not one operation.
class Memory {
public:
  // All bytes are 0. Error: it cannot be had, goes beyond the last address, or does not begin at a
  // multiple of 8.
  static Result<std::unique_ptr<Memory>> make(const MemorySpec &spec);

  enum class Verdict : uint8_t { Allowed, BadKey, OutOfBounds, NoAccess };
  // An access of no bytes is always allowed.
  Verdict check(uint64_t va, uint64_t length, uint32_t rkey, uint8_t access) const;

  // The addresses of the following are in the region, those of atomics multiples of 8.
  void write(uint64_t va, std::span<const uint8_t> bytes);
  void read(uint64_t va, std::span<uint8_t> bytes);
  // Return the value before. Values are in the host's byte order, as the QP's host has them.
  uint64_t fetch_add(uint64_t va, uint64_t addend);
  uint64_t compare_swap(uint64_t va, uint64_t compare, uint64_t swap);

  const MemorySpec &spec() const { return spec_; }

private:
  struct Free {
    void operator()(uint8_t *bytes) const { free(bytes); }
  };
  static constexpr uint64_t kStripe = 65536;

  explicit Memory(const MemorySpec &spec) : spec_(spec) {}
  // Calls `use` with each part of the range that is within one stripe, under its lock.
  template <typename Use> void by_stripes(uint64_t va, uint64_t length, Use use);
  template <typename Change> uint64_t change_word(uint64_t va, Change change);

  MemorySpec spec_;
  std::unique_ptr<uint8_t[], Free> bytes_;
  std::array<std::mutex, 64> locks_;
};

} // namespace xr::responder
