// SPDX-License-Identifier: Apache-2.0
// Frames a second that `send` puts on a virtual wire, beside a minimal AF_XDP sender that pushes
// one constant frame and does nothing else; both on one CPU, in copy mode, native XDP at the other
// end.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <thread>

#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <xdp/xsk.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "endpoint/respond.h"
#include "endpoint/send.h"
#include "packet/icrc.h"
#include "packet/template.h"
#include "senders.h"
#include "spread.h"
#include "wires.h"
#include "yards.h"
#include "yardsticks.skel.h"

namespace {

using namespace xr;
using bench::arrived;
using bench::fail;
using bench::flow_of;
using bench::measure;
using bench::put_on;
using bench::Rates;
using bench::Send;

constexpr int kRounds = 31;

// The yardstick: no clock, no schedule, no packet that differs from the one before.
class Minimal {
public:
  explicit Minimal(std::span<const uint8_t> frame) : length_(static_cast<uint32_t>(frame.size())) {
    constexpr size_t kBytes = size_t{kFrames} * 2048;
    area_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (area_ == MAP_FAILED)
      fail("memory");
    int error = EBUSY; // until the socket before it is gone
    for (int i = 0; i < 200 && error == EBUSY; i++) {
      error = open();
      if (error)
        usleep(10'000);
    }
    if (error)
      fail("minimal sender");
    std::copy(frame.begin(), frame.end(), static_cast<uint8_t *>(area_));
  }
  ~Minimal() {
    xsk_socket__delete(socket_);
    xsk_umem__delete(umem_);
    munmap(area_, size_t{kFrames} * 2048);
  }
  Minimal(const Minimal &) = delete;
  Minimal &operator=(const Minimal &) = delete;

  void run(uint64_t until) {
    uint32_t out = 0;
    while (monotonic_ns() < until) {
      uint32_t at = 0;
      const uint32_t done = xsk_ring_cons__peek(&completion_, kFrames, &at);
      xsk_ring_cons__release(&completion_, done);
      out -= done;
      if (out + kBatch <= kFrames && xsk_ring_prod__reserve(&tx_, kBatch, &at) == kBatch) {
        for (uint32_t i = 0; i < kBatch; i++)
          *xsk_ring_prod__tx_desc(&tx_, at + i) = {0, length_, 0};
        xsk_ring_prod__submit(&tx_, kBatch);
        out += kBatch;
      }
      sendto(xsk_socket__fd(socket_), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    }
  }

private:
  static constexpr uint32_t kFrames = 1024, kBatch = 32;

  int open() {
    const xsk_umem_config memory{kFrames, kFrames, 2048, 0, 0};
    xsk_socket_config config{};
    config.rx_size = config.tx_size = kFrames;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    if (const int error =
            -xsk_umem__create(&umem_, area_, size_t{kFrames} * 2048, &fill_, &completion_, &memory))
      return error;
    const int error = -xsk_socket__create(&socket_, "a0", 0, umem_, nullptr, &tx_, &config);
    if (error)
      xsk_umem__delete(umem_);
    return error;
  }

  uint32_t length_;
  void *area_ = nullptr;
  xsk_umem *umem_ = nullptr;
  xsk_socket *socket_ = nullptr;
  xsk_ring_prod fill_{}, tx_{};
  xsk_ring_cons completion_{};
};

// In turn; every second round begins with the other one. Gives how many `send` sends a second.
double compare(const yardsticks *yard, const char *what, uint32_t payload, const std::string &words,
               const bench::Target &target) {
  Rates yardstick, ours;
  const auto bytes = packet::counting_payload(payload);
  const auto frame = packet::build(flow_of(words).path, packet::Headers{}, bytes);
  if (!frame)
    fail(frame.error().message);
  const auto measure_yardstick = [&] {
    Minimal minimal(frame.get().bytes);
    measure(yard, yardstick, [&](uint64_t until) { minimal.run(until); });
  };
  for (int round = 0; round < kRounds; round++) {
    if (round % 2)
      measure_yardstick();
    {
      Send send(words);
      measure(yard, ours, [&](uint64_t until) { send.run(until); });
    }
    if (round % 2 == 0)
      measure_yardstick();
  }
  std::printf("%s (median of %d, and quartiles)\n", what, kRounds);
  bench::print("one constant frame", bench::spread(yardstick.time), {}, " M");
  bench::print("send", bench::spread(ours.time), {}, " M");
  bench::print("ratio, of the pieces of a round",
               bench::spread(bench::ratios(ours.time, yardstick.time)), target);
  bench::print("the same by processor time",
               bench::spread(bench::ratios(ours.processor, yardstick.processor)));
  return bench::spread(ours.time).median * 1e6;
}

void measure_icrc() {
  const auto path = flow_of("").path;
  const auto bytes = packet::counting_payload(4096);
  auto frame = packet::build(path, packet::Headers{}, bytes);
  auto shape = packet::Template::make(path, packet::Headers{}, std::span(bytes).first(1024));
  auto stamped =
      packet::Template::make(path, packet::Headers{}, std::span(bytes).first(1024), -1, true);
  if (!frame || !shape || !stamped)
    fail("frame");
  constexpr int kFull = 20'000, kPatched = 1'000'000;
  const packet::Layout &layout = frame->layout;
  const double covered = static_cast<double>(layout.end - layout.l3 - ROCE_ICRC_LEN);
  std::vector<uint8_t> out(shape->bytes().begin(), shape->bytes().end());
  std::vector<double> full, patched, with_stamp;
  packet::Fields fields;
  uint32_t sum = 0;
  for (int round = 0; round < kRounds; round++) {
    uint64_t start = monotonic_ns();
    for (int i = 0; i < kFull; i++) {
      frame->bytes[layout.payload] = static_cast<uint8_t>(i);
      sum += icrc_value(frame->bytes.data(), layout.l3, layout.bth, layout.end);
    }
    full.push_back(covered * kFull / static_cast<double>(monotonic_ns() - start));
    start = monotonic_ns();
    for (int i = 0; i < kPatched; i++) {
      fields.psn = static_cast<uint32_t>(i) & 0xffffff;
      shape->stamp(out.data(), fields);
      sum += out.back();
    }
    patched.push_back(static_cast<double>(monotonic_ns() - start) / kPatched);
    start = monotonic_ns();
    for (int i = 0; i < kPatched; i++) {
      fields.psn = static_cast<uint32_t>(i) & 0xffffff;
      stamped->stamp(out.data(), fields);
      stamped->set_stamp(out.data(), static_cast<uint64_t>(i), clock_ns(CLOCK_TAI));
      sum += out.back();
    }
    with_stamp.push_back(static_cast<double>(monotonic_ns() - start) / kPatched);
  }
  std::printf("iCRC%s (median of %d, and quartiles)\n", sum ? "" : " ", kRounds);
  bench::print("computed, 4 KB", bench::spread(full), bench::at_least(5), " GB/s");
  bench::print("a packet's fields and patched iCRC", bench::spread(patched), bench::at_most(10),
               " ns");
  bench::print("the same with a stamp, its clock read", bench::spread(with_stamp), {}, " ns");
}

SendReport send_at(double pps, double seconds, const std::string &words) {
  endpoint::SendRequest request;
  request.ifname = "a0";
  request.queues.copy = true;
  request.flows = {flow_of(words)};
  request.flows[0].pacing.rate = {congestion::Rate::Kind::Packets, pps, ""};
  request.flows[0].duration_ns = static_cast<uint64_t>(seconds * 1e9);
  auto run = endpoint::SendRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  const std::atomic<bool> never{false};
  if (auto done = run->run(never, {}, {}); !done)
    fail(done.error().message);
  auto report = run->report();
  if (auto done = run->close(); !done)
    fail(done.error().message);
  return report;
}

void measure_rates(double most) {
  std::printf("asked and achieved over 5 s (must be within 0.5 %%), and how evenly\n");
  for (const double pps : {1e3, 1e4, 1e5, most / 2, most * 0.8}) {
    const auto report = send_at(pps, 5, "qp 0x11 size 1M");
    const double got = static_cast<double>(report.engine.sent) / report.seconds;
    const Histogram &jitter = report.engine.jitter_ns;
    std::printf("  %10.0f packets/s asked, %12.1f achieved%s; jitter p50 %.1f us, p99 %.1f us\n",
                pps, got, std::abs(got / pps - 1) <= 0.005 ? "" : "  MISSED",
                static_cast<double>(jitter.quantile(0.5)) / 1e3,
                static_cast<double>(jitter.quantile(0.99)) / 1e3);
  }
}

// One QP under control, without CNPs, sends at the rate of the line.
void measure_qp_rates(const yardsticks *yard) {
  constexpr double kFrameBytes = 1024 + 58; // Ethernet, IPv4, UDP, BTH, payload, iCRC
  std::printf("one QP with a control of its own over 5 s (must be within 0.5 %%)\n");
  for (const char *control : {"dcqcn line", "fixed"})
    for (const double bits : {10e6, 100e6, 1e9}) {
      Send send(fmt::format("qp 0x11 size 1M cc {} {:.0f}mbit", control, bits / 1e6));
      const uint64_t before = arrived(yard), start = monotonic_ns();
      send.run(start + 5'000'000'000);
      const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
      // A QP under control does not make up for what a stall took: nor does the figure.
      const double given_up = static_cast<double>(send.counts().slipped_ns) / 1e9;
      const double got = static_cast<double>(arrived(yard) - before) * kFrameBytes * 8 /
                         std::max(seconds - given_up, 1e-3);
      std::printf("  cc %-10s %8.1f Mbit/s asked, %9.3f arrived%s; stalls took %.3f s\n", control,
                  bits / 1e6, got / 1e6, std::abs(got / bits - 1) <= 0.005 ? "" : "  MISSED",
                  given_up);
    }
}

// A responder on the other CPU, which acknowledges each packet; a program at the sender counts and
// drops what comes back.
void measure_respond(const yardsticks *yard, double most) {
  put_on("a0", yard->progs.arrive);
  endpoint::RespondRequest request;
  request.ifname = "a1";
  request.responder.addresses = {flow_of("").path.dst};
  request.queues.copy = true;
  request.queues.count = 1;
  auto run = endpoint::RespondRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    bench::pin_to(0);
    if (auto done = run->run(stop, {}, {}); !done)
      fail(done.error().message);
  });
  const uint64_t before = arrived(yard);
  const auto sent = send_at(most / 2, 5, "qp 0x11 size 1M ack-every 1");
  usleep(200'000);
  stop = true;
  thread.join();
  const auto report = run->report();
  if (auto done = run->close(); !done)
    fail(done.error().message);
  const auto &lost = report.engine.socket;
  std::printf("respond: an ACK for each packet, at half of the sender's rate\n");
  std::printf("  %.0f packets/s; %lu sent, %lu acknowledged%s, %lu ACKs came back\n",
              static_cast<double>(sent.engine.sent) / sent.seconds, sent.engine.sent,
              report.counts.acks, report.counts.acks == sent.engine.sent ? "" : "  MISSED",
              arrived(yard) - before);
  std::printf("  lost before it: %lu (its ring full %lu, no memory %lu)\n",
              sent.engine.sent - report.counts.requests, lost.rx_ring_full, lost.rx_no_chunk);
}

} // namespace

int main() {
  libbpf_set_print(nullptr);
  bench::pin_to(1);
  bench::Wires wires({"a"});
  yardsticks *yard = bench::open_yard();
  put_on("a1", yard->progs.arrive);
  measure_icrc();
  const double most = compare(yard, "frames a second, 1,024 B of payload, one RC flow", 1024,
                              "qp 0x11 size 1M", bench::at_least(0.98));
  compare(yard, "the same, stamped", 1024, "qp 0x11 size 1M stamp", {});
  compare(yard, "the same, 10,000 QPs", 1024, "qp 0x11 qps 10000 size 1M", bench::at_least(0.85));
  compare(yard, "the same, 10,000 QPs, each with DCQCN and a rate of its own", 1024,
          "qp 0x11 qps 10000 size 1M cc dcqcn line 10mbit", bench::at_least(0.85));
  compare(yard, "the same, 10,000 QPs, each at a fixed rate of its own", 1024,
          "qp 0x11 qps 10000 size 1M cc fixed 10mbit", bench::at_least(0.85));
  compare(yard, "the same, frames of 64 B, one RC flow", 6, "qp 0x11 size 6", {});
  measure_rates(most);
  measure_qp_rates(yard);
  if (bpf_xdp_detach(static_cast<int>(if_nametoindex("a1")), XDP_FLAGS_DRV_MODE, nullptr))
    fail("detach");
  measure_respond(yard, most);
  yardsticks__destroy(yard);
  return 0;
}
