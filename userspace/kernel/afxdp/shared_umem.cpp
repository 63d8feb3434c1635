// SPDX-License-Identifier: Apache-2.0
#include "afxdp/shared_umem.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <sys/socket.h>

#include <fmt/format.h>

#include "afxdp/bind.h"

namespace xr::afxdp {

Result<std::unique_ptr<SharedUmem>> SharedUmem::make(uint32_t longest, uint32_t chunks,
                                                     bool kilobytes) {
  std::unique_ptr<SharedUmem> self(new SharedUmem(longest, chunks, kilobytes));
  raise_memlock();
  XR_TRY(self->map());
  xsk_umem_config config{};
  config.fill_size = ring_size(4096);
  config.comp_size = ring_size(4096);
  config.frame_size = self->layout_.chunk;
  const int error = -xsk_umem__create(&self->umem_, self->area_.bytes(), self->area_.size(),
                                      &self->first_fill_, &self->first_completion_, &config);
  if (!error)
    return self;
  self->umem_ = nullptr;
  return errno_error(error, "the kernel refuses the memory for frames",
                     error == ENOBUFS ? "raise the limit of locked memory: ulimit -l unlimited"
                                      : "");
}

SharedUmem::~SharedUmem() {
  if (umem_)
    xsk_umem__delete(umem_);
}

// The first socket of a UMEM uses the rings that libxdp made with it.
int ForwardSocket::bind() {
  const bool first = !umem_.first_used_;
  fill_ = first ? &umem_.first_fill_ : &own_fill_;
  completion_ = first ? &umem_.first_completion_ : &own_completion_;
  xsk_socket_config config{};
  config.rx_size = ring_size(options_.receive * umem_.layout().received);
  config.tx_size = ring_size(options_.send * umem_.layout().received);
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  config.bind_flags = static_cast<uint16_t>(XDP_USE_NEED_WAKEUP | (options_.copy ? XDP_COPY : 0) |
                                            (umem_.layout().several ? XDP_USE_SG : 0));
  const int error =
      -xsk_socket__create_shared(&socket_, options_.ifname.c_str(), options_.queue, umem_.umem_,
                                 &rx_, &tx_, fill_, completion_, &config);
  if (error)
    socket_ = nullptr;
  else
    umem_.first_used_ = true;
  return error;
}

Result<std::unique_ptr<ForwardSocket>> ForwardSocket::open(SharedUmem &umem,
                                                           const ForwardOptions &options) {
  std::unique_ptr<ForwardSocket> self(new ForwardSocket(umem, options));
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const int error = self->bind();
    if (!error)
      break;
    if (error != EBUSY || std::chrono::steady_clock::now() > until)
      return bind_error(error, options.ifname, options.queue, umem.longest_, umem.layout_.several);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  xdp_options given{};
  socklen_t size = sizeof(given);
  self->zero_copy_ = getsockopt(self->fd(), SOL_XDP, XDP_OPTIONS, &given, &size) == 0 &&
                     (given.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  return self;
}

ForwardSocket::~ForwardSocket() {
  if (socket_)
    xsk_socket__delete(socket_);
}

void ForwardSocket::fill(ChunkPool &pool) {
  const uint32_t room = xsk_prod_nb_free(fill_, static_cast<uint32_t>(pool.free()));
  const uint32_t count = std::min(room, static_cast<uint32_t>(pool.free()));
  uint32_t at = 0;
  if (!count || xsk_ring_prod__reserve(fill_, count, &at) != count)
    return;
  for (uint32_t i = 0; i < count; i++) {
    *xsk_ring_prod__fill_addr(fill_, at + i) = uint64_t{pool.take()} << umem_.bits_;
  }
  xsk_ring_prod__submit(fill_, count);
}

size_t ForwardSocket::receive(std::span<uint32_t> frames) {
  if (xsk_ring_prod__needs_wakeup(fill_))
    recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
  uint32_t at = 0, from = 0, last = SharedUmem::kNone;
  const uint32_t count = xsk_ring_cons__peek(&rx_, static_cast<uint32_t>(frames.size()), &at);
  const uint64_t mask = umem_.layout().chunk - 1;
  size_t whole = 0;
  for (uint32_t i = 0; i < count; i++) {
    const xdp_desc *piece = xsk_ring_cons__rx_desc(&rx_, at + i);
    const auto chunk = static_cast<uint32_t>(piece->addr >> umem_.bits_);
    umem_.piece(chunk) = {static_cast<uint32_t>(piece->addr & mask), piece->len, SharedUmem::kNone};
    if (i == from)
      frames[whole] = chunk;
    else
      umem_.piece(last).next = chunk;
    last = chunk;
    if (piece->options & XDP_PKT_CONTD)
      continue;
    whole++;
    from = i + 1;
  }
  if (count > from) // the rest of the last frame has not arrived
    xsk_ring_cons__cancel(&rx_, count - from);
  if (from)
    xsk_ring_cons__release(&rx_, from);
  return whole;
}

uint32_t ForwardSocket::chunk_room() const {
  const uint32_t waiting = *tx_.producer + put_ - __atomic_load_n(tx_.consumer, __ATOMIC_ACQUIRE);
  // Completions need room too: the completion ring has 4,096 entries.
  return std::min(tx_.size - std::min(waiting, tx_.size),
                  completion_->size - std::min(in_transmission(), completion_->size));
}

Status ForwardSocket::flush() {
  if (put_)
    xsk_ring_prod__submit(&tx_, std::exchange(put_, 0));
  if (!unsent(tx_) || !xsk_ring_prod__needs_wakeup(&tx_))
    return {};
  const int error = send_all(fd(), tx_, zero_copy_, lost_);
  return error ? errno_error(error, fmt::format("{} can no longer send", options_.ifname))
               : Status();
}

void ForwardSocket::complete(ChunkPool &pool) {
  uint32_t at = 0;
  const uint32_t count = xsk_ring_cons__peek(completion_, completion_->size, &at);
  if (!count)
    return;
  for (uint32_t i = 0; i < count; i++)
    pool.give_chunk(
        static_cast<uint32_t>(*xsk_ring_cons__comp_addr(completion_, at + i) >> umem_.bits_));
  xsk_ring_cons__release(completion_, count);
  completed_ += count;
}

} // namespace xr::afxdp
