// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "afxdp/socket.h"
#include "doctor/kernel.h"
#include "host/privilege.h"

namespace xr::doctor {

namespace {

struct Option {
  const char *name;
  CheckVerdict without;
  const char *for_what;
};

constexpr Option kOptions[] = {
    {"BPF_SYSCALL", CheckVerdict::Fail, "nothing works without it"},
    {"NET", CheckVerdict::Fail, "nothing works without it"},
    // The program always has the socket map and the capture ring. The ring can be created without
    // PERF_EVENTS.
    {"XDP_SOCKETS", CheckVerdict::Fail, "nothing can be attached without its map"},
    {"PERF_EVENTS", CheckVerdict::Warn, "capture needs it"},
    {"BPF_EVENTS", CheckVerdict::Warn, "capture needs it"},
    {"BPF_JIT", CheckVerdict::Warn, "programs are interpreted, several times slower"},
    {"DCB", CheckVerdict::Info, "the state of PFC is unknown"},
};

// The trials of doctor with the real program on a veth pair.
struct Tried {
  const char *name;
  const char *done;    // on success: a sentence
  const char *failure; // on failure: the start of a sentence
  CheckVerdict failed;
};

constexpr Tried kTrials[] = {
    {"load", "tried on a veth: attached alone, and counted a frame", "", CheckVerdict::Fail},
    {"dispatcher",
     "tried on a veth: attached to libxdp's dispatcher, where other XDP programs can join",
     "tried on a veth: xdp-roce is alone on a port's hook: ", CheckVerdict::Info},
    {"rules", "tried on a veth: a rule dropped a frame; rules of each kind load",
     "rules: ", CheckVerdict::Fail},
    {"sockets", "tried on a veth: an AF_XDP socket received a frame",
     "send and respond: ", CheckVerdict::Warn},
    {"capture", "tried on a veth: a frame was captured", "capture: ", CheckVerdict::Warn},
};

class Kernel {
public:
  Kernel(const KernelFacts &facts, Checks &checks) : facts_(facts), checks_(checks) {}

  void version() {
    if (host::kernel_too_old(facts_.release))
      add("version", CheckVerdict::Fail, facts_.release + " is too old", "5.15 or later is needed");
    else
      add("version", CheckVerdict::Ok, facts_.release);
  }

  void options() {
    if (facts_.options_from.empty())
      return add("options", CheckVerdict::Unknown, "this kernel's options cannot be read",
                 "modprobe configs, or install the package that has /boot/config-" +
                     facts_.release);
    bool all = true;
    for (const Option &option : kOptions)
      if (!facts_.options.count(option.name)) {
        add("options", option.without,
            fmt::format("CONFIG_{} is off: {}", option.name, option.for_what),
            option.without == CheckVerdict::Info ? "" : "a kernel that has it on");
        all = false;
      }
    if (all)
      add("options", CheckVerdict::Ok, "all that matter are on, by " + facts_.options_from);
  }

  void btf() {
    add("btf", CheckVerdict::Info,
        facts_.options.count("DEBUG_INFO_BTF") ? "the kernel has BTF; it is not needed"
                                               : "the kernel's BTF is not needed");
  }

  void bpffs() {
    if (!facts_.bpffs.empty())
      add("bpffs", CheckVerdict::Ok, "mounted at " + facts_.bpffs);
    else
      add("bpffs", CheckVerdict::Info, "none is mounted: attach mounts one at /run/xdp-roce/bpf",
          "mount -t bpf bpf /sys/fs/bpf");
  }

  void jit() {
    if (!facts_.jit) // absent without a JIT and outside the initial network namespace
      add("jit",
          facts_.options.count("BPF_JIT_ALWAYS_ON") ? CheckVerdict::Ok : CheckVerdict::Unknown,
          facts_.options.count("BPF_JIT_ALWAYS_ON") ? "always on"
                                                    : "whether programs are compiled is "
                                                      "unknown");
    else if (*facts_.jit)
      add("jit", CheckVerdict::Ok, "on");
    else
      add("jit", CheckVerdict::Warn, "off: programs are interpreted, several times slower",
          "sysctl net.core.bpf_jit_enable=1");
  }

  void privileges() {
    tell_missing("privileges", facts_.missing_to_load, "to attach");
    if (facts_.missing_for_sockets != facts_.missing_to_load ||
        (facts_.missing_to_load && facts_.missing_to_load->empty()))
      tell_missing("privileges", facts_.missing_for_sockets, "for send and respond");
  }

