// SPDX-License-Identifier: Apache-2.0
#include "afxdp/socket.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include <fmt/format.h>

#include "afxdp/bind.h"
#include "base/fd.h"

namespace xr::afxdp {

namespace {

// Chunks in addition to those in the rings: read but not released, and chunks between two rings.
constexpr uint32_t kInProcess = 128;
constexpr uint32_t kInDriver = 512; // chunks in the driver: NAPI's budget and its own batches
constexpr int kTries = 5;           // attempts while the driver restarts a queue

bool has_carrier(const std::string &ifname) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  ifname.copy(request.ifr_name, IFNAMSIZ - 1);
  return fd && ioctl(fd.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING);
}

} // namespace

Socket::Socket(const SocketOptions &options)
    : options_(options), layout_(ChunkLayout::of(options.longest, options.kilobytes)),
      slot_bytes_(layout_.slot()),
      chunk_bits_(static_cast<unsigned>(std::countr_zero(layout_.chunk))) {}

void Socket::close() {
  if (socket_)
    xsk_socket__delete(socket_);
  if (umem_)
    xsk_umem__delete(umem_);
  socket_ = nullptr;
  umem_ = nullptr;
}

int Socket::make_umem() {
  xsk_umem_config config{};
  config.fill_size = ring_size(chunks());
  config.comp_size = ring_size(options_.slots * layout_.pieces);
  config.frame_size = layout_.chunk;
  const int error =
      -xsk_umem__create(&umem_, area_.bytes(), area_.size(), &fill_, &completion_, &config);
  if (error)
    umem_ = nullptr;
  return error;
}

int Socket::bind() {
  xsk_socket_config config{};
  config.rx_size = ring_size(options_.receive);
  config.tx_size = ring_size(options_.slots * layout_.pieces);
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  config.bind_flags = static_cast<uint16_t>(XDP_USE_NEED_WAKEUP | (options_.copy ? XDP_COPY : 0) |
                                            (layout_.several ? XDP_USE_SG : 0));
  const int error = -xsk_socket__create(&socket_, options_.ifname.c_str(), options_.queue, umem_,
                                        options_.receive ? &rx_ : nullptr, &tx_, &config);
  if (error)
    socket_ = nullptr;
  return error;
}

