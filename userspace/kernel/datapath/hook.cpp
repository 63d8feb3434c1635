// SPDX-License-Identifier: Apache-2.0
#include "datapath/hook.h"

#include <algorithm>
#include <memory>

#include <linux/if_link.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include <fmt/format.h>

#include "datapath/bpffs.h"
#include "datapath/log.h"
#include "datapath/maps.h"

namespace xr::datapath {

namespace {

constexpr const char *kDispatcherName = "xdp_dispatcher";

struct CloseProgram {
  void operator()(xdp_program *p) const { xdp_program__close(p); }
};

// The programs of a dispatcher in the order in which it runs them, read from libxdp's pins.
// libxdp's own reader is not used: before 1.4 it leaks a descriptor per program, and a command that
// reads hooks may run for days.
std::vector<HookProgram> dispatcher_programs(unsigned ifindex, uint32_t dispatcher_id) {
  std::vector<HookProgram> programs;
  if (const auto bpffs = find_bpffs())
    for (const Fd &fd : pinned_programs(
             fmt::format("{}/dispatch-{}-{}", bpffs->dispatchers(), ifindex, dispatcher_id)))
      programs.push_back({program_id(fd.get()), program_name(fd.get())});
  return programs;
}

} // namespace

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

const HookProgram *Hook::foreign() const {
  for (const HookProgram &program : programs)
    if (program.name != kProgramName)
      return &program;
  return nullptr;
}

Result<Hook> read_hook(unsigned ifindex) {
  LIBBPF_OPTS(bpf_xdp_query_opts, query);
  Hook hook;

  if (int error = bpf_xdp_query(static_cast<int>(ifindex), 0, &query); error < 0)
    return errno_error(-error, "cannot read what is on the XDP hook");
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
  // Without the privilege to open programs by id, the programs of a dispatcher are found by pins.
  hook.hidden = !fd && errno == EPERM;
  std::string name = fd ? program_name(fd.get()) : "";
  if (hook.hidden || name == kDispatcherName)
    hook.programs = dispatcher_programs(ifindex, hook.main_id);
  hook.dispatcher = !hook.programs.empty();
  if (!hook.dispatcher)
    hook.programs.push_back({hook.main_id, std::move(name)});
  return hook;
}

std::vector<Fd> pinned_programs(const std::filesystem::path &directory) {
  std::vector<std::filesystem::path> pins;
  std::error_code ignored;
  for (const auto &pin : std::filesystem::directory_iterator(directory, ignored))
    if (pin.path().filename().string().ends_with("-prog"))
      pins.push_back(pin.path());
  std::sort(pins.begin(), pins.end()); // prog0-prog to prog9-prog
  std::vector<Fd> programs;
  for (const auto &pin : pins)
    if (Fd fd(bpf_obj_get(pin.c_str())); fd)
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
    // Detach only if ours is still attached: another tool may have replaced it.
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
