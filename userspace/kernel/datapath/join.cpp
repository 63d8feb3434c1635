// SPDX-License-Identifier: Apache-2.0
#include "datapath/join.h"

#include <cstdlib>

#include <xdp/libxdp.h>

#include <fmt/format.h>

#include "datapath/hook.h"
#include "datapath/log.h"
#include "datapath/remedy.h"

namespace xr::datapath {

namespace {

constexpr const char *kSkip = "LIBXDP_SKIP_DISPATCHER";

bool skips_dispatcher() {
  const char *value = getenv(kSkip); // NOLINT(concurrency-mt-unsafe)
  return value && std::string_view(value) == "1";
}

constexpr const char *kChangesFrames = "CNPs are shortened frames, which this kernel lets libxdp's "
                                       "dispatcher make only from xdp-tools "
                                       "1.5.5 on";

// Why libxdp's dispatcher does not run our program, and what the user can change.
std::string refusal(const LogCapture &log, int error) {
  if (skips_dispatcher())
    return fmt::format("{}=1 is set; unset it and attach again, and others can join", kSkip);
  // libxdp checks this once per process: a later attach has no such line in its log.
  const std::string freplace = log.after("Compatibility check for dispatcher program failed: ");
  if (!freplace.empty() || !error || error == EOPNOTSUPP)
    return fmt::format(
        "this kernel refuses freplace programs, which libxdp's dispatcher needs{}; a "
        "kernel that allows them lets others join",
        freplace.empty() ? "" : fmt::format(" ({})", freplace));
  const std::string verifier = log.verifier_message();
  if (verifier.find("changes packet data") != std::string::npos)
    return fmt::format("{}; without such rules others can join", kChangesFrames);
  if (!verifier.empty())
    return fmt::format("libxdp's dispatcher cannot run it: {}", verifier);
  if (!log.after("Couldn't open BPF file").empty())
    return "libxdp cannot find its dispatcher, xdp-dispatcher.o; install it (Debian: libxdp1) "
           "and "
           "attach again, and others can join";
  return errno_error(error, "libxdp's dispatcher cannot run it").message;
}

class Joining {
public:
  Joining(const PortStatus &port, const Pins &pins, const roce_config &config,
          const AttachOptions &options, const Pins *one_with)
      : port_(port), pins_(pins), config_(config), options_(options), one_with_(one_with) {}

  // Attaches through libxdp; if that fails and the hook is empty, without a dispatcher.
  Result<Joined> join(Mode mode);
  // The last error was caused by the mode: another mode may succeed.
  bool mode_refused() const { return mode_refused_; }

private:
  bool shares() const { return !port_.programs.empty(); }
  Result<Object> open();
  Result<Joined> with_libxdp(Mode mode);
  Result<Joined> alone(Mode mode);

  const PortStatus &port_;
  const Pins &pins_;
  roce_config config_;
  const AttachOptions &options_;
  const Pins *one_with_;
  std::string refusal_; // why the dispatcher does not run the program
  bool mode_refused_ = false;
};

// Removes the pins of an earlier attempt that failed, and opens the object with new ones.
Result<Object> Joining::open() {
  XR_TRY(pins_.remove());
  XR_TRY(pins_.create({port_.ifname, port_.netns}));
  auto object = Object::open(config_, options_.ring_bytes, pins_);
  if (object && one_with_)
    XR_TRY(object->share_all(*one_with_));
  return object;
}

// libxdp attaches without a dispatcher only where the kernel refuses freplace programs.
Result<Joined> Joining::with_libxdp(Mode mode) {
  LogCapture log;
  auto object = XR_TRY(open());
  auto handle = XR_TRY(object.handle(options_.priority));
  const int error = -xdp_program__attach(handle, static_cast<int>(port_.ifindex),
                                         mode == Mode::Skb ? XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
  refusal_ = refusal(log, error);
  if (error)
    return object.program_fd() < 0 ? load_error(error, config_.streams, log)
                                   : errno_error(error, "libxdp cannot attach the program");
  auto hook = XR_TRY(read_hook(port_.ifindex));
  return Joined{std::move(object), mode, config_.features, hook.dispatcher ? "" : refusal_};
}

Result<Joined> Joining::alone(Mode mode) {
  auto object = XR_TRY(open());
  XR_TRY(object.load());
  auto taken = take_hook(port_.ifindex, mode, object.program_fd(), -1);
  mode_refused_ = !taken;
  if (!taken)
    return taken.error();
  return Joined{std::move(object), mode, config_.features, refusal_};
}

Result<Joined> Joining::join(Mode mode) {
  mode_refused_ = false;
  if (options_.alone && !shares()) {
    refusal_ = "it was attached alone, by an experiment";
    return alone(mode);
  }
  auto joined = with_libxdp(mode);
  if (joined)
    return joined;
  if (!shares())
    return alone(mode);
  if (config_.features & ROCE_FEATURE_CNP) { // some kernels do not let such a program share a hook
    config_.features &= ~static_cast<uint32_t>(ROCE_FEATURE_CNP);
    joined = with_libxdp(mode);
  }
  return joined ? std::move(joined) : busy(port_, refusal_);
}

} // namespace

Result<Joined> join_hook(const PortStatus &port, const Pins &pins, const roce_config &config,
                         const AttachOptions &options, const Pins *one_with,
                         std::vector<std::string> &notes) {
  Joining joining(port, pins, config, options, one_with);
  // A shared hook keeps its mode.
  const bool shares = !port.programs.empty();
  const Mode mode =
      options.mode == Mode::Skb || (options.mode == Mode::Auto && shares && port.mode == Mode::Skb)
          ? Mode::Skb
          : Mode::Native;
  auto joined = joining.join(mode);
  if (!joined && joining.mode_refused() && options.mode == Mode::Auto && mode == Mode::Native) {
    const std::string refused = joined.error().message;
    joined = joining.join(Mode::Skb);
    if (joined)
      notes.push_back(fmt::format("{}: attached in skb mode, which is slower", refused));
  }
  if (joined && joined->features != config.features)
    notes.push_back(fmt::format(
        "no rule can answer with CNPs while another program is on the hook: {}", kChangesFrames));
  return joined;
}

Error busy(const PortStatus &port, const std::string &why) {
  const char *off = port.mode == Mode::Skb ? "xdpgeneric" : "xdpdrv";
  const std::string other = port.programs.empty() || port.programs.front().name.empty()
                                ? "another XDP program"
                                : fmt::format("another XDP program, {} (id {}),",
                                              port.programs.front().name, port.programs.front().id);
  return Error{fmt::format("{} is already on the interface and {}", other,
                           why.empty() ? "does not share it" : "cannot be joined: " + why),
               "take it off with the tool that attached it, or: " +
                   ip_for(port, fmt::format("link set dev {} {} off", port.ifname, off))};
}

} // namespace xr::datapath
