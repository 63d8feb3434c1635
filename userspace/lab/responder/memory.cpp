// SPDX-License-Identifier: Apache-2.0
// Bytes, locks, R_Key and bounds are here; what a request may do, and NAKs: remote_access.cpp;
// options: cli/respond.cpp, endpoint/respond.cpp; memory_test, respond_memory.sh.
#include "responder/memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace xr::responder {

Status check_memory(const MemorySpec &spec) {
  if (!spec.size || spec.size - 1 > UINT64_MAX - spec.va)
    return Error{fmt::format("{} bytes from address {:#x} on are no region", spec.size, spec.va),
                 "it must end before address 2^64"};
  if (spec.va % sizeof(uint64_t))
    return Error{fmt::format("a region does not begin at {:#x}", spec.va), "a multiple of 8"};
  return {};
}

Result<std::unique_ptr<Memory>> Memory::make(const MemorySpec &spec) {
  XR_TRY(check_memory(spec));
  std::unique_ptr<Memory> made(new Memory(spec));
  // Zeros that cost no memory until they are used.
  made->bytes_.reset(static_cast<uint8_t *>(calloc(spec.size, 1)));
  if (!made->bytes_)
    return Error{fmt::format("there is no memory of {} bytes", spec.size), "a smaller region"};
  return made;
}

Memory::Verdict Memory::check(uint64_t va, uint64_t length, uint32_t rkey, uint8_t access) const {
  if (!length)
    return Verdict::Allowed;
  if (rkey != spec_.rkey)
    return Verdict::BadKey;
  const uint64_t offset = va - spec_.va;
  if (va < spec_.va || offset >= spec_.size || length > spec_.size - offset)
    return Verdict::OutOfBounds;
  return (spec_.access & access) == access ? Verdict::Allowed : Verdict::NoAccess;
}

template <typename Use> void Memory::by_stripes(uint64_t va, uint64_t length, Use use) {
  uint64_t offset = va - spec_.va;
  for (uint64_t done = 0; done < length;) {
    const uint64_t part = std::min(length - done, kStripe - offset % kStripe);
    const std::lock_guard guard(locks_[offset / kStripe % locks_.size()]);
    use(bytes_.get() + offset, done, part);
    offset += part;
    done += part;
  }
}

void Memory::write(uint64_t va, std::span<const uint8_t> bytes) {
  by_stripes(va, bytes.size(), [&](uint8_t *at, uint64_t from, uint64_t length) {
    memcpy(at, bytes.data() + from, length);
  });
}

void Memory::read(uint64_t va, std::span<uint8_t> bytes) {
  by_stripes(va, bytes.size(), [&](const uint8_t *at, uint64_t from, uint64_t length) {
    memcpy(bytes.data() + from, at, length);
  });
}

// Words are within one stripe: the region begins at a multiple of 8.
template <typename Change> uint64_t Memory::change_word(uint64_t va, Change change) {
  uint64_t before = 0;
  by_stripes(va, sizeof(before), [&](uint8_t *at, uint64_t, uint64_t length) {
    memcpy(&before, at, length);
    const uint64_t after = change(before);
    memcpy(at, &after, length);
  });
  return before;
}

uint64_t Memory::fetch_add(uint64_t va, uint64_t addend) {
  return change_word(va, [&](uint64_t before) { return before + addend; });
}

uint64_t Memory::compare_swap(uint64_t va, uint64_t compare, uint64_t swap) {
  return change_word(va, [&](uint64_t before) { return before == compare ? swap : before; });
}

} // namespace xr::responder