  // Since 5.11 the memory of maps is charged to the cgroup; AF_XDP sockets still count against
  // memlock.
  void memlock() {
    constexpr uint64_t kEnoughForMaps = 256 << 20;
    if (!facts_.memlock_binds)
      return add("memlock", CheckVerdict::Ok,
                 "the limit does not bind this process (CAP_IPC_LOCK or CAP_SYS_RESOURCE)");
    if (!release_is(facts_.release, 5, 11) && facts_.memlock < kEnoughForMaps)
      return add("memlock", CheckVerdict::Warn,
                 fmt::format("{} bytes of locked memory are too few for the maps", facts_.memlock),
                 "ulimit -l unlimited");
    afxdp::SocketOptions sends, receives;
    sends.receive = 0;
    receives.receive = afxdp::kResponderReceive;
    const uint64_t needed = afxdp::Socket::memory(receives);
    if (facts_.memlock >= needed)
      return add("memlock", CheckVerdict::Ok, "large enough");
    add("memlock", CheckVerdict::Warn,
        fmt::format("{} KiB of locked memory are too few for AF_XDP: at an MTU of 1500 respond "
                    "needs {} KiB a queue, send without --reliable {}",
                    facts_.memlock >> 10, needed >> 10, afxdp::Socket::memory(sends) >> 10),
        "ulimit -l unlimited, as root, or CAP_IPC_LOCK");
  }

  // The results of kTrials.
  void trials() {
    for (const Tried &tried : kTrials) {
      const auto found = std::find_if(facts_.trials.begin(), facts_.trials.end(),
                                      [&](const Trial &trial) { return trial.name == tried.name; });
      if (found == facts_.trials.end())
        untried(tried);
      else if (found->outcome)
        add(tried.name, CheckVerdict::Ok, tried.done);
      else
        add(tried.name, tried.failed, std::string(tried.failure) + found->outcome.error().message,
            found->outcome.error().hint);
    }
  }

  void frags() {
    const bool has = facts_.frags.value_or(release_is(facts_.release, 5, 18));
    if (has)
      add("frags", CheckVerdict::Ok, "XDP for frames in several buffers");
    else
      add("frags", CheckVerdict::Warn,
          "no XDP for frames in several buffers: drivers refuse large MTUs",
          "kernel 5.18 or later, or an MTU of at most 3498");
  }

  void sockets() {
    if (!facts_.sockets)
      add("af_xdp", CheckVerdict::Unknown, "whether AF_XDP sockets can be made cannot be tried",
          "sudo " + facts_.command);
    else if (facts_.sockets->ok())
      add("af_xdp", CheckVerdict::Ok, "sockets can be made");
    else
      add("af_xdp", CheckVerdict::Warn, facts_.sockets->error().message,
          "send and respond need a kernel with CONFIG_XDP_SOCKETS");
  }

private:
  void untried(const Tried &item) {
    const bool loads = std::string_view(item.name) == "load";
    if (loads && facts_.load && !facts_.load->ok())
      return add(item.name, CheckVerdict::Fail, facts_.load->error().message,
                 facts_.load->error().hint);
    if (loads && facts_.load)
      return add(
          item.name, CheckVerdict::Ok,
          "the kernel takes the program, with rules, sockets and captures; attaching was not "
          "tried: " +
              facts_.untried);
    if (!facts_.trials.empty())
      return add(item.name, CheckVerdict::Unknown, "not tried, for what it needs failed");
    add(item.name, CheckVerdict::Unknown,
        "not tried" + (facts_.untried.empty() ? "" : ": " + facts_.untried),
        facts_.untried.empty() ? "sudo " + facts_.command : std::string());
  }

  void add(const char *name, CheckVerdict verdict, std::string text, std::string hint = {}) {
    checks_.push_back({"kernel", name, verdict, std::move(text), std::move(hint)});
  }

  void tell_missing(const char *name, const std::optional<std::vector<std::string>> &missing,
                    const char *for_what) {
    if (!missing)
      add(name, CheckVerdict::Unknown, "this process's capabilities cannot be read");
    else if (missing->empty())
      add(name, CheckVerdict::Ok, fmt::format("all capabilities {}", for_what));
    else
      add(name, CheckVerdict::Warn,
          fmt::format("{} missing {}", fmt::join(*missing, ", "), for_what), "run it as root");
  }

  const KernelFacts &facts_;
  Checks &checks_;
};

} // namespace

// To add a check: the fact in KernelFacts or PortFacts, read in kernel.cpp, host/link.cpp,
// host/netdev_family.cpp, host/dcb.cpp or host/rdma.cpp; a member function here, in check_port.cpp
// or check_rdma.cpp, and its call; doctor_test (each outcome), doctor.sh.
void check_kernel(const KernelFacts &facts, Checks &checks) {
  Kernel kernel(facts, checks);
  kernel.version();
  kernel.options();
  kernel.btf();
  kernel.bpffs();
  kernel.jit();
  kernel.privileges();
  kernel.memlock();
  kernel.trials();
  kernel.frags();
  kernel.sockets();
}

} // namespace xr::doctor
