// SPDX-License-Identifier: Apache-2.0
// Frames a second through a bridge between two veth ports, beside a program that does nothing but
// redirect, on the same ports in turn: a0 ~ a1 -> b0 ~ b1. b1 counts and drops what arrives. All of
// it on one CPU, busy to the full. Frames are sent on a0 by a socket, as a host would; or, to see
// more of the difference, they are live ones that BPF_PROG_TEST_RUN makes (kernel 5.18) and
// redirects into a0, which costs a fraction of what a host's own way costs. PSNs continue.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <net/if.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "frames.h"
#include "packet_socket.h"
#include "roce/config.h"
#include "spread.h"
#include "wires.h"
#include "xdp_roce.skel.h"
#include "yards.h"
#include "yardsticks.skel.h"

namespace {

using xr::bench::arrived;
using xr::bench::fail;
using xr::bench::PacketSocket;
using xr::bench::put_on;

constexpr int kRounds = 41;

// Counts frames that arrived: veth's queue may be too short for all that were made.
double packets_per_second(const yardsticks *yard, std::vector<uint8_t> &data, uint32_t frames) {
  const int fd = bpf_program__fd(yard->progs.feed);
  const uint64_t before = arrived(yard);
  xdp_md ctx{};
  ctx.data_end = static_cast<__u32>(data.size());
  ctx.ingress_ifindex = if_nametoindex("b1");
  LIBBPF_OPTS(bpf_test_run_opts, opts);
  opts.data_in = data.data();
  opts.data_size_in = static_cast<__u32>(data.size());
  opts.ctx_in = &ctx;
  opts.ctx_size_in = sizeof(ctx);
  opts.repeat = static_cast<int>(frames);
  opts.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
  opts.batch_size = 64;
  const auto start = std::chrono::steady_clock::now();
  if (bpf_prog_test_run_opts(fd, &opts))
    fail("BPF_PROG_TEST_RUN with live frames");
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(arrived(yard) - before) / seconds;
}

template <typename Map> void leave_by(const Map *map, const char *port) {
  const uint32_t zero = 0;
  bpf_devmap_val value{};
  value.ifindex = if_nametoindex(port);
  value.bpf_prog.fd = -1;
  if (bpf_map__update_elem(map, &zero, sizeof(zero), &value, sizeof(value), 0))
    fail("devmap");
}

// Measures frames that a socket sends.
class Sender {
public:
  explicit Sender(const std::vector<uint8_t> &frame) : socket_("a0", frame) {}

  double packets_per_second(const yardsticks *yard, uint32_t frames) {
    const uint64_t before = arrived(yard);
    const auto start = std::chrono::steady_clock::now();
    for (uint32_t sent = 0; sent < frames; sent += PacketSocket::kBatch) {
      for (auto &frame : socket_.frames()) {
        const uint32_t psn = htonl(psn_++ & 0xffffff);
        std::memcpy(&frame[50], &psn, sizeof(psn));
      }
      socket_.send();
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return static_cast<double>(arrived(yard) - before) / seconds;
  }

private:
  PacketSocket socket_;
  uint32_t psn_ = 0;
};

// In turn, `frames` each time; every second round begins with the other one.
void compare(const char *what, const yardsticks *yard, const xdp_roce *roce,
             const std::function<double(uint32_t)> &rate, uint32_t frames,
             const xr::bench::Target &target) {
  std::vector<double> bare, bridge;
  const auto measure = [&](const bpf_program *program, std::vector<double> &into, bool kept) {
    put_on("a1", program);
    const double got = rate(frames);
    if (kept)
      into.push_back(got / 1e6);
  };
  for (int round = 0; round <= kRounds; round++) { // the first one warms up
    if (round % 2)
      measure(yard->progs.redirect, bare, round);
    measure(roce->progs.xdp_roce, bridge, round);
    if (round % 2 == 0)
      measure(yard->progs.redirect, bare, round);
  }
  std::printf("%s (median of %d, and quartiles)\n", what, kRounds);
  xr::bench::print("a bare redirect", xr::bench::spread(bare), {}, " M");
  xr::bench::print("the bridge, counting and tracking", xr::bench::spread(bridge), {}, " M");
  xr::bench::print("ratio, of the pieces of a round",
                   xr::bench::spread(xr::bench::ratios(bridge, bare)), target);
}

} // namespace

int main() {
  libbpf_set_print(nullptr);
  xr::bench::pin_to(1);
  xr::bench::Wires wires({"a", "b"});

  yardsticks *yard = xr::bench::open_yard();
  xdp_roce *roce = xdp_roce__open();
  if (!yard || !roce)
    fail("open");
  roce->rodata->config.features = ROCE_FEATURE_FORWARD;
  bpf_program__set_autoload(roce->progs.cnp_egress, false);
  if (xdp_roce__load(roce))
    fail("load");
  leave_by(roce->maps.forward, "b0");
  leave_by(yard->maps.out, "b0");
  leave_by(yard->maps.in, "a0");
  const uint32_t zero = 0;
  const int enter = bpf_program__fd(yard->progs.enter);
  if (bpf_map__update_elem(yard->maps.target, &zero, sizeof(zero), &enter, sizeof(enter), 0))
    fail("set target");
  put_on("b1", yard->progs.arrive);

  std::vector<uint8_t> data = xr::bench::send_middle(1024);
  Sender sender(data);
  compare(
      "1 KB frames a second from veth to veth, sent by a socket", yard, roce,
      [&](uint32_t frames) { return sender.packets_per_second(yard, frames); }, 128'000,
      xr::bench::at_least(0.95));
  compare("the same, made in the kernel", yard, roce,
          [&](uint32_t frames) { return packets_per_second(yard, data, frames); }, 640'000, {});
  xdp_roce__destroy(roce);
  yardsticks__destroy(yard);
  return 0;
}
