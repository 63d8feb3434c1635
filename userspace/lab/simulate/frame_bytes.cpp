// SPDX-License-Identifier: Apache-2.0
#include "simulate/frame_bytes.h"

#include <algorithm>
#include <cstring>

#include "packet/ecn.h"
#include "packet/icrc.h"
#include "packet/pause.h"

namespace xr::simulate {

namespace {

roce_class parse_bytes(const std::vector<uint8_t> &bytes, roce_packet &packet) {
  packet = {};
  const int found =
      roce_parse(bytes.data(), bytes.data() + bytes.size(), roce_swap16(ROCE_UDP_PORT), &packet);
  return static_cast<roce_class>(
      roce_check_length(found, static_cast<uint32_t>(bytes.size()), &packet));
}

bool has_bad_icrc(const std::vector<uint8_t> &bytes) {
  roce_packet packet;
  return roce_is_roce(parse_bytes(bytes, packet)) &&
         icrc_check(bytes.data(), static_cast<uint32_t>(bytes.size()), packet) == Icrc::Bad;
}

void write_raw(const HeldFrame &held, std::vector<uint8_t> &bytes) {
  bytes.assign(held.length, 0);
  std::copy_n(held.raw->data(), held.raw_headers, bytes.data());
  roce_packet packet;
  if (held.length == held.raw_headers || !roce_is_roce(parse_bytes(bytes, packet)))
    return;
  icrc_write(bytes.data(), packet);
  if (held.bad_icrc)
    bytes[packet.end - 1] ^= 0xff;
}

void take_headers(HeldFrame &held, const std::vector<uint8_t> &bytes) {
  held.take_raw();
  held.length = static_cast<uint32_t>(bytes.size());
  held.raw_headers = static_cast<uint8_t>(std::min<size_t>(bytes.size(), kHeaders));
  std::copy_n(bytes.data(), held.raw_headers, held.raw->data());
  held.bad_icrc = has_bad_icrc(bytes);
}

} // namespace

void write_bytes(FramePool &pool, const wire::Frame &frame, std::vector<uint8_t> &bytes) {
  const HeldFrame &held = pool[frame.handle];
  if (held.shape) {
    held.shape->write_whole(bytes, held.fields);
    if (held.bad_icrc)
      held.shape->spoil_icrc(bytes.data());
  } else {
    write_raw(held, bytes);
  }
  if (!frame.marked)
    return;
  uint8_t *ip = bytes.data() + l3_offset(bytes.data());
  packet::write_ce(ip, ip[0] >> 4 == 4);
}

void take_changes(FramePool &pool, wire::Frame &frame, const std::vector<uint8_t> &before,
                  const std::vector<uint8_t> &after) {
  if (before == after)
    return;
  HeldFrame &held = pool[frame.handle];
  const size_t headers = held.shape ? held.shape->layout().payload : held.raw_headers;
  if (std::equal(before.begin(), before.begin() + static_cast<ptrdiff_t>(headers), after.begin())) {
    held.bad_icrc = has_bad_icrc(after);
    return;
  }
  if (held.shape) {
    take_headers(held, after);
  } else {
    std::copy_n(after.data(), held.raw_headers, held.raw->data());
    held.bad_icrc = has_bad_icrc(after);
  }
  frame.marked = false; // the bytes have the mark
  read_classes(held.raw->data(), frame);
}

wire::Frame hold_bytes(FramePool &pool, uint32_t handle, const std::vector<uint8_t> &bytes) {
  HeldFrame &held = pool[handle];
  held.flow = 0;
  held.request = false;
  take_headers(held, bytes);
  wire::Frame frame;
  frame.handle = handle;
  frame.length = held.length;
  read_classes(held.raw->data(), frame);
  return frame;
}

std::vector<uint8_t> pause_bytes(const wire::PfcOut &frame) {
  packet::Pause pause;
  pause.enable = frame.priorities;
  pause.quanta = frame.quanta;
  return packet::build_pause(pause);
}

wire::Frame copy_frame(FramePool &pool, uint32_t handle, const wire::Frame &frame) {
  const HeldFrame &from = pool[frame.handle];
  HeldFrame &held = pool[handle];
  held.fields = from.fields;
  held.length = from.length;
  held.destination = from.destination;
  held.flow = from.flow;
  held.raw_headers = from.raw_headers;
  held.bad_icrc = from.bad_icrc;
  held.request = from.request;
  held.addresses = from.addresses;
  held.shape = from.shape;
  if (!from.shape)
    held.take_raw() = *from.raw;
  wire::Frame twin = frame;
  twin.handle = handle;
  return twin;
}

} // namespace xr::simulate
