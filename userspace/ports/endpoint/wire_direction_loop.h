// SPDX-License-Identifier: Apache-2.0
// What BasicWireDirection does, for wire_direction.cpp and tests.
#pragma once

#include "endpoint/wire_direction.h"

#include <algorithm>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace xr::endpoint {

namespace direction {

inline constexpr size_t kBatch = 64;               // frames received or sent per turn
inline constexpr size_t kAhead = 8;                // frames whose headers the cache gets in advance
inline constexpr uint64_t kSpin = 60'000;          // ns: about the time to fall asleep and wake up
inline constexpr uint64_t kCount = 10'000'000;     // ns between two updates of the counts
inline constexpr size_t kCountsAKernel = 4;        // updates between two questions to the kernel
inline constexpr uint64_t kPatience = 200'000'000; // ns: longest wait for the rules of a frame

// The program's metadata is in front of the frame; the chunk keeps it. Cleared once read, so that a
// later frame without metadata in this chunk is not taken for one with.
inline roce_held take_held(std::span<uint8_t> first) {
  roce_held held{};
  uint8_t *at = first.data() - sizeof(held);
  memcpy(&held, at, sizeof(held));
  memset(at, 0, sizeof(held.magic));
  if (held.magic != ROCE_HELD_MAGIC)
    return {};
  return held;
}

} // namespace direction

