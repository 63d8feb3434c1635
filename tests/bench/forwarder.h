// SPDX-License-Identifier: Apache-2.0
// What `wire` is measured beside: a process that moves each frame of a port to another port, by
// AF_XDP in copy mode, and does nothing else. One memory for both, so that it copies none itself.
#pragma once

#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/if_xdp.h>
#include <xdp/xsk.h>

#include "wires.h"
#include "yardsticks.skel.h"

namespace xr::bench {

class Forwarder {
public:
  static constexpr uint32_t kBatch = 64, kRing = 4096; // as `wire` has

  // From queue 0 of `from`, where the program `to_socket` is, to queue 0 of `to`.
  Forwarder(const yardsticks *yard, const char *from, const char *to) {
    area_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (area_ == MAP_FAILED)
      fail("memory");
    int error = EBUSY; // until the sockets before these are gone
    for (int i = 0; i < 300 && error == EBUSY; i++) {
      error = open(from, to);
      if (error)
        usleep(10'000);
    }
    const uint32_t zero = 0;
    const int fd = error ? -1 : xsk_socket__fd(in_);
    if (error || bpf_map__update_elem(yard->maps.sockets, &zero, sizeof(zero), &fd, sizeof(fd), 0))
      fail("forwarder");
    uint32_t at = 0;
    xsk_ring_prod__reserve(&fill_, kRing, &at);
    for (uint32_t i = 0; i < kRing; i++)
      *xsk_ring_prod__fill_addr(&fill_, at + i) = uint64_t{i} * kChunk;
    xsk_ring_prod__submit(&fill_, kRing);
  }
  ~Forwarder() {
    xsk_socket__delete(in_);
    xsk_socket__delete(out_);
    xsk_umem__delete(umem_);
    munmap(area_, kBytes);
  }
  Forwarder(const Forwarder &) = delete;
  Forwarder &operator=(const Forwarder &) = delete;

  // At most a batch. False: there was none.
  bool turn() {
    uint32_t from = 0, to = 0;
    const uint32_t got = xsk_ring_cons__peek(&rx_, kBatch, &from);
    if (got) {
      if (xsk_ring_prod__reserve(&tx_, got, &to) != got)
        fail("the TX ring is full");
      for (uint32_t i = 0; i < got; i++) {
        const xdp_desc *one = xsk_ring_cons__rx_desc(&rx_, from + i);
        *xsk_ring_prod__tx_desc(&tx_, to + i) = {one->addr, one->len, 0};
      }
      xsk_ring_cons__release(&rx_, got);
      xsk_ring_prod__submit(&tx_, got);
    }
    for (int calls = 0; calls < 64 && unsent(); calls++) // the kernel sends 32 a call
      sendto(xsk_socket__fd(out_), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    // The kernel says with a delay what it has taken from the fill ring.
    const uint32_t done = xsk_ring_cons__peek(&completion_, xsk_prod_nb_free(&fill_, kRing), &from);
    if (done) {
      xsk_ring_prod__reserve(&fill_, done, &to);
      for (uint32_t i = 0; i < done; i++)
        *xsk_ring_prod__fill_addr(&fill_, to + i) =
            *xsk_ring_cons__comp_addr(&completion_, from + i) & ~uint64_t{kChunk - 1};
      xsk_ring_cons__release(&completion_, done);
      xsk_ring_prod__submit(&fill_, done);
    }
    return got != 0;
  }

private:
  static constexpr uint32_t kChunk = 2048;
  static constexpr size_t kBytes = size_t{kRing} * kChunk;

  uint32_t unsent() const {
    return *tx_.producer - __atomic_load_n(tx_.consumer, __ATOMIC_ACQUIRE);
  }

  int open(const char *from, const char *to) {
    const xsk_umem_config memory{kRing, kRing, kChunk, 0, 0};
    xsk_socket_config config{};
    config.rx_size = config.tx_size = kRing;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    int error = -xsk_umem__create(&umem_, area_, kBytes, &fill_, &unused_completion_, &memory);
    if (error)
      return error;
    error = -xsk_socket__create_shared(&in_, from, 0, umem_, &rx_, &unused_tx_, &fill_,
                                       &unused_completion_, &config);
    if (!error) {
      error = -xsk_socket__create_shared(&out_, to, 0, umem_, &unused_rx_, &tx_, &unused_fill_,
                                         &completion_, &config);
      if (!error)
        return 0;
      xsk_socket__delete(in_);
    }
    xsk_umem__delete(umem_);
    return error;
  }

  void *area_ = nullptr;
  xsk_umem *umem_ = nullptr;
  xsk_socket *in_ = nullptr, *out_ = nullptr;
  xsk_ring_prod fill_{}, unused_fill_{}, tx_{}, unused_tx_{};
  xsk_ring_cons completion_{}, unused_completion_{}, rx_{}, unused_rx_{};
};

} // namespace xr::bench
