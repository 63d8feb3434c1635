// SPDX-License-Identifier: Apache-2.0
#include "endpoint/queue_share.h"

#include <cstring>

#include <sys/eventfd.h>

namespace xr::endpoint {

PassedFrames::PassedFrames() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool PassedFrames::put(std::span<const uint8_t> frame, roce_class class_,
                       const roce_packet &packet) {
  const std::lock_guard guard(putting_);
  const size_t at = put_.size();
  if (at + sizeof(Header) + frame.size() > kRoom)
    return false;
  const Header header{packet, static_cast<uint32_t>(frame.size()), class_};
  const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
  put_.insert(put_.end(), bytes, bytes + sizeof(header));
  put_.insert(put_.end(), frame.begin(), frame.end());
  if (!at) {
    waiting_.store(true, std::memory_order_release);
    eventfd_write(wake_fd(), 1);
  }
  return true;
}

void PassedFrames::take(uint64_t now, size_t most, packet::Source &source) {
  for (; most > 0; most--) {
    if (at_ == taken_.size()) {
      taken_.clear();
      at_ = 0;
      if (!waiting_.load(std::memory_order_acquire))
        return;
      const std::lock_guard guard(putting_);
      taken_.swap(put_);
      waiting_.store(false, std::memory_order_release);
      eventfd_t wakes = 0;
      eventfd_read(wake_fd(), &wakes);
    }
    Header header;
    memcpy(&header, &taken_[at_], sizeof(header));
    const std::span frame(&taken_[at_ + sizeof(header)], header.length);
    at_ += sizeof(header) + header.length;
    source.receive(now, frame, header.class_, header.packet);
  }
}

Result<std::unique_ptr<QueueShare>> QueueShare::make(uint32_t queues, uint32_t connections) {
  auto share = std::unique_ptr<QueueShare>(new QueueShare(connections));
  for (uint32_t i = 0; i < queues; i++) {
    share->passed_.push_back(std::make_unique<PassedFrames>());
    if (share->passed_.back()->wake_fd() < 0)
      return Error{"no eventfd: too many files are open", "ulimit -n"};
  }
  return share;
}

std::optional<uint32_t> QueueShare::owner(const packet::PeerKey &key, uint32_t taker) {
  const std::lock_guard guard(asking_);
  if (const uint32_t *known = owners_.find(key))
    return *known;
  return owners_.insert(key, taker) ? std::optional(taker) : std::nullopt;
}

std::optional<uint32_t> QueueShare::find(const packet::PeerKey &key) {
  const std::lock_guard guard(asking_);
  const uint32_t *known = owners_.find(key);
  return known ? std::optional(*known) : std::nullopt;
}

void QueueShare::forget(const packet::PeerKey &key, uint32_t owner) {
  const std::lock_guard guard(asking_);
  if (const uint32_t *known = owners_.find(key); known && *known == owner)
    owners_.erase(key);
}

bool QueueShare::pass(uint32_t to, std::span<const uint8_t> frame, roce_class class_,
                      const roce_packet &packet) {
  return passed_[to]->put(frame, class_, packet);
}

} // namespace xr::endpoint