template <typename Socket, typename Clock>
BasicWireDirection<Socket, Clock>::BasicWireDirection(const WireDirectionSetup &setup,
                                                      afxdp::ChunkMemory &memory,
                                                      std::vector<Socket *> rx,
                                                      std::vector<Socket *> tx, WirePortCounts &in,
                                                      WirePortCounts &out, Clock clock)
    : clock_(clock), setup_(setup), memory_(memory), pool_(memory, setup.first_chunk, setup.chunks),
      rx_(std::move(rx)), tx_(std::move(tx)), in_(in), out_(out), rules_(stage_, in),
      again_(setup.port_be), frames_(direction::kBatch), kernel_(rx_.size() + tx_.size()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  in_.memory_frames = in_.memory_free_least = pool_.chunks();
  for (Socket *socket : rx_)
    socket->fill(pool_);
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::post(WireMail mail) {
  {
    const std::lock_guard guard(mutex_);
    mail_.push_back(std::move(mail));
    has_mail_ = true;
  }
  const uint64_t value = 1;
  (void)!write(wake_.get(), &value, sizeof(value));
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::read_mail(uint64_t now) {
  uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof(count));
  std::vector<WireMail> mail;
  {
    const std::lock_guard guard(mutex_);
    mail.swap(mail_);
    has_mail_ = false;
  }
  for (WireMail &message : mail) {
    switch (message.kind) {
    case WireMail::Kind::Rules:
      again_.set_rules(message.rules);
      rules_.take(std::move(message.rules));
      break;
    case WireMail::Kind::Link:
      take_link(now, message);
      break;
    case WireMail::Kind::Frame:
    case WireMail::Kind::Control: {
      const uint32_t handle = pool_.make(message.bytes);
      if (handle == afxdp::ChunkMemory::kNone) {
        in_.in.no_memory++;
        break;
      }
      wire::Frame frame = read_wire_frame(memory_.first(handle), setup_.port_be);
      frame.handle = handle;
      frame.length = static_cast<uint32_t>(message.bytes.size());
      frame.arrived = frame.due = now;
      frame.ingress = static_cast<uint8_t>(setup_.ingress);
      in_.in.copies++;
      if (message.kind == WireMail::Kind::Control && link_)
        link_->put_control(now, frame);
      else
        to_link(now, frame);
      break;
    }
    case WireMail::Kind::Pause:
      if (link_ && message.pause.global)
        link_->pause_all(now, message.pause.quanta[0]);
      else if (link_)
        link_->pause(now, static_cast<uint8_t>(message.pause.enable), message.pause.quanta);
      break;
    }
  }
}

// When the link is removed, its frames leave through one without limits.
template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::take_link(uint64_t now, WireMail &mail) {
  linked_ = mail.link.has_value();
  if (mail.link) {
    if (link_)
      return link_->change(now, *mail.link, mail.trace);
    out_.link = {};
    link_ = std::make_unique<wire::Link>(*mail.link, wire::LinkSetup{.line_rate = setup_.line_rate,
                                                                     .seed = setup_.seed,
                                                                     .start = now,
                                                                     .trace = mail.trace,
                                                                     .counts = &out_.link});
  } else if (link_) {
    LinkSpec none;
    none.buffer = UINT64_MAX;
    link_->change(now, none);
  }
}

// Frames may have arrived after `now` was read; then it is read again: no frame is from the future.
template <typename Socket, typename Clock>
size_t BasicWireDirection<Socket, Clock>::receive(uint64_t &now) {
  size_t all = 0;
  for (Socket *socket : rx_) {
    const size_t count = socket->receive(frames_);
    if (count)
      now = clock_.now();
    for (size_t i = 0; i < count; i++) {
      // not in a function of its own: GCC 12 takes one that only prefetches for one without effect
      if (i + direction::kAhead < count) {
        const uint8_t *ahead = memory_.first(frames_[i + direction::kAhead]).data();
        __builtin_prefetch(ahead - sizeof(roce_held));
        __builtin_prefetch(ahead);
      }
      take_frame(now, frames_[i]);
    }
    if (count || socket->zero_copy())
      socket->fill(pool_);
    all += count;
  }
  return all;
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::take_frame(uint64_t now, uint32_t handle) {
  const std::span<uint8_t> first = memory_.first(handle);
  const roce_held held = direction::take_held(first);
  if (is_mac_control(first)) {
    obey(first);
    pool_.give(handle);
    return;
  }
  wire::Frame frame = read_wire_frame(first, setup_.port_be);
  frame.handle = handle;
  frame.length = memory_.length(handle);
  frame.arrived = frame.due = held.arrived_ns && held.arrived_ns <= now ? held.arrived_ns : now;
  frame.ingress = static_cast<uint8_t>(setup_.ingress);
  in_.in.taken++;
  in_.in.taken_bytes += frame.length;
  if (held.magic != ROCE_HELD_MAGIC)
    return enter_unmatched(now, frame);
  if (held.copies)
    copy(now, frame, held);
  enter(now, frame, held);
}

// The driver has no room for metadata. Without a link, a rule holds the frame; if none is found, it
// may be new.
template <typename Socket, typename Clock>
bool BasicWireDirection<Socket, Clock>::match_again(uint64_t now, const wire::Frame &frame,
                                                    roce_held &held) {
  held = again_.match(now, memory_.first(frame.handle), frame.length, linked_);
  if (held.rules || linked_)
    return true;
  if (!again_.has_exact() && now < frame.arrived + direction::kPatience)
    return false;
  in_.in.unmatched++;
  return true;
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::enter_unmatched(uint64_t now, const wire::Frame &frame) {
  roce_held held{};
  in_.in.matched_again++;
  if (pending_.empty() && match_again(now, frame, held))
    return enter(now, frame, held);
  pending_.push_back({frame, held, true});
  in_.in.pending_most = std::max<uint64_t>(in_.in.pending_most, pending_.size());
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::enter(uint64_t now, const wire::Frame &frame,
                                              const roce_held &held) {
  if (pending_.empty() && hold(now, frame, held))
    return;
  pending_.push_back({frame, held, false});
  in_.in.pending_most = std::max<uint64_t>(in_.in.pending_most, pending_.size());
}

// Copies of rules with `duplicate` and `cnp`. A duplicate is held like the frame.
template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::copy(uint64_t now, const wire::Frame &frame,
                                             const roce_held &held) {
  if (held.copies & ROCE_HELD_CNP) {
    auto cnp = make_cnp(memory_.first(frame.handle), held.copies, setup_.port_be);
    if (!cnp.empty() && opposite_) {
      in_.in.cnps++;
      opposite_->post({.kind = WireMail::Kind::Frame, .bytes = std::move(cnp)});
    }
  }
  if (held.copies & ROCE_HELD_TWICE) {
    wire::Frame twin = frame;
    twin.handle = pool_.copy(frame.handle);
    if (twin.handle == afxdp::ChunkMemory::kNone) {
      in_.in.no_memory++;
      return;
    }
    in_.in.copies++;
    enter(now, twin, held);
  }
}

// The port by which the frame came is where the opposite direction's frames leave.
template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::obey(std::span<const uint8_t> first) {
  in_.in.mac_control++;
  const auto pause = packet::parse_pause(first);
  if (pause && opposite_)
    opposite_->post({.kind = WireMail::Kind::Pause, .pause = *pause});
}

// False: the rules of the frame are not known yet.
template <typename Socket, typename Clock>
bool BasicWireDirection<Socket, Clock>::hold(uint64_t now, const wire::Frame &frame,
                                             const roce_held &held) {
  if (held.rules) {
    const std::vector<wire::HeldBy> *by = rules_.find(held);
    if (!by && now < frame.arrived + direction::kPatience)
      return false;
    in_.in.unknown_rules += !by || rules_.unread();
    if (by && !by->empty()) {
      stage_.add(now, frame, *by);
      return true;
    }
  }
  to_link(now, frame);
  return true;
}

template <typename Socket, typename Clock>
bool BasicWireDirection<Socket, Clock>::hold_pending(uint64_t now, Pending &pending) {
  if (pending.unmatched && !match_again(now, pending.frame, pending.held))
    return false;
  pending.unmatched = false;
  return hold(now, pending.frame, pending.held);
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::to_link(uint64_t now, const wire::Frame &frame) {
  if (!link_)
    return put(now, frame);
  if (link_->enqueue(now, frame) == LinkDrop::None)
    return;
  in_.in.dropped_by_link++;
  pool_.give(frame.handle);
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::free_dropped(uint64_t now) {
  wire::Frame frame;
  HoldDrop why{};
  while (stage_.take_dropped(frame, why)) {
    in_.in.dropped_by_rules++;
    pool_.give(frame.handle);
  }
  LinkDrop cause{};
  while (link_ && link_->take_dropped(now, frame, cause)) {
    in_.in.dropped_by_link++;
    pool_.give(frame.handle);
  }
}

// Frames that every queue can take, at most a batch.
template <typename Socket, typename Clock> size_t BasicWireDirection<Socket, Clock>::room() {
  size_t least = direction::kBatch;
  for (Socket *socket : tx_)
    least = std::min<size_t>(least, socket->room(direction::kBatch));
  return least;
}

// Streams keep their order: a stream always leaves by the same queue.
template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::put(uint64_t now, const wire::Frame &frame) {
  if (setup_.carrier->down(1 - setup_.ingress)) { // the ring would keep it until the port is up
    out_.out.dropped_down++;
    in_.in.dropped_down++;
    pool_.give(frame.handle);
    return;
  }
  if (frame.marked)
    write_ce(memory_.first(frame.handle));
  Socket &socket = *tx_[tx_.size() == 1 ? 0 : static_cast<size_t>(frame.stream >> 32) % tx_.size()];
  if (!socket.put(frame.handle)) { // nothing holds it, and the ring is full
    if (socket.flush())
      socket.complete(pool_);
    if (!socket.put(frame.handle)) {
      out_.out.tx_dropped++;
      in_.in.tx_dropped++;
      pool_.give(frame.handle);
      return;
    }
  }
  in_.in.left++;
  in_.in.left_bytes += frame.length;
  out_.out.late.add(now > frame.due ? now - frame.due : 0);
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::send_pfc(uint64_t now) {
  wire::PfcOut pfc;
  while (link_ && link_->take_pfc(now, pfc)) {
    out_.out.pfc_sent++;
    if (!opposite_)
      continue;
    const packet::Pause pause{
        .src = opposite_->setup_.egress_mac, .enable = pfc.priorities, .quanta = pfc.quanta};
    opposite_->post({.kind = WireMail::Kind::Control, .bytes = packet::build_pause(pause)});
  }
}

template <typename Socket, typename Clock>
size_t BasicWireDirection<Socket, Clock>::send(uint64_t now) {
  size_t sent = 0;
  wire::Frame frame;
  size_t left = room();
  while (left && stage_.take(now, frame)) {
    to_link(now, frame);
    left -= link_ ? 0 : 1;
    sent++;
  }
  left = room();
  while (link_ && left-- && link_->take(now, frame)) {
    put(now, frame);
    sent++;
  }
  free_dropped(now);
  send_pfc(now);
  return sent;
}

template <typename Socket, typename Clock> void BasicWireDirection<Socket, Clock>::report_flaps() {
  if (!link_ || (link_->counts().flaps == flaps_ && link_->down() == down_))
    return;
  flaps_ = link_->counts().flaps;
  down_ = link_->down();
  setup_.carrier->set(1 - setup_.ingress, flaps_, down_);
}

template <typename Socket, typename Clock>
uint64_t BasicWireDirection<Socket, Clock>::next() const {
  return std::min(stage_.next(), link_ ? link_->next() : kNever);
}

template <typename Socket, typename Clock>
Result<bool> BasicWireDirection<Socket, Clock>::turn(uint64_t now) {
  if (has_mail_)
    read_mail(now);
  while (!pending_.empty() && hold_pending(now, pending_.front()))
    pending_.pop_front();
  const size_t received = receive(now);
  const size_t sent = send(now);
  report_flaps();
  for (Socket *socket : tx_) {
    if (Status done = socket->flush(); !done)
      return done.error();
    socket->complete(pool_);
  }
  if (!received)
    for (Socket *socket : rx_)
      socket->fill(pool_);
  if (now - counted_ >= direction::kCount) {
    if (asked_++ % direction::kCountsAKernel == 0)
      ask_kernel(asked_ / direction::kCountsAKernel % kernel_.size());
    count(now);
  }
  if (received || sent)
    quiet_since_ = now;
  return received || sent;
}

// What the kernel counts by socket. A system call takes longer than the frames of a turn.
template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::ask_kernel(size_t socket) {
  kernel_[socket] =
      socket < rx_.size() ? rx_[socket]->kernel() : tx_[socket - rx_.size()]->kernel();
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::count(uint64_t now) {
  counted_ = now;
  if (link_)
    link_->update(now);
  in_.updated_ns = now;
  in_.memory_free = pool_.free();
  in_.memory_free_least = std::min<uint64_t>(in_.memory_free_least, pool_.free());
  uint64_t no_buffer = 0, ring_full = 0, refused = 0, tx_dropped = 0, down = 0;
  for (size_t i = 0; i < kernel_.size(); i++) {
    const bool receives = i < rx_.size();
    no_buffer += receives ? kernel_[i].no_chunk : 0;
    ring_full += receives ? kernel_[i].ring_full : 0;
    refused += receives ? kernel_[i].refused : kernel_[i].tx_invalid;
  }
  for (const Socket *socket : tx_) {
    tx_dropped += socket->lost().tx_dropped;
    down += socket->lost().link_down;
  }
  in_.in.no_buffer = no_buffer;
  in_.in.ring_full = ring_full;
  in_.in.refused = refused;
  out_.out.link_down = down;
  out_.out.driver_dropped = tx_dropped;
  const WireIngress &i = in_.in;
  in_.in.holding = i.taken + i.copies -
                   (i.left + i.dropped_by_rules + i.dropped_by_link + i.dropped_at_end +
                    i.tx_dropped + i.dropped_down);
}

// How long nothing is to be done; 0: the next turn is soon.
template <typename Socket, typename Clock>
uint64_t BasicWireDirection<Socket, Clock>::patience(uint64_t now) const {
  const uint64_t due = next();
  if (due <= now + direction::kSpin || now - quiet_since_ < direction::kSpin || has_mail_ ||
      !pending_.empty())
    return 0;
  return due - now - direction::kSpin;
}

template <typename Socket, typename Clock>
void BasicWireDirection<Socket, Clock>::wait(std::span<BasicWireDirection *const> all, uint64_t now,
                                             uint64_t longest) {
  for (const BasicWireDirection *wire_direction : all)
    longest = std::min(longest, wire_direction->patience(now));
  if (!longest)
    return;
  std::vector<pollfd> polled;
  for (const BasicWireDirection *direction : all) {
    polled.push_back({direction->wake_.get(), POLLIN, 0});
    for (const Socket *socket : direction->rx_)
      polled.push_back({socket->fd(), POLLIN, 0});
  }
  all.front()->clock_.poll(polled, longest);
}

// Frames that are still held when the process ends, or that it has not read, are lost, and counted.
template <typename Socket, typename Clock> void BasicWireDirection<Socket, Clock>::end() {
  uint64_t now = clock_.now();
  const uint64_t until = now + 100'000'000;
  while (now < until && receive(now))
    ;
  for (Socket *socket : tx_)
    while (socket->in_transmission() && clock_.now() < until && socket->flush())
      socket->complete(pool_);
  for (size_t i = 0; i < kernel_.size(); i++)
    ask_kernel(i);
  count(clock_.now());
  in_.in.dropped_at_end += in_.in.holding;
  in_.in.holding = 0;
}

} // namespace xr::endpoint
