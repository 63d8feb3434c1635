// SPDX-License-Identifier: Apache-2.0
#include "endpoint/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "packet/neighbour.h"

namespace xr::endpoint {

using packet::Outgoing;

namespace {

constexpr size_t kBatch = 32;            // frames that the kernel sends per call in copy mode
constexpr size_t kFrames = 64;           // frames received per round
constexpr uint64_t kSpin = 60'000;       // ns: about the time to fall asleep and wake up
constexpr uint64_t kNap = 20'000'000;    // ns: longest sleep, so that `stop` is noticed
constexpr uint64_t kPausedNap = 200'000; // ns: longest sleep while a priority is paused
constexpr uint64_t kDrain = 500'000'000; // ns: longest wait for the last transmissions
constexpr uint64_t kCheck = 100'000'000; // ns between checks that the port exists
constexpr uint64_t kMostLingers = 10;    // longest wait for answers, in units of linger()

} // namespace

Engine::Engine(std::unique_ptr<afxdp::Socket> socket, std::unique_ptr<packet::Source> source,
               uint16_t udp_port)
    : socket_(std::move(socket)), source_(std::move(source)), udp_port_be_(htons(udp_port)),
      holds_(socket_->slots()), batch_(kBatch), frames_(kFrames) {}

void Engine::answer_for(std::vector<packet::Address> addresses, const packet::Mac &mac) {
  addresses_ = std::move(addresses);
  std::sort(addresses_.begin(), addresses_.end());
  mac_ = mac;
}

// No free frame: drop the reply; the peer retries.
void Engine::neighbour(std::span<const uint8_t> frame) {
  const auto question = packet::question_about(addresses_, frame);
  if (!question || !socket_->free_slots())
    return;
  const auto answer = packet::neighbour_answer(*question, mac_);
  Outgoing out;
  out.raw = answer;
  write(out);
}

void Engine::receive(uint64_t now) {
  const size_t count = socket_->receive(frames_);
  const uint64_t arrived = count && receive_clock_ ? clock_ns(*receive_clock_) : now;
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
}

void Engine::note_time(const Outgoing &packet, uint64_t now) {
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

void Engine::write(const Outgoing &packet) {
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
      packet.shape->set_stamp(frame, packet.fields.sequence, clock_ns(CLOCK_TAI));
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

size_t Engine::send(uint64_t now) {
  const size_t room = std::min<size_t>(socket_->free_slots(), kBatch);
  if (!room)
    return 0;
  const size_t count = source_->next(now, {batch_.data(), room});
  for (size_t i = 0; i < count; i++) {
    write(batch_[i]);
    if (batch_[i].due)
      note_time(batch_[i], now);
  }
  return count;
}

// Returns at once if a packet is due soon or one just arrived; else sleeps until a frame arrives or
// shortly before the next packet is due.
Status Engine::idle(uint64_t now) {
  if (!socket_->free_slots()) { // the link may be down
    socket_->wait(kSpin);
    return {};
  }
  uint64_t wake = source_->wake_at();
  if (pauses_ && pauses_->any(now)) // another queue may receive the XON
    wake = std::min(wake, now + kPausedNap);
  if (wake <= now + kSpin || now - quiet_since_ < kSpin)
    return {};
  socket_->wait(std::min(wake - now - kSpin, kNap));
  if (now - checked_ < kCheck)
    return {};
  checked_ = now;
  return socket_->check();
}

void Engine::answer_reader() {
  if (!read_requested_)
    return;
  const std::lock_guard guard(reading_);
  call_reader();
}

// With `reading_` locked.
void Engine::call_reader() {
  if (!read_requested_) // the other thread answered in the meantime
    return;
  if (!ended_)
    counts_.now_ns = monotonic_ns();
  counts_.socket = socket_->counts();
  (*reader_)(counts_);
  read_requested_ = false;
}

void Engine::read_counts(const std::function<void(const EngineCounts &)> &use) {
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

void Engine::set_running(bool running) {
  const std::lock_guard guard(reading_);
  running_ = running;
}

// Waits until the last frames are sent.
void Engine::drain() {
  const uint64_t until = monotonic_ns() + kDrain;
  while (socket_->on_the_way() && monotonic_ns() < until) {
    if (!socket_->flush())
      return;
    answer_reader();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Receives until nothing arrives for linger_ns_; limited, because unrelated frames may keep
// arriving.
void Engine::await_answers(const std::atomic<bool> &stop) {
  uint64_t now = quiet_since_ = monotonic_ns();
  const uint64_t until = now + kMostLingers * linger_ns_;
  for (; !stop && now < until && now - quiet_since_ < linger_ns_; now = monotonic_ns()) {
    receive(now);
    answer_reader();
    socket_->wait(kSpin);
  }
}

// Without a free slot there is nothing left but to wait for one: the frames on the way take a
// moment.
void Engine::send_last() {
  const uint64_t until = monotonic_ns() + kDrain;
  for (bool more = true; more;) {
    while (!socket_->free_slots() && monotonic_ns() < until)
      if (!socket_->flush())
        return;
    const size_t room = std::min<size_t>(socket_->free_slots(), kBatch);
    const size_t count = source_->last({batch_.data(), room});
    for (size_t i = 0; i < count; i++)
      write(batch_[i]);
    if (count && socket_->flush() && report_flushes_)
      source_->flushed(monotonic_ns());
    more = count && count == room;
  }
}

void Engine::finish(const std::atomic<bool> &stop) {
  send_last();
  drain();
  await_answers(stop);
  const auto [frames, bytes] = socket_->unsent_frames();
  counts_.not_sent = frames;
  counts_.sent -= std::min(frames, counts_.sent);
  counts_.sent_bytes -= std::min(bytes, counts_.sent_bytes);
}

Status Engine::run(const std::atomic<bool> &stop) {
  Status status;
  prctl(PR_SET_TIMERSLACK, 1); // default: sleeps end up to 50 us late
  set_running(true);
  counts_.begun_ns = quiet_since_ = checked_ = monotonic_ns();
  while (status && !stop && !source_->done()) {
    const uint64_t now = monotonic_ns();
    receive(now);
    size_t sent = 0, some = 0;
    do { // answer all received frames before receiving more
      sent += some = send(now);
      status = socket_->flush();
      if (some && report_flushes_)
        source_->flushed(monotonic_ns());
    } while (status && some == kBatch && sent < kFrames);
    if (status && !sent)
      status = idle(now);
    answer_reader();
  }
  counts_.now_ns = monotonic_ns();
  ended_ = true;
  finish(stop);
  counts_.socket = socket_->counts();
  set_running(false);
  return status;
}

} // namespace xr::endpoint
