// SPDX-License-Identifier: Apache-2.0
#include "doctor/trial.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "afxdp/socket.h"
#include "base/fd.h"
#include "datapath/attach.h"
#include "datapath/attached_port.h"
#include "datapath/capture_tap.h"
#include "datapath/rules.h"
#include "datapath/steering.h"
#include "host/veth.h"
#include "packet/frame.h"

namespace xr::doctor {

namespace {

constexpr const char *kPort = "trial0", *kPeer = "trial1";
constexpr const char *kBpffs = "/sys/fs/bpf";
constexpr const char *kSkip = "LIBXDP_SKIP_DISPATCHER";
constexpr auto kPatience = std::chrono::seconds(3);
// Documentation addresses (RFC 5737), network order.
constexpr packet::Address kTrialFrom = {0, 0, roce_swap32(0xffff), roce_swap32(0xc0000201)};
constexpr packet::Address kTrialTo = {0, 0, roce_swap32(0xffff), roce_swap32(0xc0000202)};

datapath::AttachOptions small() {
  datapath::AttachOptions options;
  options.streams = 64;
  options.ring_bytes = 1;
  return options;
}

// Repeats is_so() until it is true; an error after kPatience.
template <typename F> Status await(const char *what, F is_so) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (XR_TRY(is_so()))
      return {};
    if (std::chrono::steady_clock::now() > until)
      return Error{fmt::format("a frame was sent, and {}", what)};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Sends one RC SEND ONLY into the port.
Status send_frame() {
  packet::Path path;
  path.dst_mac = {2, 0, 0, 0, 0, 2};
  path.src = kTrialFrom;
  path.dst = kTrialTo;
  packet::Headers headers;
  headers.dest_qp = 0x11;
  auto frame = packet::build(path, headers, packet::counting_payload(64));
  if (!frame)
    return std::move(frame).error();
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(if_nametoindex(kPeer));
  const std::vector<uint8_t> &bytes = frame->bytes;
  if (!fd || sendto(fd.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr *>(&to),
                    sizeof(to)) < 0)
    return errno_error(errno, "cannot send a frame into a veth");
  return {};
}

Result<uint64_t> frames_counted() {
  auto port = XR_TRY(datapath::AttachedPort::open({kPort, ""}));
  auto snapshot = XR_TRY(port.snapshot());
  return snapshot.opcodes[ROCE_RC_SEND_ONLY].packets[ROCE_ECN_ECT0]; // default of packet::Path
}

Status count_one() {
  auto before = XR_TRY(frames_counted());
  if (auto done = send_frame(); !done)
    return done;
  return await("it was not counted",
               [&]() -> Result<bool> { return XR_TRY(frames_counted()) == before + 1; });
}

Status off() {
  auto done = datapath::detach({kPort, ""});
  return done ? Status() : std::move(done).error();
}

Status attach_alone() {
  setenv(kSkip, "1", 1); // NOLINT(concurrency-mt-unsafe)
  auto attached = datapath::attach({kPort, ""}, small());
  unsetenv(kSkip); // NOLINT(concurrency-mt-unsafe)
  if (!attached)
    return std::move(attached).error();
  auto counted = count_one();
  return counted ? off() : counted;
}

// The port remains attached with or without the dispatcher.
Status attach_shared(bool &attached) {
  auto done = datapath::attach({kPort, ""}, small());
  attached = done.ok();
  if (!done)
    return std::move(done).error();
  if (auto counted = count_one(); !counted)
    return counted;
  return done->port.dispatcher ? Status() : Error{done->port.alone};
}

// Uses rules that need every feature except a bridge; the first rule matches the frame. This
// replaces the program.
Status drop_one() {
  impair::File file;
  for (const std::vector<std::string> &words : {std::vector<std::string>{"roce", "drop"},
                                                {"qp", "1", "psn", "all", "set", "dscp", "3"},
                                                {"cnp", "drop"}}) {
    file.rules.push_back(XR_TRY(impair::parse(words)));
  }
  XR_TRY(datapath::apply_rules({kPort, ""}, file));
  if (auto done = send_frame(); !done)
    return done;
  return await("no rule dropped it", []() -> Result<bool> {
    return XR_TRY(datapath::list_rules({kPort, ""})).rules.at(0).acted == 1;
  });
}

Status capture_one() {
  unsigned frames = 0;
  auto tap = datapath::CaptureTap::open(
      {kPort, ""}, small(), 64 << 10, false,
      [&](unsigned, const roce_capture &, const uint8_t *) { frames++; });
  if (!tap)
    return std::move(tap).error();
  roce_capture_filter filter{};
  filter.kinds = ~0u;
  filter.snap = 128;
  if (auto done = tap->start(filter); !done)
    return done;
  if (auto done = send_frame(); !done)
    return done;
  auto came = await("no copy of it came", [&]() -> Result<bool> {
    XR_TRY(tap->poll(10));
    return frames > 0;
  });
  return came ? tap->close() : came;
}

Status receive_one() {
  auto steering = XR_TRY(datapath::Steering::open({kPort, ""}, small(), {{kTrialTo, false}}));
  afxdp::SocketOptions options;
  options.ifname = kPort;
  options.slots = options.receive = 64;
  auto socket = afxdp::Socket::open(options);
  if (!socket)
    return std::move(socket).error();
  if (auto done = steering.add(0, (*socket)->fd()); !done)
    return done;
  if (auto done = send_frame(); !done)
    return done;
  std::vector<afxdp::Received> frames(1);
  auto came = await("it did not come out of an AF_XDP socket", [&]() -> Result<bool> {
    const bool item = (*socket)->receive(frames) > 0;
    (*socket)->release();
    return item;
  });
  return came ? steering.close() : came;
}

// Creates the network and mount namespaces of this process and prepares them.
Status set_up() {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
    return errno_error(errno, "cannot make namespaces for it", "run it as root");
  if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
      mount("tmpfs", "/run", "tmpfs", 0, nullptr) < 0 || // the lock of the tool is in /run
      mount("bpf", kBpffs, "bpf", 0, "mode=0700") < 0)
    return errno_error(errno, fmt::format("cannot mount a bpffs at {}", kBpffs));
  setenv("LIBXDP_BPFFS", kBpffs, 1); // NOLINT(concurrency-mt-unsafe)
  return host::make_veth(kPort, kPeer);
}

// Writes to a pipe; each text ends with a zero byte.
void write_text(int fd, const std::string &text) {
  const char *bytes = text.c_str();
  for (size_t left = text.size() + 1; left;) {
    const ssize_t written = write(fd, bytes + text.size() + 1 - left, left);
    if (written <= 0)
      _exit(1);
    left -= static_cast<size_t>(written);
  }
}

void write_outcome(int fd, const std::string &name, const Status &outcome) {
  write_text(fd, name);
  write_text(fd, outcome.ok() ? "ok" : "failed");
  write_text(fd, outcome.ok() ? "" : outcome.error().message);
  write_text(fd, outcome.ok() ? "" : outcome.error().hint);
}

constexpr const char *kSetUp = "set up";

void try_all(int fd) {
  auto ready = set_up();
  write_outcome(fd, kSetUp, ready);
  if (!ready)
    return;
  auto alone = attach_alone();
  write_outcome(fd, "load", alone);
  if (!alone)
    return;
  bool attached = false;
  write_outcome(fd, "dispatcher", attach_shared(attached));
  if (!attached)
    return;
  write_outcome(fd, "rules", drop_one());
  if (!off())
    return;
  write_outcome(fd, "capture", capture_one()); // these two attach by themselves
  write_outcome(fd, "sockets", receive_one());
}

std::vector<std::string> read_texts(int fd) {
  std::string all;
  char some[4096];
  for (ssize_t got = 0; (got = read(fd, some, sizeof(some))) > 0 || (got < 0 && errno == EINTR);)
    all.append(some, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  std::vector<std::string> texts;
  for (size_t at = 0, end = 0; (end = all.find('\0', at)) != std::string::npos; at = end + 1)
    texts.push_back(all.substr(at, end - at));
  return texts;
}

} // namespace

Result<std::vector<Trial>> try_datapath() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    return errno_error(errno, "cannot make a pipe");
  Fd from(ends[0]), to(ends[1]);
  const pid_t child = fork();
  if (child < 0)
    return errno_error(errno, "cannot start a process");
  if (child == 0) {
    from.reset();
    try_all(to.get());
    _exit(0);
  }
  to.reset();
  const auto texts = read_texts(from.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  std::vector<Trial> trials;
  for (size_t i = 0; i + 4 <= texts.size(); i += 4)
    trials.push_back(
        {texts[i], texts[i + 1] == "ok" ? Status() : Error{texts[i + 2], texts[i + 3]}});
  if (trials.empty() || WIFSIGNALED(status))
    return Error{"the process that tried it ended by a signal"};
  if (!trials.front().outcome)
    return trials.front().outcome.error();
  trials.erase(trials.begin());
  return trials;
}

} // namespace xr::doctor
