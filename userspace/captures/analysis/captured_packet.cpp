// SPDX-License-Identifier: Apache-2.0
#include "analysis/captured_packet.h"

namespace xr {

namespace {

constexpr uint32_t kSllProtocol = 14, kSllHeader = 16;
constexpr uint32_t kSll2Protocol = 0, kSll2Header = 20;

bool is_vlan(uint16_t ethertype) {
  return ethertype == ROCE_ETHERTYPE_VLAN || ethertype == ROCE_ETHERTYPE_QINQ;
}

// The payload of a cooked header starts like that of an Ethertype: VLAN tags may come first.
NativeDatapath::Layer3 cooked(const CapturedFrame &frame, uint32_t protocol, uint32_t header) {
  // A header cut by the snap length is left to the parser: an Ethertype that needs bytes makes it
  // report that.
  NativeDatapath::Layer3 at{header, ROCE_ETHERTYPE_IPV4, 0};
  if (frame.captured < header)
    return at;
  at.ethertype = roce_be16(frame.data + protocol);
  for (int i = 0; i < ROCE_VLAN_MAX && is_vlan(at.ethertype); i++) {
    if (frame.captured < at.l3 + ROCE_VLAN_LEN)
      return {at.l3, ROCE_ETHERTYPE_IPV4, at.vlan};
    if (!i)
      at.vlan = ROCE_VLAN_TAGGED | (roce_be16(frame.data + at.l3) & ROCE_VLAN_TCI);
    at.ethertype = roce_be16(frame.data + at.l3 + 2);
    at.l3 += ROCE_VLAN_LEN;
  }
  return at;
}

NativeDatapath::Layer3 layer3(const CapturedFrame &frame) {
  switch (frame.link) {
  case Link::Sll:
    return cooked(frame, kSllProtocol, kSllHeader);
  case Link::Sll2:
    return cooked(frame, kSll2Protocol, kSll2Header);
  default:
    return {0,
            frame.captured && frame.data[0] >> 4 == 6 ? uint16_t{ROCE_ETHERTYPE_IPV6}
                                                      : uint16_t{ROCE_ETHERTYPE_IPV4},
            0};
  }
}

} // namespace

std::optional<NativeDatapath::Layer3> layer3_of(const CapturedFrame &frame) {
  return frame.link == Link::Ethernet ? std::nullopt : std::optional(layer3(frame));
}

NativeDatapath::FrameView view_of(const CapturedFrame &frame) {
  return {frame.data, frame.captured, frame.length, frame.time_ns, 0};
}

roce_class parse_captured(const NativeDatapath &datapath, const CapturedFrame &frame,
                          roce_packet &packet) {
  return frame.link == Link::Ethernet ? datapath.parse(view_of(frame), packet)
                                      : datapath.parse(view_of(frame), layer3(frame), packet);
}

} // namespace xr
