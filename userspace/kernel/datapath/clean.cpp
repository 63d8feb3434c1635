// SPDX-License-Identifier: Apache-2.0
#include "datapath/clean.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/hook.h"
#include "datapath/maps.h"
#include "datapath/place.h"
#include "host/link.h"

namespace xr::datapath {

namespace fs = std::filesystem;

namespace {

bool intersect(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

void remember(KernelIds &freed, int program_fd) {
  freed.programs.push_back(program_id(program_fd));
  auto maps = program_map_ids(program_fd);
  freed.maps.insert(freed.maps.end(), maps.begin(), maps.end());
}

template <typename Next> bool any_alive(const std::vector<uint32_t> &ids, Next next) {
  return std::any_of(ids.begin(), ids.end(), [&](uint32_t id) {
    __u32 found = 0;
    // If the object exists, it is the next one after id - 1. The query takes no reference.
    return id && next(id - 1, &found) == 0 && found == id;
  });
}

} // namespace

Result<int> clean_hook(const host::Netns &netns, unsigned ifindex, const Pins *pins,
                       KernelIds &freed) {
  const auto inside = XR_TRY(netns.enter());
  Fd pinned = pins ? pins->open(Pins::kProgram) : Fd();
  uint32_t pinned_id = program_id(pinned.get());

  // In a loop: a dispatcher may run several programs of ours.
  for (int taken = 0;; taken++) {
    auto hook = read_hook(ifindex);
    if (!hook)
      return hook.error();
    const HookProgram *ours = hook->ours();
    bool ours_is_pinned = pinned_id && hook->has(pinned_id);
    if (!ours && !ours_is_pinned && pins && hook->hidden)
      return Error{"cannot read which program is on the XDP hook: CAP_SYS_ADMIN is missing",
                   "run it as root"};
    if (!ours && !ours_is_pinned)
      return taken;
    Fd fd(ours_is_pinned ? dup(pinned.get()) : bpf_prog_get_fd_by_id(ours->id));
    if (!fd)
      return errno_error(errno, "cannot take the program off the XDP hook", "run it as root");
    remember(freed, fd.get());
    XR_TRY(leave_hook(ifindex, *hook, fd.get()));
  }
}

void clean_promiscuous(const host::Netns &netns, const Pins &pins) {
  std::error_code error;
  if (!fs::is_symlink(pins.path(Pins::kPromiscuous), error))
    return;
  std::string ifname = interface_name(netns, pins.ifindex());
  auto scope = netns.enter();
  if (scope.ok() && !ifname.empty())
    (void)host::set_promiscuous(ifname, false);
}

// libxdp pins a dispatcher's programs under dispatch-<ifindex>-<dispatcher's id> before it attaches
// and removes these pins after it detached. If it is killed in between, the directory remains, with
// a program that uses these pins' maps and is on no hook.
void sweep_dispatchers(const Bpffs &bpffs, const Pins &pins) {
  const auto maps = Maps::of_pins(pins).ids();
  std::vector<fs::path> dead;
  std::error_code ignored;
  std::string prefix = fmt::format("dispatch-{}-", pins.ifindex());

  for (const auto &directory : fs::directory_iterator(bpffs.dispatchers(), ignored)) {
    if (!directory.path().filename().string().starts_with(prefix))
      continue;
    const auto programs = pinned_programs(directory.path());
    if (std::any_of(programs.begin(), programs.end(),
                    [&maps](const Fd &fd) { return intersect(program_map_ids(fd.get()), maps); }))
      dead.push_back(directory.path());
  }
  for (const fs::path &directory : dead)
    fs::remove_all(directory, ignored);
}

Status clean_pins(const Bpffs &bpffs, const Pins &pins, KernelIds &freed) {
  auto maps = Maps::of_pins(pins).ids();
  freed.maps.insert(freed.maps.end(), maps.begin(), maps.end());
  freed.programs.push_back(program_id(pins.open(Pins::kProgram).get()));
  // Before the pins are removed: the maps identify our dispatchers.
  sweep_dispatchers(bpffs, pins);
  return pins.remove();
}

Freed wait_until_freed(const KernelIds &ids, std::chrono::milliseconds for_holders,
                       std::chrono::milliseconds for_kernel) {
  const auto begun = std::chrono::steady_clock::now();
  // What this process holds is not freed before it ends: the kernel needs some ms for the rest.
  auto next_search = begun + (held_here(ids) ? std::chrono::milliseconds(20) : for_holders);
  while (any_alive(ids.programs, bpf_prog_get_next_id) ||
         any_alive(ids.maps, bpf_map_get_next_id)) {
    if (const auto now = std::chrono::steady_clock::now(); now >= next_search) {
      next_search = now + std::chrono::milliseconds(500); // reading all of /proc is slow
      auto holders = find_holders(ids);
      const bool own = holders.empty() && held_here(ids);
      if (own || !holders.empty() || now >= begun + for_kernel)
        return {own, std::move(holders)};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {true, {}};
}

} // namespace xr::datapath
