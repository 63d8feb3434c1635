// SPDX-License-Identifier: Apache-2.0
// The responders of several queues of a port as one: which queue has which connection, and the
// frames that came on another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "packet/peer_map.h"
#include "packet/source.h"
#include "responder/siblings.h"

namespace xr::endpoint {

// Frames that other threads received for one.
class PassedFrames {
public:
  static constexpr size_t kRoom = 1 << 20; // bytes that may wait, with what was parsed of each

  PassedFrames();

  // Any thread. False: there is no room.
  bool put(std::span<const uint8_t> frame, roce_class class_, const roce_packet &packet);
  bool any() const { return at_ < taken_.size() || waiting_.load(std::memory_order_acquire); }
  // Passes at most `most` frames to `source`, in the order in which they were put.
  void take(uint64_t now, size_t most, packet::Source &source);
  int wake_fd() const { return wake_.get(); } // readable while frames wait

private:
  struct Header {
    roce_packet packet;
    uint32_t length;
    roce_class class_;
  };

  std::mutex putting_;
  std::vector<uint8_t> put_; // headers and frames
  std::atomic<bool> waiting_{false};
  Fd wake_;
  std::vector<uint8_t> taken_; // of the thread that takes
  size_t at_ = 0;
};

class QueueShare : public responder::Siblings {
public:
  // `connections`: of all queues together.
  static Result<std::unique_ptr<QueueShare>> make(uint32_t queues, uint32_t connections);

  uint32_t count() const override { return static_cast<uint32_t>(passed_.size()); }
  std::optional<uint32_t> owner(const packet::PeerKey &key, uint32_t taker) override;
  std::optional<uint32_t> find(const packet::PeerKey &key) override;
  void forget(const packet::PeerKey &key, uint32_t owner) override;
  bool pass(uint32_t to, std::span<const uint8_t> frame, roce_class class_,
            const roce_packet &packet) override;

  PassedFrames &passed(uint32_t queue) { return *passed_[queue]; }

private:
  explicit QueueShare(uint32_t connections) : owners_(connections) {}

  std::mutex asking_; // not by frames that come on their connection's queue
  packet::PeerMap<uint32_t> owners_;
  std::vector<std::unique_ptr<PassedFrames>> passed_; // by queue
};

// What a queue receives itself, and what was passed to it, for the same source.
class SharingSource : public packet::Source {
public:
  SharingSource(std::unique_ptr<packet::Source> source, PassedFrames &passed)
      : source_(std::move(source)), passed_(passed) {}

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override {
    source_->receive(now, frame, class_, packet);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override {
    if (passed_.any())
      passed_.take(now, out.size(), *source_); // no more than can be answered
    return source_->next(now, out);
  }
  uint64_t wake_at() const override { return passed_.any() ? 0 : source_->wake_at(); }
  bool done() const override { return source_->done(); }

private:
  std::unique_ptr<packet::Source> source_;
  PassedFrames &passed_;
};

} // namespace xr::endpoint
