// SPDX-License-Identifier: Apache-2.0
#include "datapath/hook.h"

#include <algorithm>
#include <memory>

#include <linux/if_link.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "datapath/bpffs.h"
#include "datapath/log.h"
#include "datapath/maps.h"

namespace xr::datapath {

namespace {

constexpr const char *kDispatcherName = "xdp_dispatcher";

struct CloseMultiprog {
  void operator()(xdp_multiprog *p) const { xdp_multiprog__close(p); }
};
struct CloseProgram {
  void operator()(xdp_program *p) const { xdp_program__close(p); }
};

// The programs behind a dispatcher; false when libxdp cannot tell.
bool read_dispatcher(unsigned ifindex, Hook &hook) {
  xdp_multiprog *found = xdp_multiprog__get_from_ifindex(static_cast<int>(ifindex));
  if (libxdp_get_error(found))
    return false;
  std::unique_ptr<xdp_multiprog, CloseMultiprog> all(found);
  if (xdp_multiprog__is_legacy(all.get()))
    return false;
  hook.dispatcher = true;
  hook.programs.clear();
  for (xdp_program *p = xdp_multiprog__next_prog(nullptr, all.get()); p;
       p = xdp_multiprog__next_prog(p, all.get()))
    hook.programs.push_back({xdp_program__id(p), program_name(xdp_program__fd(p))});
  return true;
}

// Who may not ask for programs by their ids finds those of a dispatcher where libxdp has pinned
// them.
Hook read_pins(unsigned ifindex, Hook hook) {
  hook.hidden = true;
  hook.programs = {{hook.main_id, ""}};
  const auto bpffs = find_bpffs();
  if (!bpffs)
    return hook;
  const auto pinned = pinned_programs(
      fmt::format("{}/dispatch-{}-{}", bpffs->dispatchers(), ifindex, hook.main_id));
  hook.dispatcher = !pinned.empty();
  if (hook.dispatcher)
    hook.programs.clear();
  for (const Fd &fd : pinned)
    hook.programs.push_back({program_id(fd.get()), program_name(fd.get())});
  return hook;
}

} // namespace

const char *mode_name(Mode mode) {
  switch (mode) {
  case Mode::Native:
    return "native";
  case Mode::Skb:
    return "skb";
  case Mode::Hardware:
    return "hardware";
  default:
    return "auto";
  }
}

bool Hook::has(uint32_t id) const {
  return std::any_of(programs.begin(), programs.end(),
                     [&](const HookProgram &p) { return p.id == id; });
}

const HookProgram *Hook::ours() const {
  for (const HookProgram &program : programs)
    if (program.name == kProgramName)
      return &program;
  return nullptr;
}

const HookProgram *Hook::stranger() const {
  for (const HookProgram &program : programs)
    if (program.name != kProgramName)
      return &program;
  return nullptr;
}

Result<Hook> read_hook(unsigned ifindex) {
  LIBBPF_OPTS(bpf_xdp_query_opts, query);
  Hook hook;

  if (int error = bpf_xdp_query(static_cast<int>(ifindex), 0, &query); error < 0)
    return errno_error(-error, "cannot ask the kernel what is on the XDP hook");
  if (query.drv_prog_id) {
    hook.mode = Mode::Native;
    hook.main_id = query.drv_prog_id;
  } else if (query.skb_prog_id) {
    hook.mode = Mode::Skb;
    hook.main_id = query.skb_prog_id;
  } else if (query.hw_prog_id) {
    hook.mode = Mode::Hardware;
    hook.main_id = query.hw_prog_id;
  } else {
    return hook;
  }
  Fd fd(bpf_prog_get_fd_by_id(hook.main_id));
  if (!fd && errno == EPERM)
    return read_pins(ifindex, std::move(hook));
  std::string name = fd ? program_name(fd.get()) : "";
  hook.programs.push_back({hook.main_id, name});
  if (name == kDispatcherName)
    read_dispatcher(ifindex, hook);
  return hook;
}

std::vector<Fd> pinned_programs(const std::filesystem::path &directory) {
  std::vector<Fd> programs;
  std::error_code ignored;
  for (const auto &pin : std::filesystem::directory_iterator(directory, ignored))
    if (pin.path().filename().string().ends_with("-prog"))
      if (Fd fd(bpf_obj_get(pin.path().c_str())); fd)
        programs.push_back(std::move(fd));
  return programs;
}

Status take_hook(unsigned ifindex, Mode mode, int fd, int former) {
  LogCapture log;
  LIBBPF_OPTS(bpf_xdp_attach_opts, options);
  __u32 flags = mode == Mode::Skb ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
  if (former >= 0)
    options.old_prog_fd = former;
  else
    flags |= XDP_FLAGS_UPDATE_IF_NOEXIST;
  const int error = -bpf_xdp_attach(static_cast<int>(ifindex), fd, flags, &options);
  if (error <= 0)
    return {};
  const std::string reason = log.kernel_message();
  Error refused = errno_error(error, fmt::format("{} XDP was refused", mode_name(mode)));
  if (error == EOPNOTSUPP && mode == Mode::Native)
    refused.message = "the driver has no native XDP";
  else if (!reason.empty())
    refused.message = fmt::format("{} XDP was refused: {}", mode_name(mode), reason);
  if (mode == Mode::Native)
    refused.hint = "--mode skb works with every driver, slower";
  return refused;
}

Status leave_hook(unsigned ifindex, const Hook &hook, int fd) {
  LogCapture log;
  int error = 0;

  if (!hook.dispatcher) {
    LIBBPF_OPTS(bpf_xdp_attach_opts, options);
    __u32 mode = hook.mode == Mode::Skb ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
    // Only if it is still the one: somebody else may have come meanwhile.
    options.old_prog_fd = fd;
    error = bpf_xdp_detach(static_cast<int>(ifindex), mode, &options);
  } else {
    xdp_program *found = xdp_program__from_fd(fd);
    if (auto failed = libxdp_get_error(found))
      return errno_error(static_cast<int>(-failed), "cannot read the program");
    std::unique_ptr<xdp_program, CloseProgram> program(found);
    error = xdp_program__detach(program.get(), static_cast<int>(ifindex),
                                hook.mode == Mode::Skb ? XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
  }
  if (error < 0)
    return errno_error(-error, "cannot take the program off the XDP hook", log.kernel_message());
  return {};
}

} // namespace xr::datapath
