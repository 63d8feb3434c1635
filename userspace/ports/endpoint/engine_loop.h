// SPDX-License-Identifier: Apache-2.0
// What BasicEngine does, for engine.cpp and tests.
#pragma once

#include "endpoint/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <sys/prctl.h>

#include "packet/neighbour.h"

namespace xr::endpoint {

namespace engine {

inline constexpr size_t kBatch = 32;         // frames that the kernel sends per call in copy mode
inline constexpr size_t kFrames = 64;        // frames received per round
inline constexpr uint64_t kSpin = 60'000;    // ns: about the time to fall asleep and wake up
inline constexpr uint64_t kNap = 20'000'000; // ns: longest sleep, so that `stop` is noticed
inline constexpr uint64_t kPausedNap = 200'000; // ns: longest sleep while a priority is paused
inline constexpr uint64_t kDrain = 500'000'000; // ns: longest wait for the last transmissions
inline constexpr uint64_t kCheck = 100'000'000; // ns between checks that the port exists
inline constexpr uint64_t kMostLingers = 10;    // longest wait for answers, in units of linger()

} // namespace engine

template <typename Socket, typename Clock>
BasicEngine<Socket, Clock>::BasicEngine(std::unique_ptr<Socket> socket,
                                        std::unique_ptr<packet::Source> source, uint16_t udp_port,
                                        Clock clock)
    : clock_(clock), socket_(std::move(socket)), source_(std::move(source)),
      udp_port_be_(htons(udp_port)), holds_(socket_->slots()), batch_(engine::kBatch),
      frames_(engine::kFrames) {}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::answer_for(std::vector<packet::Address> addresses,
                                            const packet::Mac &mac) {
  addresses_ = std::move(addresses);
  std::sort(addresses_.begin(), addresses_.end());
  mac_ = mac;
}

// No free frame: drop the reply; the peer retries.
template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::neighbour(std::span<const uint8_t> frame) {
  const auto question = packet::question_about(addresses_, frame);
  if (!question || !socket_->free_slots())
    return;
  const auto answer = packet::neighbour_answer(*question, mac_);
  packet::Outgoing out;
  out.raw = answer;
  write(out);
}

template <typename Socket, typename Clock>
uint64_t BasicEngine<Socket, Clock>::receive(uint64_t now) {
  const size_t count = socket_->receive(frames_);
  const uint64_t arrived = count && receive_clock_ ? clock_.read(*receive_clock_) : now;
  for (size_t i = 0; i < count; i++) {
    const afxdp::Received &frame = frames_[i];
    roce_packet packet{};
    int class_ = roce_parse(frame.data, frame.data + frame.length, udp_port_be_, &packet);
    class_ = roce_check_length(class_, frame.length, &packet);
    counts_.received++;
    counts_.received_bytes += frame.length;
    if (class_ == ROCE_CLASS_OTHER && !addresses_.empty())
      neighbour({frame.data, frame.length});
    if (class_ == ROCE_CLASS_PFC && pauses_)
      pauses_->receive(now, {frame.data, frame.length});
    source_->receive(arrived, {frame.data, frame.length}, static_cast<roce_class>(class_), packet);
  }
  if (count) {
    socket_->release();
    quiet_since_ = now;
  }
  return receive_clock_ == CLOCK_MONOTONIC ? arrived : now;
}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::count_lateness(const packet::Outgoing &packet, uint64_t now) {
  if (last_due_) {
    const auto asked = static_cast<int64_t>(packet.due - last_due_);
    const auto got = static_cast<int64_t>(now - last_sent_);
    counts_.jitter_ns.add(static_cast<uint64_t>(std::abs(got - asked)));
  }
  counts_.last_late_ns = now > packet.due ? now - packet.due : 0;
  counts_.late_ns.add(counts_.last_late_ns);
  last_due_ = packet.due;
  last_sent_ = now;
}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::write(const packet::Outgoing &packet) {
  const std::span<const uint8_t> bytes = packet.shape ? packet.shape->bytes() : packet.raw;
  if (bytes.size() > socket_->longest()) {
    counts_.too_long++;
    return;
  }
  const uint32_t slot = socket_->take();
  uint8_t *frame = socket_->slot(slot);
  if (!packet.shape || holds_[slot] != packet.shape)
    memcpy(frame, bytes.data(), bytes.size());
  holds_[slot] = packet.shape;
  if (packet.shape) {
    packet.shape->stamp(frame, packet.fields);
    if (packet.shape->stamped())
      packet.shape->set_stamp(frame, packet.fields.sequence, clock_.read(CLOCK_TAI));
    if (!packet.payload.empty()) {
      packet.shape->set_payload(frame, packet.payload);
      holds_[slot] = nullptr;
    }
    if (packet.damage == packet::Damage::Icrc)
      packet.shape->spoil_icrc(frame);
    if (packet.damage == packet::Damage::Pad) {
      const uint32_t at = packet.shape->layout().bth + 1; // PadCnt: bits 5:4
      packet.shape->set_byte(frame, at, static_cast<uint8_t>(frame[at] ^ 0x10));
      holds_[slot] = nullptr;
    }
  }
  socket_->put(slot, static_cast<uint32_t>(bytes.size()));
  counts_.sent++;
  counts_.sent_bytes += bytes.size();
}

template <typename Socket, typename Clock> size_t BasicEngine<Socket, Clock>::send(uint64_t now) {
  const size_t room = std::min<size_t>(socket_->free_slots(), engine::kBatch);
  if (!room)
    return 0;
  const size_t count = source_->next(now, {batch_.data(), room});
  for (size_t i = 0; i < count; i++) {
    write(batch_[i]);
    if (batch_[i].due)
      count_lateness(batch_[i], now);
  }
  return count;
}

// Returns at once if a packet is due soon or one just arrived; else sleeps until a frame arrives or
// shortly before the next packet is due.
template <typename Socket, typename Clock> Status BasicEngine<Socket, Clock>::idle(uint64_t now) {
  if (!socket_->free_slots()) { // the link may be down
    socket_->wait(engine::kSpin);
    return {};
  }
  uint64_t wake = source_->wake_at();
  if (pauses_ && pauses_->any(now)) // another queue may receive the XON
    wake = std::min(wake, now + engine::kPausedNap);
  if (wake <= now + engine::kSpin || now - quiet_since_ < engine::kSpin)
    return {};
  socket_->wait(std::min(wake - now - engine::kSpin, engine::kNap));
  if (now - checked_ < engine::kCheck)
    return {};
  checked_ = now;
  return socket_->check();
}

template <typename Socket, typename Clock> void BasicEngine<Socket, Clock>::answer_reader() {
  if (!read_requested_)
    return;
  const std::lock_guard guard(reading_);
  call_reader();
}

// With `reading_` locked.
template <typename Socket, typename Clock> void BasicEngine<Socket, Clock>::call_reader() {
  if (!read_requested_) // the other thread answered in the meantime
    return;
  if (!ended_)
    counts_.now_ns = clock_.now();
  counts_.socket = socket_->counts();
  (*reader_)(counts_);
  read_requested_ = false;
}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::read_counts(const std::function<void(const EngineCounts &)> &use) {
  reader_ = &use;
  read_requested_ = true;
  while (read_requested_) {
    if (const std::lock_guard guard(reading_); !running_) { // it has not begun, or has ended
      call_reader();
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::set_running(bool running) {
  const std::lock_guard guard(reading_);
  running_ = running;
}

// Waits until the last frames are sent.
template <typename Socket, typename Clock> void BasicEngine<Socket, Clock>::drain() {
  const uint64_t until = clock_.now() + engine::kDrain;
  while (socket_->on_the_way() && clock_.now() < until) {
    if (!socket_->flush())
      return;
    answer_reader();
    clock_.sleep(50'000);
  }
}

// Receives until nothing arrives for linger_ns_; limited, because unrelated frames may keep
// arriving.
template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::await_answers(const std::atomic<bool> &stop) {
  uint64_t now = quiet_since_ = clock_.now();
  const uint64_t until = now + engine::kMostLingers * linger_ns_;
  for (; !stop && now < until && now - quiet_since_ < linger_ns_; now = clock_.now()) {
    receive(now);
    answer_reader();
    socket_->wait(engine::kSpin);
  }
}

// Without a free slot there is nothing left but to wait for one: the frames on the way take a
// moment.
template <typename Socket, typename Clock> void BasicEngine<Socket, Clock>::send_last() {
  const uint64_t until = clock_.now() + engine::kDrain;
  for (bool more = true; more;) {
    while (!socket_->free_slots() && clock_.now() < until)
      if (!socket_->flush())
        return;
    const size_t room = std::min<size_t>(socket_->free_slots(), engine::kBatch);
    const size_t count = source_->last({batch_.data(), room});
    for (size_t i = 0; i < count; i++)
      write(batch_[i]);
    if (count && socket_->flush() && report_flushes_)
      source_->flushed(clock_.now());
    more = count && count == room;
  }
}

template <typename Socket, typename Clock>
void BasicEngine<Socket, Clock>::finish(const std::atomic<bool> &stop) {
  send_last();
  drain();
  await_answers(stop);
  const auto [frames, bytes] = socket_->unsent_frames();
  counts_.not_sent = frames;
  counts_.sent -= std::min(frames, counts_.sent);
  counts_.sent_bytes -= std::min(bytes, counts_.sent_bytes);
}

template <typename Socket, typename Clock>
Status BasicEngine<Socket, Clock>::run(const std::atomic<bool> &stop) {
  Status status;
  prctl(PR_SET_TIMERSLACK, 1); // default: sleeps end up to 50 us late
  set_running(true);
  counts_.begun_ns = quiet_since_ = checked_ = clock_.now();
  while (status && !stop && !source_->done()) {
    const uint64_t now = receive(clock_.now());
    size_t sent = 0, some = 0;
    do { // answer all received frames before receiving more
      sent += some = send(now);
      status = socket_->flush();
      if (some && report_flushes_)
        source_->flushed(clock_.now());
    } while (status && some == engine::kBatch && sent < engine::kFrames);
    if (status && !sent)
      status = idle(now);
    answer_reader();
  }
  counts_.now_ns = clock_.now();
  ended_ = true;
  finish(stop);
  counts_.socket = socket_->counts();
  set_running(false);
  return status;
}

} // namespace xr::endpoint
