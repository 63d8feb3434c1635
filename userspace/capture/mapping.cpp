// SPDX-License-Identifier: Apache-2.0
#include "capture/mapping.h"

#include <array>
#include <csignal>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace xr {

namespace {

uintptr_t page_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

} // namespace

// The SIGBUS handler of the process while a Mapping exists. It runs in the thread that reads, so a
// Mapping that it finds is not being destroyed.
struct SigbusGuard {
  static constexpr size_t kMappings = 16;

  std::array<std::atomic<Mapping *>, kMappings> slots{};
  struct sigaction before {};
  std::mutex mutex; // protects `users` and the installation of the handler
  size_t users = 0;
  uintptr_t page = page_size();

  static SigbusGuard &get() {
    static SigbusGuard guard;
    return guard;
  }

  static void on_signal(int, siginfo_t *info, void *) {
    SigbusGuard &guard = get();
    auto *const address = static_cast<uint8_t *>(info->si_addr);
    for (const std::atomic<Mapping *> &slot : guard.slots) {
      Mapping *mapping = slot.load();
      if (!mapping || address < mapping->begin_.load() || address >= mapping->end_.load())
        continue;
      uint8_t *page = address - reinterpret_cast<uintptr_t>(address) % guard.page;
      if (mmap(page, guard.page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          MAP_FAILED)
        break;
      mapping->lost_.store(true);
      return;
    }
    // Not our memory: the previous handler gets the repeated signal.
    sigaction(SIGBUS, &guard.before, nullptr);
  }

  void enter() {
    const std::lock_guard lock(mutex);
    if (users++)
      return;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, &before);
  }

  void leave() {
    const std::lock_guard lock(mutex);
    if (!--users)
      sigaction(SIGBUS, &before, nullptr);
  }
};

std::unique_ptr<Mapping> Mapping::make() {
  SigbusGuard &guard = SigbusGuard::get();
  for (std::atomic<Mapping *> &slot : guard.slots) {
    if (slot.load())
      continue;
    std::unique_ptr<Mapping> mapping(new Mapping(slot));
    guard.enter();
    Mapping *none = nullptr;
    if (slot.compare_exchange_strong(none, mapping.get()))
      return mapping;
  }
  return nullptr;
}

Mapping::~Mapping() {
  Mapping *self = this;
  unmap();
  slot_.compare_exchange_strong(self, nullptr);
  SigbusGuard::get().leave();
}

void Mapping::unmap() {
  uint8_t *const begin = begin_.load(), *const end = end_.load();
  begin_ = end_ = nullptr;
  if (begin)
    munmap(begin, static_cast<size_t>(end - begin));
}

const uint8_t *Mapping::move(int fd, uint64_t offset, size_t length) {
  const uint64_t start = offset / page_size() * page_size();
  const size_t size = length + static_cast<size_t>(offset - start);
  unmap();
  void *at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(start));
  if (at == MAP_FAILED)
    return nullptr;
  madvise(at, size, MADV_SEQUENTIAL);
  begin_ = static_cast<uint8_t *>(at);
  end_ = begin_ + size;
  return static_cast<const uint8_t *>(at) + (offset - start);
}

} // namespace xr