// After a failed bind libxdp has destroyed the UMEM's rings: each attempt creates everything again.
Status Socket::make() {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (const int error = make_umem())
      return errno_error(error, "the kernel refuses the memory for frames",
                         error == ENOBUFS ? "raise the limit of locked memory: ulimit -l unlimited"
                                          : "");
    fill(); // before bind(), so that the driver never finds an empty fill ring
    const int error = bind();
    if (!error)
      return {};
    close();
    if (error != EBUSY || std::chrono::steady_clock::now() > until)
      return bind_error(error, options_.ifname, options_.queue, options_.longest, layout_.several);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Socket::set_up() {
  free_.resize(options_.slots);
  while (free_count_ < options_.slots) {
    free_[free_count_] = options_.slots - 1 - free_count_; // take() returns the lowest first
    free_count_++;
  }
  pieces_out_.resize(options_.slots);
  for (uint32_t i = 0; i < options_.slots * layout_.pieces; i++)
    slot_of_.push_back(i / layout_.pieces);
  used_.reserve(options_.receive);
}

void Socket::fill() {
  std::vector<uint64_t> all(chunks());
  for (uint32_t i = 0; i < chunks(); i++)
    all[i] = uint64_t{options_.slots} * layout_.slot() + uint64_t{i} * layout_.chunk;
  give_back(all.data(), chunks());
}

// Some drivers (mlx5, ice, i40e) accept zero-copy but refuse to send while no XDP program is on the
// port. sendto() calls the driver even if there is nothing to send, so it is a test.
bool Socket::can_send() {
  for (int i = 0; i < kTries; i++) {
    if (i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0)
      return true;
    if (errno != EINVAL && errno != ENETDOWN && errno != ENXIO)
      return true; // a temporary error
  }
  return errno == ENETDOWN && !has_carrier(options_.ifname); // ice: without carrier
}

void Socket::give_back(const uint64_t *chunks, uint32_t count) {
  uint32_t at = 0;
  if (!count || xsk_ring_prod__reserve(&fill_, count, &at) != count)
    return; // cannot happen: the fill ring has room for all chunks
  for (uint32_t i = 0; i < count; i++)
    *xsk_ring_prod__fill_addr(&fill_, at + i) = chunks[i];
  xsk_ring_prod__submit(&fill_, count);
}

// Copies a frame in several chunks into one buffer.
const uint8_t *Socket::join(uint32_t at, uint32_t count, uint32_t length) {
  if (joined_used_ == joined_.size())
    joined_.emplace_back();
  std::vector<uint8_t> &out = joined_[joined_used_++];
  out.resize(length);
  uint32_t offset = 0;
  for (uint32_t i = 0; i < count; i++) {
    const xdp_desc *piece = xsk_ring_cons__rx_desc(&rx_, at + i);
    memcpy(out.data() + offset, area_.bytes() + piece->addr, piece->len);
    offset += piece->len;
  }
  return out.data();
}

uint32_t Socket::chunks(const SocketOptions &options) {
  const uint32_t own = options.receive ? ring_size(options.receive) + kInProcess : 0;
  const bool drivers = options.rx_ring && !options.copy;
  return own + (drivers ? options.rx_ring + kInDriver : 0);
}

uint64_t Socket::memory(const SocketOptions &options) {
  const ChunkLayout layout = ChunkLayout::of(options.longest, options.kilobytes);
  return uint64_t{layout.chunk} * (options.slots * layout.pieces + chunks(options));
}

Result<std::unique_ptr<Socket>> Socket::open(const SocketOptions &options) {
  std::unique_ptr<Socket> self(new Socket(options));
  raise_memlock();
  self->area_ = XR_TRY(UmemArea::map(memory(options)));
  XR_TRY(self->make());
  xdp_options given{};
  socklen_t size = sizeof(given);
  self->zero_copy_ = getsockopt(self->fd(), SOL_XDP, XDP_OPTIONS, &given, &size) == 0 &&
                     (given.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  if (self->zero_copy_ && !self->can_send()) {
    self.reset();
    SocketOptions copying = options;
    copying.copy = true;
    auto again = open(copying);
    if (again)
      (*again)->cannot_send_ = true;
    return again;
  }
  self->set_up();
  return self;
}

void Socket::put_pieces(uint32_t slot, uint32_t length) {
  uint64_t address = uint64_t{slot} * slot_bytes_;
  uint32_t at = 0, pieces = 0;
  for (uint32_t left = length; left; pieces++) {
    const uint32_t here = std::min(left, layout_.chunk);
    if (!xsk_ring_prod__reserve(&tx_, 1, &at))
      break;
    left -= here;
    *xsk_ring_prod__tx_desc(&tx_, at) = {address, here, left ? XDP_PKT_CONTD : 0U};
    address += here;
  }
  pieces_out_[slot] = static_cast<uint8_t>(pieces);
  put_ += pieces;
}

Status Socket::flush() {
  if (put_)
    xsk_ring_prod__submit(&tx_, std::exchange(put_, 0));
  if (!unsent(tx_) || !xsk_ring_prod__needs_wakeup(&tx_))
    return {};
  const int error = send_all(fd(), tx_, zero_copy_, lost_);
  if (!error)
    return {};
  if (error == ENXIO)
    if (auto there = check(); !there)
      return there;
  return errno_error(error, fmt::format("{} can no longer send", options_.ifname));
}

size_t Socket::receive(std::span<Received> out) {
  if (xsk_ring_prod__needs_wakeup(&fill_)) {
    if (options_.receive)
      recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    else if (zero_copy_) // recvfrom() needs an RX ring; poll() also wakes the driver
      wait(0);
  }
  if (!options_.receive)
    return 0;
  uint32_t at = 0, length = 0, from = 0;
  const uint32_t count = xsk_ring_cons__peek(&rx_, static_cast<uint32_t>(out.size()), &at);
  size_t frames = 0;
  for (uint32_t i = 0; i < count; i++) {
    const xdp_desc *piece = xsk_ring_cons__rx_desc(&rx_, at + i);
    length += piece->len;
    if (piece->options & XDP_PKT_CONTD)
      continue;
    const uint8_t *data =
        i == from ? area_.bytes() + piece->addr : join(at + from, i + 1 - from, length);
    out[frames++] = {data, length};
    length = 0;
    from = i + 1;
  }
  for (uint32_t i = 0; i < from; i++)
    used_.push_back(xsk_ring_cons__rx_desc(&rx_, at + i)->addr);
  if (count > from) // the rest of the last frame has not arrived
    xsk_ring_cons__cancel(&rx_, count - from);
  if (from)
    xsk_ring_cons__release(&rx_, from);
  return frames;
}

void Socket::release() {
  for (uint64_t &chunk : used_)
    chunk &= ~uint64_t{layout_.chunk - 1};
  give_back(used_.data(), static_cast<uint32_t>(used_.size()));
  used_.clear();
  joined_used_ = 0;
}

bool Socket::wait(uint64_t ns) {
  std::array<pollfd, 2> items{{{fd(), POLLIN, 0}, {other_fd_, POLLIN, 0}}};
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  return ppoll(items.data(), other_fd_ < 0 ? 1 : 2, &time, nullptr) >= 0 || errno != EINTR;
}

// Drivers complete frames in order, so the unsent ones are the last descriptors of the TX ring.
Socket::Unsent Socket::unsent_frames() {
  Unsent waiting;
  const auto *descriptors = static_cast<const xdp_desc *>(tx_.ring);
  const uint32_t end = *tx_.producer;
  uint32_t left = unsent(tx_);
  if (zero_copy_) {
    reclaim();
    left = end - *completion_.consumer;
  }
  for (uint32_t at = end - left; at != end; at++) {
    const xdp_desc &desc = descriptors[at & tx_.mask];
    waiting.bytes += desc.len;
    waiting.frames += desc.options & XDP_PKT_CONTD ? 0 : 1;
  }
  return waiting;
}

Status Socket::check() const {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size) < 0)
    error = errno;
  return error ? Status{Error{fmt::format("{} is gone", options_.ifname)}} : Status{};
}

SocketCounts Socket::counts() const {
  const KernelCounts kernel = kernel_counts(fd(), zero_copy_);
  SocketCounts counts;
  counts.tx_dropped = lost_.tx_dropped;
  counts.link_down = lost_.link_down;
  counts.fill_ring_empty = kernel.fill_ring_empty;
  counts.rx_no_chunk = kernel.no_chunk;
  counts.rx_dropped = kernel.refused;
  counts.rx_ring_full = kernel.ring_full;
  counts.tx_invalid = kernel.tx_invalid;
  return counts;
}

} // namespace xr::afxdp
