// SPDX-License-Identifier: Apache-2.0
#include "capture/mapping.h"

#include <array>
#include <csignal>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace xr {

namespace {

uintptr_t page_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

} // namespace

// The SIGBUS handler of the process while a Mapping exists.
struct SigbusGuard {
  static constexpr size_t kMappings = 64;

  std::array<Mapping::Slot, kMappings> slots{};
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
    for (Mapping::Slot &slot : guard.slots) {
      if (address < slot.begin.load() || address >= slot.end.load())
        continue;
      uint8_t *page = address - reinterpret_cast<uintptr_t>(address) % guard.page;
      // Not by the library's function: another thread may read the page, which is no data race.
      if (syscall(SYS_mmap, page, guard.page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1, 0) == -1)
        break;
      slot.lost.store(true);
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
  for (Slot &slot : guard.slots) {
    if (slot.used.exchange(true))
      continue;
    slot.lost = false;
    guard.enter();
    return std::unique_ptr<Mapping>(new Mapping(slot));
  }
  return nullptr;
}

Mapping::~Mapping() {
  unmap();
  slot_.used = false;
  SigbusGuard::get().leave();
}

void Mapping::unmap() {
  uint8_t *const begin = slot_.begin.load(), *const end = slot_.end.load();
  slot_.begin = slot_.end = nullptr;
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
  slot_.begin = static_cast<uint8_t *>(at);
  slot_.end = static_cast<uint8_t *>(at) + size;
  return static_cast<const uint8_t *>(at) + (offset - start);
}

} // namespace xr
